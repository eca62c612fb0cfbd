#include "jit/files/virtual_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace LODE_NAMESPACE {
namespace {

/// No file system has such a number, so a compiler takes none of its files for one of these, nor
/// one of another virtual folder.
std::uint64_t device_of(std::string_view folder) noexcept {
    return std::numeric_limits<std::uint64_t>::max() -
           std::hash<std::string_view>()(folder) % (1U << 20U);
}

}  // namespace

std::optional<std::string> path_in_folder(std::string_view path) {
    if (path.starts_with('/')) return std::nullopt;
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const auto part = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(part.size() + 1, path.size()));
        if (part.empty() || part == ".") continue;
        if (part != "..") {
            parts.push_back(part);
        } else if (parts.empty()) {
            return std::nullopt;
        } else {
            parts.pop_back();
        }
    }
    std::string text;
    for (const auto part : parts) {
        if (!text.empty()) text += '/';
        text += part;
    }
    return text;
}

VirtualFolder::VirtualFolder(std::string_view name, VirtualFiles files)
    : name_(name), files_(std::move(files)) {}

FileAnswer* VirtualFolder::ask(std::string_view path) {
    if (name_.empty()) return nullptr;
    if (path.starts_with('/')) path.remove_prefix(1);
    if (!path.starts_with(name_)) return nullptr;
    path.remove_prefix(name_.size());
    if (!path.empty() && !path.starts_with('/')) return nullptr;

    const auto inside = path_in_folder(path.substr(std::min<std::size_t>(path.size(), 1)));
    const auto [at, is_new] = answers_.try_emplace(inside.value_or(".."));
    FileAnswer& answer = at->second;
    if (!is_new) return &answer;
    os::FileAttributes& about = answer.attributes;
    answer.error = ENOENT;
    if (!inside) return &answer;
    const std::string folder = inside->empty() ? "" : *inside + "/";
    const auto below = files_.lower_bound(folder);
    if (const auto file = files_.find(*inside); file != files_.end()) {
        auto content = std::make_shared<FileContent>();
        content->text = file->second;
        answer.kind = FileAnswer::Kind::file;
        about.kind = os::FileKind::regular;
        about.permissions = 0400;
        about.size = content->text.size();
        about.number = static_cast<std::uint64_t>(std::distance(files_.begin(), file)) + 1;
        answer.content = std::move(content);
    } else if (below != files_.end() && below->first.starts_with(folder)) {
        answer.kind = FileAnswer::Kind::folder;
        about.kind = os::FileKind::folder;
        about.permissions = 0500;
        about.number =
            files_.size() + 1 + static_cast<std::uint64_t>(std::distance(files_.begin(), below));
    } else {
        return &answer;
    }
    answer.error = 0;
    about.device = device_of(name_);
    about.links = 1;
    return &answer;
}

}  // namespace LODE_NAMESPACE
