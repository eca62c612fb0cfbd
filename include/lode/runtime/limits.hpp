/// \file
/// The limits of a device's context: stacks, printf, malloc, the L2 cache.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A limit of a device's primary context (CUlimit). All code of the process on this device shares
/// it.
enum class Limit : std::uint8_t {
    /// Bytes of the call stack of each thread, for recursion and calls through pointers. A kernel
    /// whose stack overflows fails. (Programming Guide 3.2.10)
    stack,
    /// Bytes of the buffer of device-side printf. Older output is overwritten when it is full.
    printf_fifo,
    /// Bytes of the heap of device-side malloc and new.
    malloc_heap,
    /// Launches by kernels that may be pending.
    pending_launches,
    /// Bytes that an access fetches into L2 at most, 0 … 128; a hint.
    l2_fetch_granularity,
    /// Bytes of L2 that are set aside for persisting accesses (AccessPolicyWindow).
    persisting_l2
};

/// The enumerator's own spelling, such as "malloc_heap".
[[nodiscard]] std::string_view to_string(Limit limit) noexcept;

/// The current value (cuCtxGetLimit). Errors: not_supported for a limit that the device lacks.
[[nodiscard]] Result<std::size_t> limit(const Device& device, Limit limit);

/// Sets a limit and returns what the driver made of it, which may round or clamp the value
/// (cuCtxSetLimit).
///
/// The buffers of printf and malloc are allocated when code is loaded, so Limit::printf_fifo and
/// Limit::malloc_heap must be set before anything is loaded on the device (Programming Guide
/// B.17.3, B.18.1). Limit::persisting_l2 is limited by DeviceProperties::persisting_l2_bytes.
/// Errors: invalid_argument after the first load, and for a value that the driver refuses;
/// out_of_resources for more L2 than the device sets aside; not_supported for a limit that the
/// device lacks.
[[nodiscard]] Result<std::size_t> set_limit(const Device& device, Limit limit, std::size_t value);

/// A limit with its value.
struct LimitValue {
    Limit limit = Limit::stack;                       ///< Which one.
    std::optional<std::size_t> value = std::nullopt;  ///< nullopt if the device lacks it.
};

/// All limits, in the order of the enumerators. Errors: those of limit(), except not_supported.
[[nodiscard]] Result<std::vector<LimitValue>> limits(const Device& device);

/// Returns all lines of L2 that are kept for persisting accesses to normal use
/// (cuCtxResetPersistingL2Cache).
[[nodiscard]] Status reset_persisting_l2(const Device& device);

}  // namespace LODE_NAMESPACE

LODE_API_END
