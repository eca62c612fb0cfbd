// What every object made from a Device holds on to: the driver, the retained primary context, and
// whether the device is lost.
#pragma once

#include "base/try.hpp"
#include "runtime/driver_state.hpp"
#include "runtime/stream_state.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>
#include <lode/runtime/device.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lode::detail {

struct DeviceState {
    DeviceState(std::shared_ptr<const DriverState> driver_state, CUdevice native,
                DeviceProperties device_properties, CachedCompiler device_compiler, bool sync);
    /// Releases the primary context.
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    /// Every launch is waited for.
    const bool sync_launches;

    const std::shared_ptr<const DriverState> driver;
    const CUdevice device;
    const DeviceProperties properties;
    const CachedCompiler compiler;

    [[nodiscard]] const DriverTable& table() const noexcept { return driver->table; }

    /// The primary context, retained at the first call.
    [[nodiscard]] Result<CUcontext> context();
    /// The same without retaining it: null before the first call of context().
    [[nodiscard]] CUcontext retained_context() const noexcept {
        return context_.load(std::memory_order_acquire);
    }

    /// Calls an entry point that needs no current context. Answers device_lost without asking the
    /// driver once the device is lost; a sticky error makes it so. `stream` helps to name the
    /// suspect.
    template <class Function, class... Arguments>
    [[nodiscard]] Status call(const StreamState* stream, const EntryPoint<Function>& entry,
                              Arguments... arguments) {
        if (is_lost()) return tl::unexpected<Error>(lost_error());
        const CUresult result = entry(arguments...);
        if (result == CUDA_SUCCESS) [[likely]]
            return {};
        return tl::unexpected<Error>(failed(entry.name, result, stream));
    }
    template <class Function, class... Arguments>
    [[nodiscard]] Status call(const EntryPoint<Function>& entry, Arguments... arguments) {
        return call(static_cast<const StreamState*>(nullptr), entry, arguments...);
    }

    /// Reports a failed destroy to the log; silent once the device is lost.
    void report_destroy(std::string_view call_name, CUresult result) const noexcept;

    [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// "This process has lost device 0 …", with the first failure. Only once the device is lost.
    [[nodiscard]] Error lost_error() const;
    /// A failed call as an Error; marks the device lost if the code is sticky.
    [[nodiscard]] Error failed(std::string_view call_name, CUresult result,
                               const StreamState* stream = nullptr);

    /// "device 0 (NVIDIA H200, compute capability 9.0)"
    [[nodiscard]] std::string describe() const;

    /// A copy of `name` that lives as long as this object.
    const std::string* intern(const std::string& name);
    /// The state of a stream that the host owns.
    StreamState& adopted(CUstream stream);

private:
    friend struct StreamState;
    [[nodiscard]] std::string suspects(const StreamState* stream) const;

    std::atomic<CUcontext> context_{nullptr};
    std::atomic<bool> lost_{false};

    mutable std::mutex mutex_;  ///< Guards what follows; never held across a call that blocks.
    std::optional<Error> first_failure_;
    std::set<std::string> names_;
    std::set<StreamState*> streams_;
    std::mutex context_mutex_;
    std::map<CUstream, std::unique_ptr<StreamState>> adopted_;

public:
    StreamState default_stream;  ///< Last: it registers itself in streams_.
};

/// A device's primary context made current for a scope; the stack is as before afterwards.
class CurrentContext {
public:
    [[nodiscard]] static Result<CurrentContext> enter(DeviceState& device);
    ~CurrentContext();
    CurrentContext(CurrentContext&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)) {}
    CurrentContext& operator=(CurrentContext&&) = delete;
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

private:
    explicit CurrentContext(DeviceState& device) noexcept : device_(&device) {}
    DeviceState* device_;
};

/// Lets this thread allocate, free, load and unload while some stream of the process is being
/// captured: none of these enters the capture, and without this each would spoil it.
class OutsideCapture {
public:
    explicit OutsideCapture(const DriverState& driver) noexcept;
    ~OutsideCapture();
    OutsideCapture(const OutsideCapture&) = delete;
    OutsideCapture& operator=(const OutsideCapture&) = delete;

private:
    bool exchange() noexcept;
    const DriverState& driver_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool changed_;
};

/// Calls an entry point with the device's context current.
template <class Function, class... Arguments>
[[nodiscard]] Status call_in_context(DeviceState& device, const EntryPoint<Function>& entry,
                                     Arguments... arguments) {
    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(device));
    return device.call(entry, arguments...);
}

/// The same for a stream's device, with the stream as the suspect's.
template <class Function, class... Arguments>
[[nodiscard]] Status call_on_stream(const StreamState& stream, const EntryPoint<Function>& entry,
                                    Arguments... arguments) {
    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(*stream.device));
    return stream.device->call(&stream, entry, arguments...);
}

/// Destroys a handle with its context current, lost or not, and reports a failure to the log.
template <class Function, class Handle>
void destroy_in_context(DeviceState& device, const EntryPoint<Function>& entry,
                        Handle handle) noexcept {
    const DriverTable& table = device.table();
    const OutsideCapture outside(*device.driver);
    if (const CUresult pushed = table.cuCtxPushCurrent(device.retained_context());
        pushed != CUDA_SUCCESS) {
        device.report_destroy(table.cuCtxPushCurrent.name, pushed);
        return;
    }
    device.report_destroy(entry.name, entry(handle));
    CUcontext popped = nullptr;
    device.report_destroy(table.cuCtxPopCurrent.name, table.cuCtxPopCurrent(&popped));
}

}  // namespace lode::detail
