// What lode remembers about a stream: its device and its last launch, the suspect of later errors.
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

/// Lives as long as the Stream, or for adopted and default streams as long as the device's state.
struct StreamState {
    enum class Kind : std::uint8_t { made, legacy_default };

    /// Of an empty stream, which no launch takes.
    constexpr StreamState() noexcept : device(nullptr), plain_device(nullptr) {}
    explicit StreamState(DeviceState& owner, Kind kind = Kind::made);
    ~StreamState();
    StreamState(const StreamState&) = delete;
    StreamState& operator=(const StreamState&) = delete;

    DeviceState* const device;  ///< Null for an empty stream.

    /// The device, while a launch on this stream needs nothing but the driver's call. Null for the
    /// default and the empty stream, for a lost device and where every launch is waited for: one
    /// comparison in the hot path stands for all of these and for a stream of another device.
    std::atomic<const DeviceState*> plain_device;

    /// Leaves the breadcrumb. `kernel` must be interned in the device's state. Concurrent launches
    /// on one stream may mix their shapes: this names a suspect, not a culprit.
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
    /// Grid and block, as they lie at the start of a LaunchShape: three words instead of six
    /// stores.
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
