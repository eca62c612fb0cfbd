#include "jit/memory_headers.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// The folders of a tree's files, each with its closing slash; "" is the root.
std::set<std::string> folders_of(const VirtualFiles& tree) {
    std::set<std::string> folders;
    for (const auto& [path, text] : tree)
        folders.insert(path.substr(0, path.rfind('/') + 1));
    return folders;
}

std::string with_name(std::string_view name, std::string_view text) {
    return fmt::format("#line 1 \"{}\"\n{}", escaped_for_literal(name), text);
}

}  // namespace

std::string escaped_for_literal(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\' || c == '"') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

MemoryHeaders::MemoryHeaders(const std::vector<Header>& users, std::span<const HeaderView> own,
                             bool is_watched, std::string_view written) {
    const auto with_line_name = [&](const Header& header, const std::string& path) {
        return with_name(written.empty() ? header.name : fmt::format("{}/{}", written, path),
                         header.text);
    };
    if (is_watched) {
        for (const auto& header : users) {
            const auto path = path_in_folder(header.name);
            if (path) tree_.try_emplace(*path, with_line_name(header, *path));
        }
    }
    // A file in the tree may have a neighbour of this name, which a header matched by name hides.
    const auto folders = folders_of(tree_);
    const auto hides_a_neighbour = [&](const std::string& name) {
        return std::ranges::any_of(folders, [&](const std::string& folder) {
            const auto path = path_in_folder(folder + name);
            return !folder.empty() && path && tree_.contains(*path) &&
                   *path != path_in_folder(name);
        });
    };
    texts_.reserve(users.size());
    for (const auto& header : users) {
        const auto path = path_in_folder(header.name);
        if (!path || (tree_.empty() && written.empty())) {
            literal_.push_back({header.name.c_str(), header.text.c_str()});
        } else if (tree_.empty()) {
            texts_.push_back(with_line_name(header, *path));
            literal_.push_back({header.name.c_str(), texts_.back().c_str()});
        } else if (!hides_a_neighbour(header.name)) {
            // Found before any file, as every given header is; its text is in the tree, where it
            // has neighbours.
            texts_.push_back(fmt::format("#include \"/{}/{}\"\n", memory_folder, *path));
            literal_.push_back({header.name.c_str(), texts_.back().c_str()});
        }
    }
    for (const auto& header : own) {
        // One that stands for a library's file comes before that file, wherever it is.
        const bool replaces = std::string_view(header.name).find('/') != std::string_view::npos;
        if (is_watched && !replaces) {
            shims_.emplace(header.name, with_name(header.name, header.text));
        } else {
            literal_.push_back(header);
        }
    }
}

std::vector<HeaderView> MemoryHeaders::all() const {
    std::vector<HeaderView> all = literal_;
    for (const auto* folder : {&tree_, &shims_}) {
        for (const auto& [path, text] : *folder)
            all.push_back({path.c_str(), text.c_str()});
    }
    return all;
}

std::string MemoryHeaders::first_flag() const {
    return tree_.empty() ? std::string() : fmt::format("-I/{}", memory_folder);
}

std::string MemoryHeaders::shims_flag() const {
    return shims_.empty() ? std::string() : fmt::format("-I/{}", shims_folder);
}

std::vector<VirtualFolder> MemoryHeaders::folders() const {
    std::vector<VirtualFolder> folders;
    if (!tree_.empty()) folders.emplace_back(memory_folder, tree_);
    if (!shims_.empty()) folders.emplace_back(shims_folder, shims_);
    return folders;
}

}  // namespace LODE_NAMESPACE
