// The records of the torture tests: a small set of entries, each of which can be verified from its
// key alone.
#pragma once

#include "jit/store/entry_format.hpp"
#include "tests/unit/jit/cache/example_entry.hpp"

#include <cstddef>
#include <cstdint>

namespace LODE_NAMESPACE::cache {

inline constexpr int world_size = 12;

/// Less than the total size of the records, so that sweeps happen.
inline constexpr std::uint64_t world_bytes = 400 * 1024;

/// The entry with the given number; sizes range from 100 bytes to 60 KiB, so that a write takes
/// several steps.
inline Entry world_entry(int number) {
    constexpr std::size_t smallest = 100;
    constexpr std::size_t step = 5000;
    return example_entry(number, smallest + static_cast<std::size_t>(number) * step);
}

}  // namespace LODE_NAMESPACE::cache
