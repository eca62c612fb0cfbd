// A stream's device and last launch. The last launch is the suspect of later errors.
#pragma once

#include <lode/runtime/launch.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace lode::detail {

struct DeviceState;

/// Lives as long as the Stream; for adopted and default streams, as long as the device's state.
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
    /// the default and the empty stream, for a lost device, and if every launch waits. The hot path
    /// thus tests all of these, and a stream of another device, in one comparison.
    std::atomic<const DeviceState*> plain_device;

    /// Records the last launch. `kernel` must be interned in the device's state. Concurrent
    /// launches on one stream may mix their shapes: the record names a suspect, not a culprit.
    void remember(const std::string* kernel, const LaunchShape& shape) noexcept {
        const auto word = [&](std::size_t index) {
            std::uint64_t value;
            std::memcpy(&value, reinterpret_cast<const std::byte*>(&shape) + index * sizeof(value),
                        sizeof(value));
            return value;
        };
        last_extents_[0].store(word(0), std::memory_order_relaxed);
        last_extents_[1].store(word(1), std::memory_order_relaxed);
        last_extents_[2].store(word(2), std::memory_order_relaxed);
        last_kernel_.store(kernel, std::memory_order_relaxed);
    }

    /// "'saxpy' with grid (4, 1, 1) and block (256, 1, 1)"; empty before the first launch.
    [[nodiscard]] std::string last_launch() const;

private:
    /// Grid and block, as laid out at the start of a LaunchShape: three stores instead of six.
    struct Extents {
        Dim3 grid;
        Dim3 block;
    };
    using Words = std::array<std::uint64_t, sizeof(Extents) / sizeof(std::uint64_t)>;
    static_assert(offsetof(LaunchShape, grid) == offsetof(Extents, grid) &&
                  offsetof(LaunchShape, block) == offsetof(Extents, block));

    std::atomic<const std::string*> last_kernel_{nullptr};
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> last_extents_{};
};

/// The state that all empty streams share.
[[nodiscard]] StreamState& empty_stream_state() noexcept;

}  // namespace lode::detail
