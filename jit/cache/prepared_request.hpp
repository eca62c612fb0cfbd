// PreparedRequest: a request and everything derived from it before the cache lookup.
#pragma once

#include "jit/cache/request_key.hpp"
#include "jit/cache/toolchain.hpp"
#include "jit/headers/search_folders.hpp"
#include "jit/request/source_files.hpp"
#include "jit/store/key.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/compile_request.hpp>
#include <lode/jit/workers.hpp>

#include <optional>
#include <string>

namespace LODE_NAMESPACE::cache {

/// Reads the source unless it is read, so that all steps see one state of it. Errors: those of
/// Source::read().
[[nodiscard]] Status read_source(CompileRequest& request);

/// A view: the request must outlive it.
struct PreparedRequest {
    const CompileRequest& request;  ///< Its source is read.
    std::string compiler_digest;    ///< KnownCompiler::digest, as in the key.
    SearchFolders folders;
    Key key;
    SourceFiles source_files;
    /// The text names no other file, so the result depends only on the key.
    bool free_of_includes = false;

    /// Equal for requests that one compilation can answer. The key text alone isn't enough: in
    /// other folders it may stand for other headers, and with other limits it may fail.
    [[nodiscard]] Digest flight_key(const CompileLimits& limits = {}) const;
};

/// Prepares a request whose source is read. What was compiled in a jail has a key of its own, and
/// so has code that names files. Errors: those of request_key().
[[nodiscard]] Result<PreparedRequest> prepare(const CompileRequest& request,
                                              const KnownCompiler& compiler,
                                              const std::optional<Jail>& jail,
                                              SourceFiles source_files);

}  // namespace LODE_NAMESPACE::cache
