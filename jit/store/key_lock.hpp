// KeyLock: a hint that another process is compiling a key.
//
// Only a hint: a caller that doesn't get the lock, or can't lock at all (read-only folder, network
// file systems whose locks fail or are local to one machine), may compile for itself and loses only
// time. One file holds a byte-range lock per key, so no lock files are left over, and the kernel
// releases a lock when its holder dies.
#pragma once

#include "base/os/descriptor.hpp"
#include "jit/store/trusted_folder.hpp"

#include <lode/base/digest.hpp>

#include <cstdint>

namespace LODE_NAMESPACE::cache {

/// Holds the lock of one key until destroyed. Move-only.
class KeyLock {
public:
    /// The result of an attempt.
    enum class Outcome : std::uint8_t {
        taken,
        busy,   ///< Another holder has it.
        failed  ///< Locks don't work in this folder.
    };

    /// Opens the lock file without taking the lock. Never fails: if the file can't be opened,
    /// attempts return "failed".
    KeyLock(const TrustedFolder& folder, const Digest& key);

    /// Tries to take the lock; never waits.
    Outcome attempt() noexcept;

private:
    Descriptor file_;
    const os::FileOperations* operations_;
    std::int64_t offset_;
};

}  // namespace LODE_NAMESPACE::cache
