// Collects the header set of one compilation from its file system queries.
//
// FileAccesses records every query, so a compilation with the same arguments and the same answers
// gives the same result. This code decides how each answer is kept: under a path relative to a
// search folder, or bound to its original location. It also handles what no answer shows: the time,
// and paths that get into the code.
#pragma once

#include "jit/compile.hpp"
#include "jit/headers/header_store.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/headers/search_folders.hpp"

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>

#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The inputs of one compilation that concern its headers. Views; the owner must outlive the call.
struct HeaderQuestion {
    const Source& source;
    const std::string& source_text;
    const CompileOptions& options;
    const SearchFolders& folders;
    const CompileFiles& files;
    const Image* image = nullptr;  ///< The result; nullptr when it failed.
};

/// The header set, or why the compilation can't be cached.
struct CollectedHeaders {
    HeaderSet set;
    std::string obstacle;  ///< A clause; empty when the set can be cached.
};

/// Thread-safe.
[[nodiscard]] CollectedHeaders collect_headers(const HeaderQuestion& question, HeaderStore& store);

/// Whether compiled code contains a text, in its machine code or its PTX.
[[nodiscard]] bool code_contains(const Image& image, std::string_view text);

}  // namespace LODE_NAMESPACE::cache
