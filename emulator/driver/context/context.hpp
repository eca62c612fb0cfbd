// Contexts: primary and created ones, and the objects that they own.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context/green_context.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

namespace lode::emulator::driver {

struct Device;

// Stream priorities; lower numbers are more urgent.
inline constexpr int least_priority = 0;
inline constexpr int greatest_priority = -5;

/// A context of one device. A primary context's object exists as long as its device; it is opened
/// and ended according to its references. Thread-safe.
class Context : public Handled, public std::enable_shared_from_this<Context> {
public:
    Context(Device& device, int id, bool primary) noexcept
        : device_(device), id_(id), primary_(primary) {}

    [[nodiscard]] Device& device() const noexcept { return device_; }
    /// The owner tag of the context's memory; unique in the process, and another one each time that
    /// the context is opened.
    [[nodiscard]] int id() const noexcept { return id_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_primary() const noexcept { return primary_; }

    void open();
    /// Refuses further work, waits for all of it, frees everything that remains and logs each
    /// object as a leak.
    void end();
    [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

    /// CUDA_SUCCESS, or the error of the context's work.
    [[nodiscard]] CUresult error() const noexcept {
        return static_cast<CUresult>(error_.load(std::memory_order_acquire) & ~passing);
    }
    /// Sets a sticky error: all later work is skipped and all later calls return the error.
    void fail(CUresult code) noexcept;
    /// Sets an error that doesn't corrupt the context. It acts like fail() until a waiting call
    /// reports it.
    void fail_once(CUresult code) noexcept;
    /// Returns error() for a waiting call and clears it if it came from fail_once().
    CUresult settle() noexcept;

    /// Creates a stream, which the context knows until it is closed and idle. Throws StreamClosed
    /// if the context isn't open.
    std::shared_ptr<Stream> create_stream(Stream::Kind kind, int priority);
    /// The stream that a null handle means.
    std::shared_ptr<Stream> default_stream(DefaultStream which);

    /// Submits work in the order of the stream and, for blocking streams, of the legacy stream.
    Point submit(Stream& stream, Stream::Work work, std::vector<Point> after = {},
                 Stream::Runner runner = Stream::Runner::thread);
    /// Submits work that is skipped if the context has an error.
    Point submit_checked(Stream& stream, Stream::Work work,
                         Stream::Runner runner = Stream::Runner::thread);
    /// Submits such work, waits for it and returns the context's error. `host_knows`: whether the
    /// driver promises that the call waits, for the check of order.
    CUresult run(Stream& stream, Stream::Work work, bool host_knows = true);
    /// Waits for every stream of the context.
    void drain();

    std::atomic<unsigned> flags{0};
    std::atomic<int> attached{1};  ///< By its creation and cuCtxAttach, less cuCtxDetach.
    std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

    [[nodiscard]] static bool has_limit(CUlimit which) noexcept;
    /// The value of a supported limit, clamped as by the driver.
    [[nodiscard]] std::size_t limit(CUlimit which) const noexcept;
    CUresult set_limit(CUlimit which, std::size_t value) noexcept;

    /// False if access to the peer is already in the requested state.
    bool enable_peer(const Context& peer);
    bool disable_peer(const Context& peer);

private:
    /// The points that work on `stream` must wait for in addition to the stream's own order.
    std::vector<Point> order_locked(const Stream& stream);
    void reset_limits() noexcept;

    Device& device_;
    std::atomic<int> id_;
    const bool primary_;
    std::atomic<bool> open_{false};
    bool was_opened_ = false;  ///< Guarded by streams_mutex_.
    static constexpr int passing = 1 << 30;
    std::atomic<int> error_{CUDA_SUCCESS};  ///< A code; `passing` marks fail_once().
    std::array<std::atomic<std::size_t>, CU_LIMIT_MAX> limits_{};

    std::mutex streams_mutex_;  ///< Held while the order between streams is determined.
    std::vector<std::shared_ptr<Stream>> streams_;
    /// The ends of streams that are gone, for the check of order: the legacy stream's work comes
    /// after those of blocking ones.
    std::vector<std::pair<Stream::Kind, Point>> retired_;
    std::shared_ptr<Stream> legacy_;
    std::set<int> peers_;  ///< Context IDs; guarded by streams_mutex_.
};

/// The calling thread's stack of current contexts.
namespace current {

/// nullptr when the stack is empty.
Context* top();
/// The top; without a context when the stack is empty.
ContextUse use();
void push(ContextUse use);
/// Without a context when the stack is empty.
ContextUse pop();
/// Replaces the top; without a context pops.
void set(ContextUse use);

/// Returns the current context; INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED after its end.
CUresult open_context(Context*& context);

/// The calling thread's default stream in a context.
std::shared_ptr<Stream> thread_stream(Context& context);

}  // namespace current

}  // namespace lode::emulator::driver
