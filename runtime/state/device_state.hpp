// The state that every object made from a Device shares: the driver, the retained primary context,
// and whether the device is lost.
#pragma once

#include "base/try.hpp"
#include "runtime/driver/driver_state.hpp"
#include "runtime/state/device_lines.hpp"
#include "runtime/state/host_calls.hpp"
#include "runtime/state/loaded_libraries.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/cache.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/launch_path.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::detail {

struct LibraryState;

struct DeviceState : std::enable_shared_from_this<DeviceState> {
    DeviceState(std::shared_ptr<const DriverState> driver_state, CUdevice native,
                DeviceProperties device_properties, CachedCompiler device_compiler,
                std::shared_ptr<DeviceLines> device_lines, bool sync);
    /// Waits for the device's work, if code was loaded or host functions are on streams, and
    /// releases the primary context. A failure is logged.
    ~DeviceState();
    DeviceState(const DeviceState&) = delete;
    DeviceState& operator=(const DeviceState&) = delete;

    /// Whether every launch waits for its kernel.
    const bool sync_launches;

    const std::shared_ptr<const DriverState> driver;
    const CUdevice device;
    const DeviceProperties properties;
    const CachedCompiler compiler;
    const std::shared_ptr<DeviceLines> lines;  ///< Null unless it is the software device.

    /// Functions that wait on streams.
    HostCalls host_calls;

    /// What Device::load() has loaded and kernels still use.
    LoadedLibraries loaded;

    /// Whether code was loaded on the device, which fixes some limits.
    std::atomic<bool> has_loaded_code{false};

    [[nodiscard]] const DriverTable& table() const noexcept { return driver->table; }

    /// The primary context; the first call retains it.
    [[nodiscard]] Result<CUcontext> context();
    /// Whether other code of the process has reset the primary context since it was retained. All
    /// that was made in it is then gone: the device is lost, and destroying does nothing. Asks the
    /// driver; not for launches.
    bool notice_reset() noexcept;
    /// Whether notice_reset() has noticed one.
    [[nodiscard]] bool was_reset() const noexcept {
        return was_reset_.load(std::memory_order_acquire);
    }
    /// The retained primary context; null before the first call of context().
    [[nodiscard]] CUcontext retained_context() const noexcept {
        return context_.load(std::memory_order_acquire);
    }

    /// Calls an entry point that needs no current context. Once the device is lost, returns
    /// device_lost without calling the driver; a sticky error marks it lost. `stream` helps to name
    /// the suspect.
    template <class Function, class... Arguments>
    [[nodiscard]] Status call(const StreamState* stream, const EntryPoint<Function>& entry,
                              Arguments... arguments) {
        if (is_lost()) return tl::unexpected<Error>(lost_error());
        const CUresult result = entry(arguments...);
        if (result == CUDA_SUCCESS) [[likely]]
            return success();
        return tl::unexpected<Error>(failed(entry.name, result, stream));
    }
    template <class Function, class... Arguments>
    [[nodiscard]] Status call(const EntryPoint<Function>& entry, Arguments... arguments) {
        return call(static_cast<const StreamState*>(nullptr), entry, arguments...);
    }

    /// Logs a failed destroy; silent once the device is lost.
    void report_destroy(std::string_view call_name, CUresult result) const noexcept;
    /// Logs an error that can't be returned to a caller; silent in a forked child and while the
    /// process ends. Not for a device that was lost before the call.
    void report(const Error& error) const noexcept;

    [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// "This process has lost device 0 …", with the first failure, or that the context was reset.
    /// Call only once the device is lost.
    [[nodiscard]] Error lost_error() const;
    /// Turns a failed call into an Error; marks the device lost if the code is sticky.
    [[nodiscard]] Error failed(std::string_view call_name, CUresult result,
                               const StreamState* stream = nullptr);

    /// "device 0 (NVIDIA H200, compute capability 9.0)"
    [[nodiscard]] std::string describe() const;

    /// Whether both were opened through one driver.
    [[nodiscard]] bool same_driver(const DeviceState& other) const noexcept {
        return table().cuMemFree.function == other.table().cuMemFree.function;
    }
    /// Whether both are one device of one driver, however often it is opened.
    [[nodiscard]] bool is_same_device(const DeviceState& other) const noexcept {
        return same_driver(other) && device == other.device;
    }
    /// Records whether kernels on this device can access a peer's memory. Thread-safe.
    void set_peer(CUdevice peer, bool accessible);
    /// Whether kernels on this device can access the memory of `other`: it is the same device of
    /// the same driver, or an enabled peer.
    [[nodiscard]] bool reaches(const DeviceState& other) const;

    /// A copy of `name` that lives as long as this object.
    const std::string* intern(const std::string& name);
    /// A copy of `record` that lives as long as this object.
    const LaunchRecord* intern(LaunchRecord record);
    /// Remembers which library the driver's handles of a kernel belong to.
    void note_kernel(const void* function, const void* kernel,
                     const std::shared_ptr<const LibraryState>& library);
    /// The library of a CUfunction or a CUkernel; null if lode hasn't loaded it.
    [[nodiscard]] std::shared_ptr<const LibraryState> library_of(const void* handle) const;
    /// Keeps all libraries, until end_capture(): a graph is told only at its end which kernels it
    /// has. Captures may overlap.
    void begin_capture();
    void end_capture() noexcept;
    /// Forgets the handles of libraries that have been unloaded.
    void forget_kernels() noexcept;
    /// The state of a stream that the caller owns.
    StreamState& adopted(CUstream stream);

private:
    friend struct StreamState;
    /// Keeps the first failure, and adds the suspects to the message.
    void mark_lost(Error& error, const StreamState* stream);
    /// Waits for all work in the context, which empties the buffer of printf; logs a failure. Does
    /// nothing on a lost device.
    void finish();
    /// Ends plain launches, and all calls. Needs the mutex.
    void stop_calls() noexcept;
    [[nodiscard]] Error reset_error() const;
    [[nodiscard]] std::string suspects(const StreamState* stream) const;

    std::atomic<CUcontext> context_{nullptr};
    std::atomic<unsigned long long> context_id_{0};  ///< The driver's number of this context.
    std::atomic<bool> lost_{false};
    std::atomic<bool> was_reset_{false};

    mutable std::mutex mutex_;  ///< Guards the members below; never held across a call that blocks.
    std::optional<Error> first_failure_;
    std::set<std::string> names_;
    std::set<LaunchRecord> launches_;
    std::set<StreamState*> streams_;
    std::set<CUdevice> peers_;
    std::map<const void*, std::weak_ptr<const LibraryState>> kernels_;
    std::size_t captures_ = 0;
    std::set<std::shared_ptr<const LibraryState>> captured_;  ///< Kept by captures.
    std::mutex context_mutex_;
    std::map<CUstream, std::unique_ptr<StreamState>> adopted_;

public:
    // Last: they register themselves in streams_.
    StreamState default_stream;
    StreamState per_thread_stream;  ///< The calling thread's own.
};

/// Makes a device's primary context current for a scope; the destructor restores the stack.
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

/// Lets this thread allocate, free, load and unload while a stream of the process is being
/// captured. Without it each of these calls would invalidate the capture; none becomes part of it.
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

/// Like call_in_context() for a stream's device; an error names the stream's last launch as the
/// suspect.
template <class Function, class... Arguments>
[[nodiscard]] Status call_on_stream(const StreamState& stream, const EntryPoint<Function>& entry,
                                    Arguments... arguments) {
    LODE_TRY_ASSIGN(const CurrentContext scope, CurrentContext::enter(*stream.device));
    return stream.device->call(&stream, entry, arguments...);
}

/// Destroys something with its context current, whether or not the device is lost, and logs a
/// failure. Does nothing after a reset: the handle may be another object's now.
template <class Function, class... Arguments>
void destroy_in_context(DeviceState& device, const EntryPoint<Function>& entry,
                        Arguments... arguments) noexcept {
    if (device.notice_reset()) return;
    const DriverTable& table = device.table();
    const OutsideCapture outside(*device.driver);
    if (const CUresult pushed = table.cuCtxPushCurrent(device.retained_context());
        pushed != CUDA_SUCCESS) {
        device.report_destroy(table.cuCtxPushCurrent.name, pushed);
        return;
    }
    device.report_destroy(entry.name, entry(arguments...));
    CUcontext popped = nullptr;
    device.report_destroy(table.cuCtxPopCurrent.name, table.cuCtxPopCurrent(&popped));
}

}  // namespace LODE_NAMESPACE::detail
