/// \file
/// DevicePrintf: the text that kernels print on the software device, as calls of a function.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/driver.hpp>

#include <functional>
#include <memory>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

namespace detail {
struct DevicePrintfState;
}

/// Receives what kernels print, instead of the process's stdout, as long as it lives. Move-only.
///
/// Only the software device can do this. NVIDIA's driver writes to stdout itself when a sync
/// empties its buffer, and lode redirects no stream of the whole process: there, run the kernel in
/// a child process and read the child's output.
class DevicePrintf {
public:
    /// Calls `receive` with the text of each printf, from any thread but never from two at once. It
    /// must not use lode or CUDA; what it throws is ignored. A later capture takes the place of an
    /// earlier one, also if another Driver made it. Errors: not_supported for NVIDIA's driver;
    /// invalid_argument for an empty function.
    [[nodiscard]] static Result<DevicePrintf> capture(
        const Driver& driver, std::function<void(std::string_view)> receive);

    /// For lode's own components, not for hosts.
    explicit DevicePrintf(std::unique_ptr<detail::DevicePrintfState> state) noexcept;
    /// Waits for a call of the function that is running; afterwards kernels print to stdout again.
    ~DevicePrintf();
    /// Leaves `other` empty.
    DevicePrintf(DevicePrintf&& other) noexcept;
    /// Ends this object's capture and takes over the other's.
    DevicePrintf& operator=(DevicePrintf&& other) noexcept;
    DevicePrintf(const DevicePrintf&) = delete;
    DevicePrintf& operator=(const DevicePrintf&) = delete;

private:
    std::unique_ptr<detail::DevicePrintfState> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
