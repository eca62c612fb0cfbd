// CompilerIdentity: identifies the cache's compiler without opening it on a hit.
#pragma once

#include "jit/cache/backend.hpp"
#include "jit/cache/storage.hpp"
#include "jit/cache/toolchain.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <memory>
#include <mutex>

namespace LODE_NAMESPACE::cache {

/// Thread-safe. Both arguments must outlive it.
class CompilerIdentity {
public:
    CompilerIdentity(CompilerBackend& backend, Storage& storage) noexcept
        : backend_(backend), storage_(storage) {}

    /// Reads the record if there is one; otherwise asks the compiler.
    [[nodiscard]] Result<std::shared_ptr<const KnownCompiler>> get();
    /// Asks the compiler, after a compilation has shown that the record is wrong.
    void refresh();

private:
    /// The compiler's own answer. The error of an absent one says too that the packs can't be
    /// searched, of which a machine that only runs packs has no other sign.
    [[nodiscard]] Result<CompilerProperties> ask();
    /// Keeps what the compiler reported; writes a record only where `key` identifies this compiler.
    void keep(CompilerProperties properties, const RecordKey& key);

    CompilerBackend& backend_;
    Storage& storage_;
    std::mutex mutex_;
    std::shared_ptr<const KnownCompiler> known_;  ///< Guarded by mutex_; nullptr while unknown.
};

}  // namespace LODE_NAMESPACE::cache
