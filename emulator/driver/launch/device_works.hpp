// DeviceWorks: what a running grid has launched, and its answers to the device runtime's queries.
#pragma once

#include "emulator/driver/launch/queued_launch.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <deque>
#include <memory>
#include <mutex>

namespace lode::emulator::driver {

/// A grid, or a copy or fill.
struct DeviceWork {
    std::shared_ptr<const QueuedLaunch> grid;  ///< Null for the others.
    Stream::Work other;
    int depth = 0;  ///< 0: a launch of the host.
};

/// The driver's side of the device runtime, for one grid.
class DeviceWorks final : public exec::DeviceRuntime {
public:
    /// `pending` is the number of works of the grid's ancestors and their children that wait.
    DeviceWorks(const QueuedLaunch& grid, int depth, std::size_t pending) noexcept
        : grid_(grid), depth_(depth), pending_(pending) {}

    /// Puts what the grid has queued in front of others: its tails after the rest.
    void move_to(std::deque<DeviceWork>& works);

    exec::DeviceError check(std::string_view kernel, const exec::GridShape& shape) override;
    exec::DeviceError launch(std::string_view kernel, const exec::GridShape& shape,
                             std::vector<std::byte> parameters, bool is_tail) override;
    exec::DeviceError copy(exec::Rows to, exec::Rows from, std::uint64_t width,
                           std::uint64_t height, bool is_tail) override;
    exec::DeviceError fill(exec::Rows to, std::uint8_t value, std::uint64_t width,
                           std::uint64_t height, bool is_tail) override;
    exec::DeviceError limit(std::uint32_t which, std::uint64_t& value) override;
    exec::DeviceError attribute(std::uint32_t which, int device, int& value) override;
    exec::DeviceError occupancy(std::string_view kernel, int threads, std::uint64_t shared,
                                int& blocks) override;
    exec::DeviceError attributes(std::string_view kernel, std::vector<std::byte>& bytes) override;
    int cache_config() override;
    int device() override;
    int device_count() override;
    int version() override;
    std::string error_text(int error, bool is_name) override;

private:
    exec::DeviceError function(std::string_view kernel, std::shared_ptr<Function>& function) const;
    exec::DeviceError add(DeviceWork work, bool is_tail);

    const QueuedLaunch& grid_;
    const int depth_;
    const std::size_t pending_;
    std::mutex mutex_;
    std::deque<DeviceWork> works_, tails_;
};

}  // namespace lode::emulator::driver
