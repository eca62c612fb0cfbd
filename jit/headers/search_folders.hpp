// The folders that a compilation searches for headers, and paths relative to them.
#pragma once

#include <lode/jit/compile_request.hpp>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::cache {

/// The folders that a compilation searches for headers, absolute.
struct SearchFolders {
    std::filesystem::path source;                ///< Empty for code in memory.
    std::vector<std::filesystem::path> include;  ///< The request's, in order.
    std::vector<std::filesystem::path> toolkit;  ///< Searched after them, in order.
    std::filesystem::path working;               ///< The working directory.
    std::string source_name;                     ///< As given in the request.
    /// As given in the request: the compiler names a header by its folder's given name.
    std::vector<std::string> include_names;

    /// All folders as text, for results that are bound to their location.
    [[nodiscard]] std::string to_string() const;
};

/// A file or folder, relative to one of the search folders.
struct HeaderPath {
    enum class Root : std::uint8_t { absolute, source, include, toolkit, working };

    Root root = Root::absolute;
    std::uint32_t index = 0;  ///< Which include or toolkit folder.
    std::string path;

    /// The absolute path with these folders; empty if there is no such folder.
    [[nodiscard]] std::string resolve(const SearchFolders& folders) const;
    /// "include 0 util/math.h"
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const HeaderPath&, const HeaderPath&) = default;
};

/// One search folder and the root that denotes it.
struct NamedFolder {
    HeaderPath::Root root;
    std::uint32_t index;
    std::string path;
};

/// The folders of a compilation, absolute, without repeated slashes or "." parts.
[[nodiscard]] SearchFolders search_folders(const CompileRequest& request,
                                           const std::vector<std::filesystem::path>& toolkit);

/// How the folders contain each other, as text: one line for each folder that equals another or
/// lies below it. If two requests agree in it, a path below the folders means the same for both,
/// whichever folder it was found through.
[[nodiscard]] std::string folder_layout(const SearchFolders& folders,
                                        const CompileOptions& options);

/// All folders that exist in the request; optionally with the working directory.
[[nodiscard]] std::vector<NamedFolder> named_folders(const SearchFolders& folders,
                                                     bool with_working);

/// An absolute path relative to the innermost folder that equals or contains it; else unchanged.
[[nodiscard]] HeaderPath place_among(const std::vector<NamedFolder>& folders,
                                     const std::string& path);

/// A path made absolute from the working directory, without repeated slashes or "." parts.
[[nodiscard]] std::string absolute_path(const std::filesystem::path& path,
                                        const std::filesystem::path& working);

/// Whether an absolute path lies below a folder; it does not lie below itself.
[[nodiscard]] bool is_below(const std::string& path, const std::string& folder);

}  // namespace LODE_NAMESPACE::cache
