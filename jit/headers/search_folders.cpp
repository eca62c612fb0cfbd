#include "jit/headers/search_folders.hpp"

#include "jit/files/file_accesses.hpp"

#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE::cache {
namespace {

namespace fs = std::filesystem;
using Root = HeaderPath::Root;

/// The i-th folder of a list; null if there is none.
const fs::path* at(const std::vector<fs::path>& folders, std::uint32_t index) {
    return index < folders.size() ? &folders[index] : nullptr;
}

/// The rest of a path below `folder`; the path is `folder` or lies below it.
std::string rest_below(const std::string& path, const std::string& folder) {
    if (path == folder) return {};
    return path.substr(folder == "/" ? 1 : folder.size() + 1);
}

}  // namespace

std::string SearchFolders::to_string() const {
    std::string text = "source " + source_name + "\nsource folder " + source.string() + "\n";
    for (const auto& folder : include)
        text += "include " + folder.string() + "\n";
    for (const auto& name : include_names)
        text += "include by name " + name + "\n";
    for (const auto& folder : toolkit)
        text += "toolkit " + folder.string() + "\n";
    return text + "working " + working.string() + "\n";
}

std::string HeaderPath::resolve(const SearchFolders& folders) const {
    const fs::path* folder = nullptr;
    switch (root) {
        case Root::absolute:
            return path;
        case Root::source:
            folder = &folders.source;
            break;
        case Root::include:
            folder = at(folders.include, index);
            break;
        case Root::toolkit:
            folder = at(folders.toolkit, index);
            break;
        case Root::working:
            folder = &folders.working;
            break;
    }
    if (folder == nullptr) return {};
    std::string whole = folder->string();
    if (whole.empty() || path.empty()) return whole;
    if (whole.back() != '/') whole += '/';
    return whole += path;
}

std::string HeaderPath::to_string() const {
    switch (root) {
        case Root::absolute:
            return path;
        case Root::source:
            return "source " + path;
        case Root::include:
            return "include " + std::to_string(index) + " " + path;
        case Root::toolkit:
            return "toolkit " + std::to_string(index) + " " + path;
        case Root::working:
            return "working " + path;
    }
    return path;
}

SearchFolders search_folders(const CompileRequest& request, const std::vector<fs::path>& toolkit) {
    const CompileOptions& options = request.options;
    SearchFolders folders;
    std::error_code ignored;
    folders.working = cleaned_path(fs::current_path(ignored).string());
    folders.source_name = request.source.name();
    if (const auto own = request.source.folder(); !own.empty()) {
        folders.source = absolute_path(own, folders.working);
    }
    for (const auto& folder : options.include_folders) {
        folders.include.emplace_back(absolute_path(folder, folders.working));
        folders.include_names.push_back(folder.string());
    }
    if (options.toolkit_headers) {
        for (const auto& folder : toolkit)
            folders.toolkit.emplace_back(absolute_path(folder, folders.working));
    }
    return folders;
}

std::string folder_layout(const SearchFolders& folders, const CompileOptions& options) {
    // Pre-includes and in-memory headers are searched in the working directory. Without them no
    // path starts there unless it lies below another folder.
    const bool with_working = !options.pre_includes.empty() || !options.headers.empty();
    const auto all = named_folders(folders, with_working);
    std::string layout;
    for (const auto& inner : all) {
        for (const auto& outer : all) {
            if (&inner == &outer) continue;
            if (inner.path != outer.path && !is_below(inner.path, outer.path)) continue;
            const HeaderPath from{outer.root, outer.index, rest_below(inner.path, outer.path)};
            layout += HeaderPath{inner.root, inner.index, ""}.to_string() + "= " +
                      from.to_string() + "\n";
        }
    }
    return layout;
}

std::vector<NamedFolder> named_folders(const SearchFolders& folders, bool with_working) {
    std::vector<NamedFolder> all;
    for (std::size_t i = 0; i < folders.include.size(); ++i) {
        all.push_back({Root::include, static_cast<std::uint32_t>(i), folders.include[i].string()});
    }
    if (!folders.source.empty()) all.push_back({Root::source, 0, folders.source.string()});
    for (std::size_t i = 0; i < folders.toolkit.size(); ++i) {
        all.push_back({Root::toolkit, static_cast<std::uint32_t>(i), folders.toolkit[i].string()});
    }
    if (with_working) all.push_back({Root::working, 0, folders.working.string()});
    return all;
}

HeaderPath place_among(const std::vector<NamedFolder>& folders, const std::string& path) {
    const NamedFolder* best = nullptr;
    for (const auto& folder : folders) {
        if (path != folder.path && !is_below(path, folder.path)) continue;
        if (best == nullptr || folder.path.size() > best->path.size()) best = &folder;
    }
    if (best == nullptr) return {Root::absolute, 0, path};
    return {best->root, best->index, rest_below(path, best->path)};
}

std::string absolute_path(const fs::path& path, const fs::path& working) {
    return cleaned_path(path.is_absolute() ? path.string()
                                           : working.string() + "/" + path.string());
}

bool is_below(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) &&
           (folder == "/" || path[folder.size()] == '/');
}

}  // namespace LODE_NAMESPACE::cache
