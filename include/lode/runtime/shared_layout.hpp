/// \file
/// Partition of a kernel's dynamic shared memory.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
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
    /// Appends an array of `count` elements, aligned for T; its offset in bytes. A layout that
    /// exceeds the address space has the largest possible size, which no launch accepts.
    template <class T>
    constexpr std::size_t add(std::size_t count) noexcept {
        static_assert(std::is_trivially_copyable_v<T>,
                      "shared memory holds bytes: T must be trivially copyable");
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
        const std::size_t padding = (alignof(T) - bytes_ % alignof(T)) % alignof(T);
        if (padding > most - bytes_ || count > (most - bytes_ - padding) / sizeof(T)) {
            bytes_ = most;
            return bytes_;
        }
        const std::size_t offset = bytes_ + padding;
        bytes_ = offset + count * sizeof(T);
        return offset;
    }

    /// The size of all arrays with the padding between them.
    [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

private:
    std::size_t bytes_ = 0;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
