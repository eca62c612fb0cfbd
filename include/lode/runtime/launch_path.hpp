/// \file
/// The part of a launch that is compiled into its caller; for lode's other headers, not for hosts.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/launch.hpp>
#include <lode/runtime/native.hpp>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <string>

LODE_API_BEGIN

namespace LODE_NAMESPACE::detail {

struct DeviceState;
struct PreparedState;

/// A launch that will be repeated. Interned in the device's state.
struct LaunchRecord {
    std::string kernel;
    Dim3 grid;
    Dim3 block;

    friend auto operator<=>(const LaunchRecord&, const LaunchRecord&) = default;
};

/// A stream's device and last launch. Lives as long as the Stream; for adopted and default streams,
/// as long as the device's state.
struct StreamState {
    /// `of_context`: a default stream, which the current context determines.
    enum class Kind : std::uint8_t { made, of_context };

    /// The state of an empty stream, which no launch accepts.
    constexpr StreamState() noexcept : device(nullptr), plain_device(nullptr) {}
    explicit StreamState(DeviceState& owner, Kind kind = Kind::made);
    ~StreamState();
    StreamState(const StreamState&) = delete;
    StreamState& operator=(const StreamState&) = delete;

    DeviceState* const device;  ///< Null for an empty stream.

    /// The device, while a plain driver call is all that a launch on this stream needs. Null for
    /// the default and the empty stream, for a lost device, and if every launch waits. A launch
    /// thus tests all of these, and a stream of another device, in one comparison.
    std::atomic<const DeviceState*> plain_device;

    /// Records the last launch, which is the suspect of later errors. `kernel` must be interned in
    /// the device's state. Concurrent launches on one stream may mix their shapes.
    [[gnu::always_inline]] void remember(const std::string* kernel, const Dim3& grid,
                                         const Dim3& block) noexcept {
        last_launch_.store(reinterpret_cast<std::uintptr_t>(kernel), std::memory_order_relaxed);
        last_extents_[0].store(both(grid.x, grid.y), std::memory_order_relaxed);
        last_extents_[1].store(both(grid.z, block.x), std::memory_order_relaxed);
        last_extents_[2].store(both(block.y, block.z), std::memory_order_relaxed);
    }

    /// The same for an interned record, in one store. `tagged` is what tag() makes of it.
    void remember(std::uintptr_t tagged) noexcept {
        last_launch_.store(tagged, std::memory_order_relaxed);
    }
    static std::uintptr_t tag(const LaunchRecord* record) noexcept {
        return reinterpret_cast<std::uintptr_t>(record) | is_record;
    }

    /// "'saxpy' with grid (4, 1, 1) and block (256, 1, 1)"; empty before the first launch.
    [[nodiscard]] std::string last_launch() const;

private:
    /// Two extents in one word: three stores instead of six.
    static std::uint64_t both(std::uint32_t low, std::uint32_t high) noexcept {
        return low | std::uint64_t{high} << 32;
    }

    static constexpr std::uintptr_t is_record = 1;

    /// The name of a kernel, whose shape is in last_extents_, or a tagged record; 0 at first.
    std::atomic<std::uintptr_t> last_launch_{0};
    std::array<std::atomic<std::uint64_t>, 3> last_extents_{};
};

/// cuLaunchKernel: function, grid, block, dynamic shared memory in bytes, stream, arguments, extra.
/// A CUresult, which only cuda.h can name, is returned like an unsigned.
using LaunchFunction = unsigned (*)(NativeFunction, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, unsigned, NativeStream, void**, void**);

/// The largest extents of a launch of a kernel.
struct LaunchLimits {
    Dim3 grid;
    Dim3 block;
    std::uint32_t threads = 0;  ///< Per block, after registers and launch bounds.

    /// Whether every extent is from 1 to its limit (0 wraps around and fails), and the block's
    /// volume within its own limit. The product can't overflow once the extents fit.
    [[nodiscard, gnu::always_inline]] bool fit(const Dim3& g, const Dim3& b) const noexcept {
        return g.x - 1 < grid.x && g.y - 1 < grid.y && g.z - 1 < grid.z && b.x - 1 < block.x &&
               b.y - 1 < block.y && b.z - 1 < block.z && b.x * b.y * b.z <= threads;
    }
};

/// What a launch reads of a kernel. No shape fits the one that all empty kernels share.
struct LaunchableKernel {
    LaunchFunction launch = nullptr;
    NativeFunction function = nullptr;        ///< In the device's context: faster than a CUkernel.
    DeviceState* device = nullptr;            ///< Null for an empty kernel.
    const std::string* breadcrumb = nullptr;  ///< The name, interned in the device.
    std::uint64_t number = 0;                 ///< No other kernel's in this process; 0 if empty.
    LaunchLimits limits;
    /// Dynamic shared memory, in bytes, that needs no further opt-in.
    mutable std::atomic<std::uint32_t> shared_ready{0};

    /// Whether a shape is within the limits and needs no further opt-in. Ignores attributes.
    [[nodiscard, gnu::always_inline]] bool fits(const LaunchShape& shape) const noexcept {
        return limits.fit(shape.grid, shape.block) &&
               shape.dynamic_shared_bytes <= shared_ready.load(std::memory_order_relaxed);
    }
};

/// CUlaunchConfig, which only cuda.h can name.
struct LaunchConfig {
    Dim3 grid;
    Dim3 block;
    std::uint32_t dynamic_shared_bytes;
    NativeStream stream;
    void* attributes;
    unsigned attribute_count;
};

/// A launch that isn't plain. The shape is a copy, so that a shape written at the call stays in
/// registers where launches are plain. Aligned, so that no part of the copy crosses a cache line.
struct alignas(16) SpecialLaunch {
    SpecialLaunch(const LaunchShape& of, NativeStream on) noexcept
        : shape(of), config{of.grid, of.block, of.dynamic_shared_bytes, on, nullptr, 0} {}

    LaunchShape shape;
    LaunchConfig config;  ///< Without the shape's attributes.
};

/// A launch that isn't plain: attributes, a default stream, a first opt-in to shared memory, a
/// device whose launches wait, errors.
[[nodiscard]] Status launch_specially(const LaunchableKernel& launchable, StreamState& stream_state,
                                      SpecialLaunch& launch, void** arguments, void** packed);
/// The error of a plain launch: the driver refused it, or reports an earlier kernel's error.
[[nodiscard]] Status launch_failed(const LaunchableKernel& kernel, StreamState& stream_state,
                                   const LaunchShape& shape, unsigned result);

/// One test, one call, one record of it. Either `arguments`, the pointers to the values, or
/// `packed`, the driver's "extra" list, is non-null, unless the kernel has no parameters.
[[nodiscard, gnu::always_inline]] inline Status launch_inline(const LaunchableKernel& kernel,
                                                              NativeStream stream,
                                                              StreamState& stream_state,
                                                              const LaunchShape& shape,
                                                              void** arguments, void** packed) {
    const bool is_plain =
        !shape.has_attributes() &&
        stream_state.plain_device.load(std::memory_order_relaxed) == kernel.device &&
        kernel.fits(shape);
    // The functions get a copy, so that a shape written at the call stays in registers.
    if (!is_plain) [[unlikely]] {
        SpecialLaunch launch(shape, stream);
        return launch_specially(kernel, stream_state, launch, arguments, packed);
    }

    const unsigned result = kernel.launch(kernel.function, shape.grid.x, shape.grid.y, shape.grid.z,
                                          shape.block.x, shape.block.y, shape.block.z,
                                          shape.dynamic_shared_bytes, stream, arguments, packed);
    if (result != 0) [[unlikely]] {
        const LaunchShape copy = shape;
        return launch_failed(kernel, stream_state, copy, result);
    }
    stream_state.remember(kernel.breadcrumb, shape.grid, shape.block);
    return success();
}

/// The same with a buffer of arguments whose offsets and sizes are the kernel's.
[[nodiscard, gnu::always_inline]] inline Status launch_packed(
    const LaunchableKernel& kernel, NativeStream stream, StreamState& stream_state,
    const LaunchShape& shape, const void* buffer, std::size_t size) {
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END, which only cuda.h can name.
    void* packed[] = {reinterpret_cast<void*>(1), const_cast<void*>(buffer),
                      reinterpret_cast<void*>(2), &size, nullptr};
    return launch_inline(kernel, stream, stream_state, shape, nullptr,
                         size == 0 ? nullptr : packed);
}

/// What every launch of a prepared launch reads.
struct PreparedCall {
    /// What StreamState::plain_device is if one call is enough; an address that no device has if
    /// the launch needs more than cuLaunchKernel.
    const void* plain_device = nullptr;
    StreamState* stream_state = nullptr;
    LaunchFunction launch = nullptr;
    NativeFunction function = nullptr;
    NativeStream stream = nullptr;
    void** arguments = nullptr;
    std::uintptr_t breadcrumb = 0;  ///< StreamState::tag() of its record.
    LaunchShape shape;
};

/// Launches with attributes or on a default stream, of an empty object, or on a device that is lost
/// or whose launches wait.
[[nodiscard]] Status launch_prepared_specially(const PreparedCall& call);
[[nodiscard]] Status prepared_launch_failed(const PreparedCall& call, unsigned result);

[[nodiscard, gnu::always_inline]] inline Status launch_prepared(const PreparedCall& prepared) {
    StreamState& stream = *prepared.stream_state;
    if (stream.plain_device.load(std::memory_order_relaxed) != prepared.plain_device) [[unlikely]]
        return launch_prepared_specially(prepared);
    const Dim3& grid = prepared.shape.grid;
    const Dim3& block = prepared.shape.block;
    const unsigned result = prepared.launch(prepared.function, grid.x, grid.y, grid.z, block.x,
                                            block.y, block.z, prepared.shape.dynamic_shared_bytes,
                                            prepared.stream, prepared.arguments, nullptr);
    if (result != 0) [[unlikely]]
        return prepared_launch_failed(prepared, result);
    stream.remember(prepared.breadcrumb);
    return success();
}

}  // namespace LODE_NAMESPACE::detail

LODE_API_END
