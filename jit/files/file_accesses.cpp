#include "jit/files/file_accesses.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

bool says_nothing_is_there(int error) noexcept {
    return error == ENOENT || error == ENOTDIR;
}

FileAnswer look_at(const std::string& path) {
    FileAnswer answer;
    if (!os::attributes_of(path, answer.attributes)) {
        answer.error = errno;
        answer.kind = says_nothing_is_there(answer.error) ? FileAnswer::Kind::absent
                                                          : FileAnswer::Kind::refused;
    } else if (answer.attributes.kind == os::FileKind::regular) {
        answer.kind = FileAnswer::Kind::file;
    } else if (answer.attributes.kind == os::FileKind::folder) {
        answer.kind = FileAnswer::Kind::folder;
    } else {
        answer.kind = FileAnswer::Kind::irregular;
    }
    return answer;
}

}  // namespace

bool is_inside(std::string_view path, std::span<const std::string> folders) {
    return std::ranges::any_of(folders, [&](const std::string& folder) {
        return path == folder || folder == "/" ||
               (path.starts_with(folder) && path[folder.size()] == '/');
    });
}

std::string cleaned_path(std::string_view path) {
    std::string text = path.starts_with('/') ? "/" : "";
    while (!path.empty()) {
        const auto part = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(part.size() + 1, path.size()));
        if (part.empty() || part == ".") continue;
        if (!text.empty() && text.back() != '/') text += '/';
        text += part;
    }
    return text.empty() ? "." : text;
}

std::string FileAccesses::located(const std::string& name) {
    if (name.starts_with('/')) return name;
    if (record_.working.empty()) {
        std::error_code ignored;
        record_.working = cleaned_path(std::filesystem::current_path(ignored).string());
    }
    return record_.working == "." ? name : record_.working + "/" + name;
}

void FileAccesses::set_virtual_folders(std::vector<VirtualFolder> folders) {
    virtual_ = std::move(folders);
    std::error_code ignored;
    virtual_base_ = cleaned_path(std::filesystem::current_path(ignored).string()) + "/";
}

FileAnswer& FileAccesses::ask(std::string_view path, bool open) {
    ++record_.questions;
    std::string name = cleaned_path(path);
    const bool is_below = !virtual_base_.empty() && name.starts_with(virtual_base_);
    for (auto& folder : virtual_) {
        const auto inside = std::string_view(name).substr(is_below ? virtual_base_.size() : 0);
        if (FileAnswer* const answer = folder.ask(inside)) return *answer;
    }
    const auto [at, is_new] = record_.answers.try_emplace(name);
    FileAnswer& answer = at->second;
    if (limits_ && is_hidden(located(name))) {
        // No look at the system: whether it exists is hidden too.
        answer.kind = FileAnswer::Kind::absent;
        answer.error = ENOENT;
        if (open && forbidden_.empty())
            forbidden_ = fmt::format("'{}' is in no folder that untrusted source may read", name);
        return answer;
    }
    if (is_new) answer = look_at(located(name));
    if (!open || answer.kind != FileAnswer::Kind::file || answer.content) return answer;

    FileOpening opening = read_file_content(located(name));
    if (!opening.content) {
        // It was a regular file when the compiler asked, so the earlier answer no longer holds.
        if (says_nothing_is_there(opening.error) || opening.is_irregular) {
            note_unforeseen(fmt::format("'{}' vanished", name));
        }
        answer.kind = FileAnswer::Kind::refused;
        answer.error = opening.error;
        return answer;
    }
    if (!same_file(opening.content->stamp, stamp_of(answer.attributes))) {
        note_unforeseen(fmt::format("'{}' was replaced", name));
    }
    read_bytes_ += opening.content->text.size();
    if (limits_ && read_bytes_ > limits_->bytes) {
        if (forbidden_.empty())
            forbidden_ = fmt::format("with '{}' it reads more than {} bytes", name, limits_->bytes);
        answer.kind = FileAnswer::Kind::refused;
        answer.error = EFBIG;
        return answer;
    }
    answer.content = std::make_shared<const FileContent>(*std::move(opening.content));
    return answer;
}

bool FileAccesses::is_hidden(const std::string& path) const {
    std::error_code problem;
    const auto real = std::filesystem::weakly_canonical(path, problem).string();
    // The compiler looks at the working folder itself and at PWD, for debug information.
    if (!problem && real == std::filesystem::current_path(problem).string()) return false;
    const auto pwd = record_.variables.find("PWD");
    if (pwd != record_.variables.end() && pwd->second && path == cleaned_path(*pwd->second))
        return false;
    return problem || !is_inside(real, limits_->folders);
}

void FileAccesses::note_variable(std::string_view name, const char* value) {
    ++record_.questions;
    record_.variables.try_emplace(
        std::string(name), value == nullptr ? std::nullopt : std::optional<std::string>(value));
}

void FileAccesses::note_calculation(const Calculation& calculation, std::uint64_t result) {
    // More than a source's constants; each is calculated again by every look-up.
    constexpr std::size_t most = 65'536;
    if (record_.calculations.size() >= most && !record_.calculations.contains(calculation))
        return note_unforeseen(fmt::format("calculating more than {} constants", most));
    record_.calculations.emplace(calculation, result);
}

void FileAccesses::note_unforeseen(std::string_view what) {
    if (record_.unforeseen.empty()) record_.unforeseen = what;
}

void FileAccesses::distrust_stamps() {
    for (auto& [path, answer] : record_.answers) {
        if (!answer.content || !answer.content->settled) continue;
        FileContent content = *answer.content;
        content.settled = false;
        answer.content = std::make_shared<const FileContent>(std::move(content));
    }
}

std::string FileAccesses::irregular_file() const {
    for (const auto& [path, answer] : record_.answers) {
        if (answer.kind == FileAnswer::Kind::irregular) return path;
    }
    return {};
}

}  // namespace LODE_NAMESPACE
