// Collecting the header set of one compilation from what it asked of the file system.
//
// The answers are complete (FileAccesses sees every question), so that a compilation with the same
// arguments whose questions would be answered the same gives the same result. What is left to
// decide here is how an answer is kept: under a path relative to a search folder, or bound to the
// place where it was given; and what no answer shows: the time, and paths that get into the code.
#pragma once

#include "jit/cache/headers/header_store.hpp"
#include "jit/cache/headers/manifest.hpp"
#include "jit/cache/headers/search_folders.hpp"
#include "jit/compile.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <string>
#include <string_view>

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

/// Whether compiled code holds a text, in its machine code or its PTX.
[[nodiscard]] bool code_contains(const Image& image, std::string_view text);

}  // namespace lode::cache
