// VirtualFolder: files that exist for one compilation only.
#pragma once

#include "jit/files/file_answer.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// The folder of headers in memory. Code in memory has its program's name in it.
inline constexpr std::string_view memory_folder = "<memory>";

/// The folder of lode's own headers.
inline constexpr std::string_view shims_folder = "<lode>";

/// Texts by their paths in a folder, in the form of path_in_folder().
using VirtualFiles = std::map<std::string, std::string>;

/// A folder that a compiler finds under its name as an absolute and as a relative path. Empty by
/// default: it then contains no path.
class VirtualFolder {
public:
    VirtualFolder() = default;
    VirtualFolder(std::string_view name, VirtualFiles files);

    /// The answer for a path in the folder; nullptr for other paths. Files that aren't in the
    /// folder are absent, whatever the disk has there. Valid as long as this object.
    [[nodiscard]] FileAnswer* ask(std::string_view path);

private:
    std::string name_;
    VirtualFiles files_;
    std::map<std::string, FileAnswer> answers_;
};

/// A relative path without "." and ".." parts; nullopt for an absolute one and for one that leads
/// out of the folder.
[[nodiscard]] std::optional<std::string> path_in_folder(std::string_view path);

}  // namespace LODE_NAMESPACE
