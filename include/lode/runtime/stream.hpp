/// \file
/// Streams and events: order, waiting and device-side timing.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

class Device;
class Event;
class SmPartition;
struct IpcEventHandle;

namespace detail {
struct DeviceState;
struct StreamState;

struct StreamTraits {
    using Handle = NativeStream;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};
struct EventTraits {
    using Handle = NativeEvent;
    using Owner = std::shared_ptr<DeviceState>;
    static void destroy(Handle handle, const Owner& owner) noexcept;
};

/// Deletes a stream's state, but not the one that all empty streams share.
struct StreamStateDeleter {
    void operator()(StreamState* state) const noexcept;
};
}  // namespace detail

/// A view of a stream: trivially copyable, owns nothing. Valid as long as its Stream or, for an
/// adopted or default stream, as long as its Device and the native stream. A view of an empty
/// Stream can be created; every use of it fails with invalid_argument.
///
/// Thread-safe: concurrent calls enter the stream in an unspecified order. Errors of every call:
/// device_lost; capture_active if a capture forbids the call; the driver's own.
class StreamRef {
public:
    StreamRef(int) = delete;
    StreamRef(std::nullptr_t) = delete;

    /// The driver's handle; nullptr for the default stream.
    [[nodiscard]] NativeStream native() const noexcept { return native_; }

    /// Blocks until all work so far is done (cuStreamSynchronize). Errors: device_lost if a kernel
    /// failed; the message names the last launch on this stream as the suspect.
    [[nodiscard]] Status sync() const;

    /// Whether all work so far is done. Doesn't wait (cuStreamQuery).
    [[nodiscard]] Result<bool> is_idle() const;

    /// Makes later work on this stream wait for the event, which may be of another device. Doesn't
    /// block the host (cuStreamWaitEvent). Errors: invalid_argument for an empty event.
    [[nodiscard]] Status wait(const Event& event) const;

    /// Runs `function` on a driver thread when all work so far is done; later work waits for it
    /// (cuLaunchHostFunc). It must not call CUDA; an exception from it is logged and ignored. It
    /// doesn't run after a device error, but it is destroyed: when it has run, when the device is
    /// lost, or at the latest with the last object of the device, which waits for it. Errors:
    /// invalid_argument for an empty function; capture_active while the stream is being captured.
    [[nodiscard]] Status call_on_host(std::function<void()> function) const;

    /// Whether the stream is being captured into a graph.
    [[nodiscard]] Result<bool> is_capturing() const;

    /// For lode's own components, not for hosts.
    [[nodiscard]] detail::StreamState& state() const noexcept { return *state_; }

private:
    friend class Device;
    friend class Stream;
    StreamRef(NativeStream native, detail::StreamState& state) noexcept
        : native_(native), state_(&state) {}

    NativeStream native_;
    detail::StreamState* state_;
};

/// Options of a new stream.
struct StreamOptions {
    bool blocking = false;  ///< Whether it is ordered with the legacy default stream.
    int priority = 0;       ///< Lower is more urgent; clamped to the device's range.
};

/// Owns a stream, made by Device::create_stream(). Move-only; keeps the device alive. Destroying it
/// doesn't wait: the driver frees the stream when its work is done. Thread-safe like StreamRef.
///
/// A default-constructed, moved-from or released Stream is empty: every use of it fails with
/// invalid_argument.
class Stream {
public:
    /// An empty stream, to be assigned to.
    Stream() noexcept;
    ~Stream();
    /// Leaves `other` empty; views of it stay valid as views of the new object.
    Stream(Stream&& other) noexcept;
    /// Destroys the current stream and takes over the other's.
    Stream& operator=(Stream&& other) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    /// Whether there is a stream.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

    /// A view, valid as long as this stream.
    [[nodiscard]] StreamRef ref() const noexcept { return {handle_.get(), *state_}; }
    /// A view, so that a Stream can be passed where a StreamRef is expected.
    operator StreamRef() const noexcept { return ref(); }  // NOLINT(google-explicit-constructor)
    /// The driver's handle, still owned by this object; also a cudaStream_t.
    [[nodiscard]] NativeStream native() const noexcept { return handle_.get(); }

    /// StreamRef::sync()
    [[nodiscard]] Status sync() const { return ref().sync(); }
    /// StreamRef::is_idle()
    [[nodiscard]] Result<bool> is_idle() const { return ref().is_idle(); }
    /// StreamRef::wait()
    [[nodiscard]] Status wait(const Event& event) const { return ref().wait(event); }
    /// StreamRef::call_on_host()
    [[nodiscard]] Status call_on_host(std::function<void()> function) const {
        return ref().call_on_host(std::move(function));
    }
    /// StreamRef::is_capturing()
    [[nodiscard]] Result<bool> is_capturing() const { return ref().is_capturing(); }

    /// Transfers the native stream to the caller, who destroys it with cuStreamDestroy. Views of it
    /// become invalid.
    [[nodiscard]] NativeStream release() && noexcept;

private:
    friend class Device;
    friend class SmPartition;
    Stream(UniqueHandle<detail::StreamTraits> handle,
           std::unique_ptr<detail::StreamState> state) noexcept;

    UniqueHandle<detail::StreamTraits> handle_;  // Outlives state_: it keeps the device.
    std::unique_ptr<detail::StreamState, detail::StreamStateDeleter> state_;  ///< Never null.
};

/// The priorities of a device's streams; lower numbers are more urgent.
struct StreamPriorities {
    int least = 0;     ///< The number of the least urgent streams.
    int greatest = 0;  ///< The number of the most urgent streams; at most `least`.
};

/// The range of StreamOptions::priority (cuCtxGetStreamPriorityRange). Both are 0 if the device has
/// no priorities. Errors: device_lost and the driver's own.
[[nodiscard]] Result<StreamPriorities> stream_priorities(const Device& device);

/// Options of a new event.
struct EventOptions {
    bool timing = true;          ///< Whether it records a time; events without are cheaper.
    bool blocking_sync = false;  ///< Whether sync() yields the processor instead of spinning.
    bool interprocess = false;   ///< Whether other processes can open it; not with `timing`.
};

/// Owns an event, made by Device::create_event(). Move-only; keeps the device alive. Calls from
/// several threads are safe. Errors of every call: device_lost and the driver's own.
///
/// A default-constructed, moved-from or released Event is empty: every use of it fails with
/// invalid_argument.
class Event {
public:
    /// An empty event, to be assigned to.
    Event() noexcept = default;

    /// Whether there is an event.
    explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

    /// The driver's handle, still owned by this object; also a cudaEvent_t.
    [[nodiscard]] NativeEvent native() const noexcept { return handle_.get(); }

    /// Records this point of the stream, replacing an earlier record (cuEventRecord).
    /// Errors: invalid_argument for a stream of another device.
    [[nodiscard]] Status record(StreamRef stream) const;
    /// Blocks until the recorded point is reached; returns at once if nothing was recorded.
    [[nodiscard]] Status sync() const;
    /// Whether the recorded point is reached; true if nothing was recorded. Doesn't wait.
    [[nodiscard]] Result<bool> is_done() const;
    /// Milliseconds from `start` to this event on the device's clock, with a resolution of about
    /// 0.5 µs (Best Practices Guide 8.1.2). Errors: not_ready until both points are reached;
    /// invalid_argument if either event was never recorded or was created without timing.
    [[nodiscard]] Result<float> elapsed_ms_since(const Event& start) const;

    /// Whether it records a time (EventOptions::timing).
    [[nodiscard]] bool has_timing() const noexcept { return timing_; }

    /// Transfers the native event to the caller, who destroys it with cuEventDestroy.
    [[nodiscard]] NativeEvent release() && noexcept { return handle_.release(); }

    /// For lode's own components, not for hosts: the event's device; null for an empty event.
    [[nodiscard]] const detail::DeviceState* owner() const noexcept {
        return handle_ ? handle_.owner().get() : nullptr;
    }

private:
    friend class Device;
    friend struct IpcEventHandle;
    Event(UniqueHandle<detail::EventTraits> handle, bool timing) noexcept
        : handle_(std::move(handle)), timing_(timing) {}
    UniqueHandle<detail::EventTraits> handle_;
    bool timing_ = false;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
