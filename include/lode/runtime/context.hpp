/// \file
/// ContextScope: makes a device's primary context current for a scope.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>

#include <memory>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Pushes a device's primary context on the calling thread and pops it at the end of the scope.
///
/// lode's own calls do this themselves; a host needs it for its own driver or library calls. Create
/// and destroy it on the same thread, strictly nested. It keeps the device alive.
/// (cuCtxPushCurrent; Programming Guide H.1, Figure 19)
class ContextScope {
public:
    /// Pushes the context; retains it first if needed.
    /// Errors: device_lost, device_unavailable, process_forked; the driver's own.
    [[nodiscard]] static Result<ContextScope> enter(const Device& device);
    ~ContextScope();
    /// Transfers the scope to the new object; `other` no longer pops.
    ContextScope(ContextScope&& other) noexcept;
    ContextScope& operator=(ContextScope&&) = delete;
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

private:
    explicit ContextScope(std::shared_ptr<detail::DeviceState> device) noexcept;
    std::shared_ptr<detail::DeviceState> device_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
