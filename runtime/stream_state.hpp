// What lode remembers about a stream: its device and its last launch, the suspect of later errors.
#pragma once

#include <lode/runtime/launch.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>

namespace lode::detail {

struct DeviceState;

/// Lives as long as the Stream, or for adopted and default streams as long as the device's state.
struct StreamState {
    explicit StreamState(DeviceState& owner);
    ~StreamState();
    StreamState(const StreamState&) = delete;
    StreamState& operator=(const StreamState&) = delete;

    DeviceState* const device;

    /// Leaves the breadcrumb. `kernel` must be interned in the device's state. Concurrent launches
    /// on one stream may mix their shapes: this names a suspect, not a culprit.
    void remember(const std::string* kernel, const LaunchShape& shape) noexcept {
        const auto words = std::bit_cast<Words>(Extents{shape.grid, shape.block});
        for (std::size_t i = 0; i < words.size(); ++i)
            last_shape_[i].store(words[i], std::memory_order_relaxed);
        last_kernel_.store(kernel, std::memory_order_relaxed);
    }

    /// "'saxpy' with grid (4, 1, 1) and block (256, 1, 1)"; empty before the first launch.
    [[nodiscard]] std::string last_launch() const;

private:
    struct Extents {
        Dim3 grid;
        Dim3 block;
    };
    using Words = std::array<std::uint64_t, sizeof(Extents) / sizeof(std::uint64_t)>;

    std::atomic<const std::string*> last_kernel_{nullptr};
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> last_shape_{};
};

}  // namespace lode::detail
