// Streams and events: order, waiting and device-side timing.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/unique_handle.hpp>
#include <lode/runtime/native.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace lode {

class Device;
class Event;

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
}  // namespace detail

/// A view of a stream: trivially copyable, owns nothing. Valid while its Stream (or, for an adopted
/// one, its Device and the native stream) lives. Thread-safe as the driver's streams are: calls
/// from several threads are ordered in some order.
class StreamRef {
public:
    StreamRef(int) = delete;
    StreamRef(std::nullptr_t) = delete;

    [[nodiscard]] NativeStream native() const noexcept { return native_; }

    /// Blocks until all work so far is done. A sticky error marks the device lost; the message
    /// names the last launch on this stream as the suspect.
    [[nodiscard]] Status sync() const;

    /// Whether all work so far is done; false is an answer, not an error.
    [[nodiscard]] Result<bool> is_idle() const;

    /// Later work waits for the event; works across devices.
    [[nodiscard]] Status wait(const Event& event) const;

    /// Runs `function` on a driver thread when all work so far is done. It must not call CUDA and
    /// must not throw (what it throws is logged and dropped); it doesn't run after a device error.
    [[nodiscard]] Status call_on_host(std::function<void()> function) const;

    /// Whether the stream is being captured into a graph.
    [[nodiscard]] Result<bool> is_capturing() const;

    /// For lode's own rooms.
    [[nodiscard]] detail::StreamState& state() const noexcept { return *state_; }

private:
    friend class Device;
    friend class Stream;
    StreamRef(NativeStream native, detail::StreamState& state) noexcept
        : native_(native), state_(&state) {}

    NativeStream native_;
    detail::StreamState* state_;
};

/// How to make a stream.
struct StreamOptions {
    bool blocking = false;  ///< true: ordered with the legacy default stream.
    int priority = 0;       ///< Lower is more urgent; clamped to the device's range.
};

/// Owns a stream, made by Device::create_stream. Destroying it doesn't wait: the driver frees it
/// when its work is done.
class Stream {
public:
    ~Stream();
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    [[nodiscard]] StreamRef ref() const noexcept { return {handle_.get(), *state_}; }
    operator StreamRef() const noexcept { return ref(); }  // NOLINT(google-explicit-constructor)
    [[nodiscard]] NativeStream native() const noexcept { return handle_.get(); }

    [[nodiscard]] Status sync() const { return ref().sync(); }

    /// Gives the native stream up to the caller.
    [[nodiscard]] NativeStream release() && noexcept { return handle_.release(); }

private:
    friend class Device;
    Stream(UniqueHandle<detail::StreamTraits> handle,
           std::unique_ptr<detail::StreamState> state) noexcept;

    UniqueHandle<detail::StreamTraits> handle_;  // Outlives state_: it keeps the device.
    std::unique_ptr<detail::StreamState> state_;
};

/// How to make an event.
struct EventOptions {
    bool timing = true;          ///< false: order only, cheaper.
    bool blocking_sync = false;  ///< true: sync() yields the processor instead of spinning.
};

/// Owns an event, made by Device::create_event.
class Event {
public:
    [[nodiscard]] NativeEvent native() const noexcept { return handle_.get(); }

    /// Marks this point of the stream. The stream must belong to the event's device.
    [[nodiscard]] Status record(StreamRef stream) const;
    /// Blocks until the recorded point is reached; at once if nothing was recorded.
    [[nodiscard]] Status sync() const;
    /// Whether the recorded point is reached.
    [[nodiscard]] Result<bool> is_done() const;
    /// Milliseconds from `start` to this event, on the device's clock (about 0.5 µs resolution,
    /// Best Practices Guide 8.1.2). not_ready until both are reached.
    [[nodiscard]] Result<float> elapsed_ms_since(const Event& start) const;

    [[nodiscard]] NativeEvent release() && noexcept { return handle_.release(); }

private:
    friend class Device;
    explicit Event(UniqueHandle<detail::EventTraits> handle) noexcept
        : handle_(std::move(handle)) {}
    UniqueHandle<detail::EventTraits> handle_;
};

}  // namespace lode
