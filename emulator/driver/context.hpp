// Contexts: primary and created ones, with everything that lives and dies with them.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/stream.hpp"

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

// Stream priorities: a lower number is more urgent.
inline constexpr int least_priority = 0;
inline constexpr int greatest_priority = -5;

/// A context of one device. A primary context's object lives as long as its device and is opened
/// and ended as references come and go. Thread-safe.
class Context : public Handled, public std::enable_shared_from_this<Context> {
public:
    Context(Device& device, int id, bool primary) noexcept
        : device_(device), id_(id), primary_(primary) {}

    [[nodiscard]] Device& device() const noexcept { return device_; }
    /// Tags the context's memory; unique in the process.
    [[nodiscard]] int id() const noexcept { return id_; }
    [[nodiscard]] bool is_primary() const noexcept { return primary_; }

    void open();
    /// Waits for all work, frees everything that is left and logs each thing as a leak.
    void end();
    [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_acquire); }

    /// CUDA_SUCCESS, or the error that the context's work met.
    [[nodiscard]] CUresult error() const noexcept {
        return static_cast<CUresult>(error_.load(std::memory_order_acquire) & ~passing);
    }
    /// Makes an error stick: all later work is skipped and all later calls return it.
    void fail(CUresult code) noexcept;
    /// An error that leaves the context sound: as by fail(), until a call that waits has told it.
    void fail_once(CUresult code) noexcept;
    /// error(), told by a call that waits: one of fail_once() is over then.
    CUresult settle() noexcept;

    /// A new stream, known to the context until it is closed and idle.
    std::shared_ptr<Stream> create_stream(Stream::Kind kind, int priority);
    /// The stream behind a null handle.
    std::shared_ptr<Stream> default_stream(DefaultStream which);

    /// Submits work in the stream's order and, for blocking streams, the legacy stream's.
    std::uint64_t submit(Stream& stream, Stream::Work work, std::vector<Point> after = {},
                         Stream::Runner runner = Stream::Runner::thread);
    /// Submits work that is skipped once an error sticks.
    std::uint64_t submit_checked(Stream& stream, Stream::Work work,
                                 Stream::Runner runner = Stream::Runner::thread);
    /// The same, done when the call returns; gives the error that sticks by then.
    CUresult run(Stream& stream, Stream::Work work);
    /// Waits for every stream of the context.
    void drain();

    std::atomic<unsigned> flags{0};
    std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};

    [[nodiscard]] static bool has_limit(CUlimit which) noexcept;
    /// Of a limit that there is; what the driver clamps is clamped.
    [[nodiscard]] std::size_t limit(CUlimit which) const noexcept;
    CUresult set_limit(CUlimit which, std::size_t value) noexcept;

    /// false when access to the peer is already as asked for.
    bool enable_peer(const Context& peer);
    bool disable_peer(const Context& peer);

private:
    /// What work on `stream` must wait for beyond the stream's own order.
    std::vector<Point> order_locked(const Stream& stream);
    void reset_limits() noexcept;

    Device& device_;
    const int id_;
    const bool primary_;
    std::atomic<bool> open_{false};
    static constexpr int passing = 1 << 30;
    std::atomic<int> error_{CUDA_SUCCESS};  ///< A code, with `passing` for one of fail_once().
    std::array<std::atomic<std::size_t>, CU_LIMIT_MAX> limits_{};

    std::mutex streams_mutex_;  ///< Held while an order between streams is fixed.
    std::vector<std::shared_ptr<Stream>> streams_;
    std::shared_ptr<Stream> legacy_;
    std::set<int> peers_;  ///< Context ids; guarded by streams_mutex_ too.
};

/// The calling thread's stack of current contexts.
namespace current {

/// nullptr when the stack is empty.
Context* top();
void push(std::shared_ptr<Context> context);
/// nullptr when the stack is empty.
std::shared_ptr<Context> pop();
/// Replaces the top; nullptr pops.
void set(std::shared_ptr<Context> context);

/// CUDA_SUCCESS and the context; INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED after its end.
CUresult open_context(Context*& context);

/// The calling thread's own default stream in a context.
std::shared_ptr<Stream> thread_stream(Context& context);

}  // namespace current

}  // namespace lode::emulator::driver
