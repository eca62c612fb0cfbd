/// \file
/// The shape of a launch (grid, block, dynamic shared memory, attributes) and packed arguments.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

template <class T>
class DeviceSpan;

/// Three extents; unset ones are 1.
struct Dim3 {
    std::uint32_t x = 1;  ///< The fastest-running extent.
    std::uint32_t y = 1;  ///< The second extent.
    std::uint32_t z = 1;  ///< The slowest-running extent.

    /// The product of the extents, in 64 bits.
    [[nodiscard]] constexpr std::uint64_t volume() const noexcept {
        return std::uint64_t{x} * y * z;
    }
    /// "(256, 1, 1)"
    [[nodiscard]] std::string to_string() const;

    /// Compares every extent; an order for ordered containers.
    friend constexpr auto operator<=>(const Dim3&, const Dim3&) noexcept = default;
};

struct LaunchAttributes;

/// How a kernel is launched. A plain value; checked against the device at launch.
struct LaunchShape {
    Dim3 grid = {};   ///< Blocks (also with a cluster: blocks, not clusters).
    Dim3 block = {};  ///< Threads per block.
    std::uint32_t dynamic_shared_bytes = 0;  ///< In addition to the kernel's static shared memory.

    // Launch attributes: a launch with any of them goes through cuLaunchKernelEx.
    bool cooperative = false;  ///< All blocks are resident at once, so grid-wide sync is legal.
    bool programmatic_serialization = false;  ///< Programmatic dependent launch (9.0 and newer).
    Dim3 cluster = {};  ///< Blocks per cluster, at most 8 in all; (1, 1, 1) is no cluster.
    std::optional<int> priority = std::nullopt;  ///< Lower is more urgent; a hint.
    /// Further attributes, or null. They are read during the call that takes the shape.
    const LaunchAttributes* attributes = nullptr;

    /// Whether any attribute is set, so that the launch goes through cuLaunchKernelEx.
    [[nodiscard]] constexpr bool has_attributes() const noexcept {
        return cooperative || programmatic_serialization || cluster.x != 1 || cluster.y != 1 ||
               cluster.z != 1 || priority.has_value() || attributes != nullptr;
    }
};

namespace detail {
/// ceil(elements / threads), at least 1.
constexpr std::uint32_t blocks_for(std::uint64_t elements, std::uint32_t threads) noexcept {
    const std::uint64_t blocks =
        elements == 0 ? 1 : (elements - 1) / (threads == 0 ? 1 : threads) + 1;
    constexpr std::uint64_t largest = 0xffffffffU;  // The launch refuses it: above the limit.
    return static_cast<std::uint32_t>(blocks < largest ? blocks : largest);
}
}  // namespace detail

/// A one-dimensional shape whose threads cover `elements`: ceil(elements / threads_per_block)
/// blocks. Zero elements give one block, so kernels must guard their index. Doesn't check the
/// device's limits; the launch does. (Programming Guide 3.2.2)
constexpr LaunchShape cover(std::uint64_t elements,
                            std::uint32_t threads_per_block = 256) noexcept {
    return LaunchShape{.grid = {detail::blocks_for(elements, threads_per_block)},
                       .block = {threads_per_block}};
}

/// The same in two or three dimensions: `cover({width, height}, {16, 16})`. A dimension without
/// elements has one block too.
constexpr LaunchShape cover(const Dim3& elements, const Dim3& block) noexcept {
    return LaunchShape{
        .grid = {detail::blocks_for(elements.x, block.x), detail::blocks_for(elements.y, block.y),
                 detail::blocks_for(elements.z, block.z)},
        .block = block};
}

/// The position of one parameter in a kernel's parameter buffer, in bytes.
struct ParameterSlot {
    std::size_t offset = 0;  ///< From the start of the buffer.
    std::size_t size = 0;    ///< Without padding.

    /// Compares both members.
    friend bool operator==(const ParameterSlot&, const ParameterSlot&) = default;
};

namespace detail {

/// The number of a kernel, in memory that threads may share.
class KernelNumber {
public:
    KernelNumber() = default;
    KernelNumber(const KernelNumber& other) noexcept { set(other.get()); }
    KernelNumber& operator=(const KernelNumber& other) noexcept {
        set(other.get());
        return *this;
    }
    ~KernelNumber() = default;

    [[nodiscard]] std::uint64_t get() const noexcept {
        return number_.load(std::memory_order_relaxed);
    }
    void set(std::uint64_t number) noexcept { number_.store(number, std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> number_{0};
};

}  // namespace detail

/// Arguments packed into one buffer by the device's alignment rules, for callers that know types
/// only at run time. Owns copies of the values. Not thread-safe.
///
/// Each argument starts at the next multiple of its alignment (Programming Guide H.3): int, float4,
/// char, float, CUdeviceptr and float2 start at 0, 16, 32, 36, 40 and 48, and the size is 56.
class PackedArguments {
public:
    /// The maximum size of a kernel's parameters in bytes (7.0 and newer).
    static constexpr std::size_t max_bytes = 32764;

    /// Appends a copy of `size` bytes, aligned to `align` bytes. Errors: invalid_argument unless
    /// `align` is a power of two up to 16, and above max_bytes; the buffer is then unchanged.
    [[nodiscard]] Status add_bytes(const void* value, std::size_t size, std::size_t align);

    /// Appends a copy of a trivially copyable value with its own size and alignment.
    /// Errors: those of add_bytes().
    template <class T>
    [[nodiscard]] Status add(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>, "kernel arguments are copied byte by byte");
        return add_bytes(&value, sizeof(T), alignof(T));
    }
    /// Appends the address of device memory, for a pointer parameter. The device isn't checked.
    /// Errors: those of add_bytes().
    template <class T>
    [[nodiscard]] Status add(DeviceSpan<T> memory) {
        return add(memory.data());
    }

    /// The buffer; valid until the next add.
    [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }
    /// The size of the buffer, padding between arguments included.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_.size(); }
    /// The number of arguments.
    [[nodiscard]] std::size_t count() const noexcept { return slots_.size(); }
    /// The position of each argument, in order.
    [[nodiscard]] const std::vector<ParameterSlot>& slots() const noexcept { return slots_; }
    /// The offset of an argument in bytes; throws std::out_of_range for an index past the last.
    [[nodiscard]] std::size_t offset(std::size_t index) const { return slots_.at(index).offset; }
    /// The size of an argument in bytes; throws std::out_of_range for an index past the last.
    [[nodiscard]] std::size_t size(std::size_t index) const { return slots_.at(index).size; }

private:
    friend class UntypedKernel;

    std::vector<std::byte> bytes_;
    std::vector<ParameterSlot> slots_;
    /// The kernel whose parameters they were last compared with and fit; 0 for none. A launch of
    /// the same kernel needn't compare again.
    mutable detail::KernelNumber fits_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
