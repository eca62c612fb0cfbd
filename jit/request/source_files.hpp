// SourceFiles: where code in memory also lies on disk, for tools that show the source of a line,
// and source files whose paths have a double quote, which PTX can't write.
#pragma once

#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <map>
#include <string>
#include <vector>

namespace LODE_NAMESPACE {

/// The files of one compilation's texts in memory. Line information names them; messages don't.
struct SourceFiles {
    std::string source;   ///< An absolute path; empty if the source keeps its own name.
    std::string headers;  ///< The folder of the tree of headers; empty if they keep their names.

    [[nodiscard]] bool empty() const noexcept { return source.empty() && headers.empty(); }
    friend bool operator==(const SourceFiles&, const SourceFiles&) = default;
};

/// The name of the NVRTC program of a source: the source's own name, or, for code in memory, a name
/// in a folder that doesn't exist.
[[nodiscard]] std::string program_name(const Source& source);

/// The headers that can be files of a folder, by their paths in it. The first of a path counts.
[[nodiscard]] std::map<std::string, const Header*> headers_by_path(
    const std::vector<Header>& headers);

/// The compiler's messages with the names that the user gave, in the place of those of the files.
[[nodiscard]] std::string with_given_names(std::string log, const SourceFiles& files,
                                           const std::string& source,
                                           const std::vector<Header>& headers);

}  // namespace LODE_NAMESPACE
