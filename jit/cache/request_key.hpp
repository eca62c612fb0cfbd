// Request keys: the inputs of one compilation as a key text.
//
// A request key holds what is known before any header is read; the entry key adds the digest of
// every header that the compiler read. Left out on purpose, because the code can't depend on them:
// user, host, pid, time, driver, device, the order of name expressions, and the folders of the
// source, of the includes and of the toolkit. Headers enter by content, under names relative to
// those folders; if the code may name a folder, the header set is bound to it (manifest.hpp).
#pragma once

#include "jit/cache/toolchain.hpp"
#include "jit/headers/search_folders.hpp"
#include "jit/store/key.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compile_request.hpp>

#include <string>

namespace LODE_NAMESPACE::cache {

/// The key of all inputs that are known before any header is read; the request's source is read.
/// Errors: those of compile_flags().
[[nodiscard]] Result<Key> request_key(const CompileRequest& request, const KnownCompiler& compiler,
                                      const SearchFolders& folders);

/// The key of a request together with the headers it read. `header_list` is the digest of
/// HeaderSet::key_list().
Key entry_key(const Key& request, const Digest& header_list);

/// Why this compilation can't be cached at all: a flag that reads or writes files that the cache
/// can't see, or a source that uses the time. Empty when it can.
std::string uncacheable_reason(const CompileRequest& request);

}  // namespace LODE_NAMESPACE::cache
