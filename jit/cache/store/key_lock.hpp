// KeyLock: the hint that another process is compiling a key right now.
//
// A hint only: whoever doesn't get it, or can't lock at all (read-only folder, network file systems
// whose locks fail or are local to one machine), may compile for itself and loses nothing but the
// time. One file holds a byte-range lock per key, so that no lock file is ever left over, and the
// kernel drops a lock when its holder dies.
#pragma once

#include "jit/cache/store/trusted_folder.hpp"

#include <lode/base/digest.hpp>

#include <cstdint>

namespace lode::cache {

/// Holds the lock of one key until destroyed. Move-only.
class KeyLock {
public:
    /// How an attempt ended.
    enum class Outcome : std::uint8_t {
        taken,
        busy,   ///< Somebody else holds it.
        failed  ///< Locks don't work here.
    };

    /// Prepares a lock without taking it; opens the lock file. Never an error: an attempt says
    /// "failed" when the file can't be opened.
    KeyLock(const TrustedFolder& folder, const Digest& key);

    /// Tries to take the lock; never waits.
    Outcome attempt() noexcept;

private:
    Descriptor file_;
    std::int64_t offset_;
};

}  // namespace lode::cache
