// CompilerIdentity: which compiler is behind the cache, remembered so that a hit opens none.
#pragma once

#include "jit/cache/backend.hpp"
#include "jit/cache/storage.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/compiler.hpp>

#include <memory>
#include <mutex>

namespace lode::cache {

/// Thread-safe. Both arguments outlive it.
class CompilerIdentity {
public:
    CompilerIdentity(CompilerBackend& backend, Storage& storage) noexcept
        : backend_(backend), storage_(storage) {}

    /// From a record where there is one, else from the compiler itself.
    [[nodiscard]] Result<std::shared_ptr<const CompilerInfo>> get();
    /// Asks the compiler itself, after a compilation has shown that the record is wrong.
    void refresh();

private:
    /// Keeps what the compiler said, in a record where this stands for the right one.
    void keep(CompilerInfo info, const RecordKey& key);

    CompilerBackend& backend_;
    Storage& storage_;
    std::mutex mutex_;
    std::shared_ptr<const CompilerInfo> info_;  ///< Guarded by mutex_; nullptr while unknown.
};

}  // namespace lode::cache
