/// \file
/// Partition of a kernel's dynamic shared memory.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Offsets of arrays in dynamic shared memory.
///
/// All `extern __shared__` arrays of a kernel start at the same address; a kernel with several
/// arrays partitions that memory itself, with aligned offsets (Programming Guide B.2.3). This
/// computes them on the host: pass the offsets to the kernel, and bytes() as
/// LaunchShape::dynamic_shared_bytes. Not thread-safe.
///
///     SharedLayout layout;
///     const auto shorts = layout.add<short>(128);  // 0
///     const auto floats = layout.add<float>(64);   // 256
///     const auto ints = layout.add<int>(256);      // 512; layout.bytes() is 1536
class SharedLayout {
public:
    /// Appends an array of `count` elements, aligned for T; its offset in bytes. A layout of 4 GiB
    /// or more has the largest possible size, which no launch accepts.
    template <class T>
    constexpr std::uint32_t add(std::size_t count) noexcept {
        static_assert(std::is_trivially_copyable_v<T>,
                      "shared memory holds bytes: T must be trivially copyable");
        constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
        const std::uint64_t offset = (bytes_ + alignof(T) - 1) / alignof(T) * alignof(T);
        if (offset > most || count > (most - offset) / sizeof(T)) {
            bytes_ = most;
            return most;
        }
        bytes_ = static_cast<std::uint32_t>(offset + count * sizeof(T));
        return static_cast<std::uint32_t>(offset);
    }

    /// The size of all arrays with the padding between them.
    [[nodiscard]] constexpr std::uint32_t bytes() const noexcept { return bytes_; }

private:
    std::uint32_t bytes_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
