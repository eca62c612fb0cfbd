// PreparedRequest: one request with everything that is derived from it before the cache is asked.
#pragma once

#include "jit/cache/headers/search_folders.hpp"
#include "jit/cache/request_key.hpp"
#include "jit/cache/store/key.hpp"

#include <lode/base/digest.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <span>
#include <string>

namespace lode::cache {

/// A view: what the caller passed must outlive it.
struct PreparedRequest {
    const Source& source;  ///< Pinned: read() gives the text below.
    const std::string& text;
    const Arch& arch;
    const CompileOptions& options;
    std::span<const std::string> names;
    SearchFolders folders;
    Key key;
    /// The text names no other file, so that the result depends on nothing but the key.
    bool free_of_includes = false;

    [[nodiscard]] Request request(const CompilerInfo& compiler) const;
    /// Equal for requests that one compilation answers: the same key text may stand for other
    /// headers in other folders.
    [[nodiscard]] Digest flight_key() const;
};

/// Errors: those of request_key().
[[nodiscard]] Result<PreparedRequest> prepare(const Source& source, const std::string& text,
                                              const Arch& arch, const CompileOptions& options,
                                              std::span<const std::string> names,
                                              const CompilerInfo& compiler);

}  // namespace lode::cache
