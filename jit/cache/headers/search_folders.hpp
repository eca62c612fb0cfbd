// The folders that a compilation searches for headers, and paths relative to them.
#pragma once

#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lode::cache {

/// The folders that a compilation searches for headers, absolute.
struct SearchFolders {
    std::filesystem::path source;                ///< Empty for code in memory.
    std::vector<std::filesystem::path> include;  ///< The request's, in order.
    std::vector<std::filesystem::path> toolkit;  ///< Searched after them, in order.
    std::filesystem::path working;               ///< The working directory.
    std::string source_name;                     ///< As the request gives it.
    /// As the request gives them: the compiler names a header by its folder's given name.
    std::vector<std::string> include_names;

    /// All of them as text, for what is bound to its place.
    [[nodiscard]] std::string to_string() const;
};

/// A file or folder, relative to one of the search folders.
struct HeaderPath {
    enum class Root : std::uint8_t { absolute, source, include, toolkit, working };

    Root root = Root::absolute;
    std::uint32_t index = 0;  ///< Which include or toolkit folder.
    std::string path;

    /// Where it is with these folders; empty if there is no such folder.
    [[nodiscard]] std::filesystem::path resolve(const SearchFolders& folders) const;
    /// "include 0 util/math.h"
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const HeaderPath&, const HeaderPath&) = default;
};

/// One search folder with the root that stands for it.
struct NamedFolder {
    HeaderPath::Root root;
    std::uint32_t index;
    std::string path;
};

/// The folders of a compilation, absolute, without repeated slashes or "." parts.
[[nodiscard]] SearchFolders search_folders(const Source& source, const CompileOptions& options,
                                           const std::vector<std::filesystem::path>& toolkit);

/// How the folders lie to each other, as text: one line for each that is another one or below it.
/// Where two requests agree in it, a path below the folders means the same to both, whichever of
/// the folders it was found through.
[[nodiscard]] std::string folder_layout(const SearchFolders& folders,
                                        const CompileOptions& options);

/// All folders that there are, the working directory on request.
[[nodiscard]] std::vector<NamedFolder> named_folders(const SearchFolders& folders,
                                                     bool with_working);

/// An absolute path relative to the innermost of the folders that it is or lies below; else itself.
[[nodiscard]] HeaderPath place_among(const std::vector<NamedFolder>& folders,
                                     const std::string& path);

/// The path from the working directory on if it is relative, without repeated slashes or "." parts.
[[nodiscard]] std::string absolute_path(const std::filesystem::path& path,
                                        const std::filesystem::path& working);

/// Whether an absolute path lies below a folder; it does not lie below itself.
[[nodiscard]] bool is_below(const std::string& path, const std::string& folder);

}  // namespace lode::cache
