// Collecting the header set of one compilation from what it asked of the file system.
//
// The answers are complete (FileAccesses sees every question), so that a compilation with the same
// arguments whose questions would be answered the same gives the same result. What is left to
// decide here is how an answer is kept: under a path relative to a search folder, or bound to the
// place where it was given; and what no answer shows: the time, and paths that get into the code.
#pragma once

#include "jit/cache/header_store.hpp"
#include "jit/cache/manifest.hpp"
#include "jit/compile.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lode::cache {

/// One compilation, as far as its headers are concerned. Views; the owner outlives the call.
struct HeaderQuestion {
    const Source& source;
    const std::string& source_text;
    const CompileOptions& options;
    const SearchFolders& folders;
    const CompileFiles& files;
    const Image* image = nullptr;  ///< The result; nullptr when it failed.
};

/// The set, or why the compilation can't be cached.
struct CollectedHeaders {
    HeaderSet set;
    std::string obstacle;  ///< A clause; empty when the set is good.
};

/// Thread-safe.
[[nodiscard]] CollectedHeaders collect_headers(const HeaderQuestion& question, HeaderStore& store);

/// The folders of a compilation, absolute, without repeated slashes or "." parts.
[[nodiscard]] SearchFolders search_folders(const Source& source, const CompileOptions& options,
                                           const std::vector<std::filesystem::path>& toolkit);

/// How the folders lie to each other, as text: one line for each that is another one or below it.
/// Where two requests agree in it, a path below the folders means the same to both, whichever of
/// the folders it was found through.
[[nodiscard]] std::string folder_layout(const SearchFolders& folders,
                                        const CompileOptions& options);

/// Whether compiled code holds a text, in its machine code or its PTX.
[[nodiscard]] bool code_contains(const Image& image, std::string_view text);

}  // namespace lode::cache
