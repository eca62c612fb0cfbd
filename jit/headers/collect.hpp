// Collects the header set of one compilation from its file system queries.
//
// FileAccesses records every query, so a compilation with the same arguments and the same answers
// gives the same result. This code decides how each answer is kept: under a path relative to a
// search folder, or bound to its original location. It also handles what no answer shows: the time,
// and paths that get into the code.
#pragma once

#include "jit/headers/header_store.hpp"
#include "jit/headers/manifest.hpp"
#include "jit/headers/search_folders.hpp"
#include "jit/request/compile_files.hpp"
#include "jit/request/nvrtc_call.hpp"

#include <lode/base/image.hpp>
#include <lode/jit/compile_request.hpp>

#include <string>
#include <string_view>

namespace LODE_NAMESPACE::cache {

/// The header set, or why the compilation can't be cached.
struct CollectedHeaders {
    HeaderSet set;
    std::string obstacle;  ///< A clause; empty when the set can be cached.
};

/// The headers of a request whose source is read. `image` is its result; nullptr when it failed.
/// Thread-safe.
[[nodiscard]] CollectedHeaders collect_headers(const CompileRequest& request,
                                               const SearchFolders& folders,
                                               const CompileFiles& files, const Image* image,
                                               HeaderStore& store);

/// Whether compiled code contains a text, in its machine code or its PTX.
[[nodiscard]] bool code_contains(const Image& image, std::string_view text);
/// Whether an answer contains a text, in code or log. True for all IR, which encodes its texts.
[[nodiscard]] bool code_contains(const NvrtcAnswer& answer, std::string_view text);

}  // namespace LODE_NAMESPACE::cache
