// Copies and fills: boxes of bytes in checked ranges.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <cstddef>
#include <cstdint>

namespace lode::emulator::driver {

/// Overflow-safe sums and products of sizes from callers: invalid once a result exceeds 64 bits.
class CheckedSize {
public:
    CheckedSize(std::size_t value) noexcept : value_(value) {}
    CheckedSize operator+(CheckedSize other) const noexcept {
        CheckedSize sum(0);
        sum.valid_ =
            !__builtin_add_overflow(value_, other.value_, &sum.value_) && valid_ && other.valid_;
        return sum;
    }
    CheckedSize operator*(CheckedSize other) const noexcept {
        CheckedSize product(0);
        product.valid_ = !__builtin_mul_overflow(value_, other.value_, &product.value_) && valid_ &&
                         other.valid_;
        return product;
    }
    [[nodiscard]] bool valid() const noexcept { return valid_; }
    [[nodiscard]] std::size_t value() const noexcept { return value_; }
    /// False if invalid.
    [[nodiscard]] bool at_most(std::size_t limit) const noexcept {
        return valid_ && value_ <= limit;
    }

private:
    std::size_t value_;
    bool valid_ = true;
};

/// One side of a copy: rows of bytes in slices.
struct Side {
    std::byte* at = nullptr;
    std::size_t pitch = 0;  ///< Bytes from row to row.
    std::size_t slice = 0;  ///< Bytes from slice to slice.
    CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
};

struct BoxCopy {
    Side from;
    Side to;
    std::size_t width = 0;  ///< Bytes.
    std::size_t height = 1;
    std::size_t depth = 1;
};

/// Whether the caller waits for the copy.
enum class Waits : bool { no, yes };

/// Checks both sides and copies in stream order. A copy that doesn't wait handles pageable host
/// memory as the driver does: a pageable source is read before the call returns, and a pageable
/// destination makes the call wait.
CUresult copy(const StreamUse& use, const BoxCopy& requested, Waits waits);

/// Linear copy.
CUresult copy(const StreamUse& use, Side to, Side from, std::size_t bytes, Waits waits);

/// Repeats a value of 1, 2 or 4 bytes: `width` values in each of `height` rows.
CUresult fill(const StreamUse& use, CUdeviceptr to, std::size_t pitch, std::uint32_t value,
              std::size_t value_bytes, std::size_t width, std::size_t height, Waits waits);

/// Checks a copy and resolves CU_MEMORYTYPE_UNIFIED; nothing to copy is valid.
CUresult check_copy(BoxCopy& box);
/// The box of a 3D copy. INVALID_VALUE for values that don't fit together.
CUresult box_of(const CUDA_MEMCPY3D& parameters, BoxCopy& box);
/// The opposite: parameters that give the same copy.
CUDA_MEMCPY3D describe(const BoxCopy& box) noexcept;
/// INVALID_VALUE if the fill doesn't stay in one living allocation.
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS_v1& fill);

/// A copy or fill that is checked when it runs, because memory may have been freed since it was
/// described. It fails the context with ILLEGAL_ADDRESS; pageable memory is accessed when it runs.
Stream::Work deferred_copy(const BoxCopy& box, std::shared_ptr<Context> context);
Stream::Work deferred_fill(const CUDA_MEMSET_NODE_PARAMS_v1& fill,
                           std::shared_ptr<Context> context);

inline Side device_side(CUdeviceptr at) noexcept {
    return Side{reinterpret_cast<std::byte*>(at), 0, 0, CU_MEMORYTYPE_DEVICE};
}
inline Side host_side(const void* at) noexcept {
    return Side{static_cast<std::byte*>(const_cast<void*>(at)), 0, 0, CU_MEMORYTYPE_HOST};
}
inline Side unified_side(CUdeviceptr at) noexcept {
    return Side{reinterpret_cast<std::byte*>(at), 0, 0, CU_MEMORYTYPE_UNIFIED};
}

}  // namespace lode::emulator::driver
