#include "base/foreign_environment.hpp"
#include "runtime/device_properties.hpp"
#include "runtime/state/device_lines.hpp"
#include "runtime/state/device_state.hpp"

#include <lode/base/environment.hpp>
#include <lode/runtime/runtime.hpp>
#include <lode/runtime/variants.hpp>

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

struct RuntimeState {
    Driver driver;
    CachedCompiler compiler;
    std::shared_ptr<DeviceLines> lines;  ///< Null unless the driver is the software device.
    bool sync_launches;

    std::mutex mutex;
    std::vector<std::weak_ptr<DeviceState>> devices;  ///< By ordinal.

    std::mutex quiescing = {};  ///< Held by quiesce() and resume().

    Result<std::shared_ptr<DeviceState>> device(int ordinal);
    /// Waits for the work on all devices.
    Status sync();
};

Status RuntimeState::sync() {
    std::vector<std::shared_ptr<DeviceState>> used;
    {
        const std::lock_guard guard(mutex);
        for (const auto& slot : devices) {
            auto known = slot.lock();
            if (known && known->retained_context() != nullptr) used.push_back(std::move(known));
        }
    }
    for (auto& device : used) {
        if (!device->notice_reset()) LODE_TRY(Device(device).sync());
    }
    return {};
}

Result<std::shared_ptr<DeviceState>> RuntimeState::device(int ordinal) {
    const std::lock_guard guard(mutex);
    auto& slot = devices[static_cast<std::size_t>(ordinal)];
    if (auto known = slot.lock(); known && !known->notice_reset()) return known;

    const auto& state = driver.state();
    LODE_TRY_ASSIGN(DeviceProperties properties, read_properties(*state, ordinal));
    if (properties.compute_mode == ComputeMode::prohibited) {
        return fail(Errc::device_unavailable,
                    fmt::format("Device {} ({}) is in compute mode 'prohibited': no process may "
                                "use it. Change it with nvidia-smi -i {} -c DEFAULT.",
                                ordinal, properties.name, ordinal));
    }
    CUdevice native{};
    LODE_TRY(state->call(state->table.cuDeviceGet, &native, ordinal));
    auto made = std::make_shared<DeviceState>(state, native, std::move(properties), compiler, lines,
                                              sync_launches);
    slot = made;
    return made;
}

}  // namespace detail

Result<Runtime> Runtime::open(const RuntimeOptions& options) {
    DriverSearch search = options.driver;
    search.emulator_fallback = search.emulator_fallback || options.emulator_fallback;
    if (!search.log.enabled()) search.log = options.log;
    LODE_TRY_ASSIGN(Driver driver, Driver::open(search));
    return with_driver(std::move(driver), options);
}

Result<Runtime> Runtime::with_driver(Driver driver, const RuntimeOptions& options) {
    LODE_TRY(check_environment());
    LODE_TRY(forced_rows(environment("LODE_FORCE_VARIANT").value_or("")).map_error([](Error e) {
        return std::move(e).in("reading LODE_FORCE_VARIANT");
    }));
    CompilerSearch search = options.compiler;
    if (!search.log.enabled()) search.log = options.log;
    CacheOptions cache;
    if (options.cache) {
        cache = *options.cache;
    } else {
        LODE_TRY_ASSIGN(cache, CacheOptions::from_environment());
    }
    if (!cache.log.enabled()) cache.log = options.log;
    const auto count = static_cast<std::size_t>(driver.device_count());
    LODE_TRY_ASSIGN(const bool sync_by_variable, environment_flag("LODE_SYNC_LAUNCHES"));
    const bool sync = options.sync_launches || sync_by_variable;
    std::shared_ptr<detail::DeviceLines> lines;
    if (driver.is_emulator())
        lines = std::make_shared<detail::DeviceLines>(search, cache, driver.state()->log);
    // NOLINTNEXTLINE(modernize-make-shared): make_shared can't create an aggregate.
    return Runtime(std::shared_ptr<detail::RuntimeState>(
        new detail::RuntimeState{std::move(driver),
                                 CachedCompiler(std::move(search), std::move(cache)),
                                 std::move(lines),
                                 sync,
                                 {},
                                 std::vector<std::weak_ptr<detail::DeviceState>>(count)}));
}

int Runtime::device_count() const noexcept {
    return state_->driver.device_count();
}

Result<Device> Runtime::device(int ordinal) const {
    const int count = device_count();
    if (count == 0) {
        const auto visible = foreign_environment("CUDA_VISIBLE_DEVICES");
        std::string cure = "Check nvidia-smi and CUDA_VISIBLE_DEVICES.";
        if (state_->driver.is_emulator()) {
            cure = visible ? fmt::format(
                                 "CUDA_VISIBLE_DEVICES is '{}'; check it and "
                                 "LODE_EMULATOR_DEVICES.",
                                 *visible)
                           : "Set LODE_EMULATOR_DEVICES to the devices that it should show.";
        }
        return fail(Errc::no_device, fmt::format("The driver {} reports no device. {}",
                                                 state_->driver.origin(), cure));
    }
    if (ordinal < 0 || ordinal >= count) {
        return fail(Errc::not_found,
                    fmt::format("Device {} doesn't exist; the driver reports devices 0 to {}.",
                                ordinal, count - 1));
    }
    return state_->device(ordinal).map([](auto state) { return Device(std::move(state)); });
}

Result<std::vector<Device>> Runtime::devices() const {
    std::vector<Device> devices;
    for (int ordinal = 0; ordinal < device_count(); ++ordinal) {
        auto one = device(ordinal);
        if (one) {
            devices.push_back(*std::move(one));
        } else if (one.error().code != Errc::device_unavailable) {
            return tl::unexpected<Error>(std::move(one).error());
        }
    }
    return devices;
}

Status Runtime::quiesce() const {
    const std::lock_guard guard(state_->quiescing);
    // Functions on streams may make requests, and requests may call functions that launch.
    LODE_TRY(state_->sync());
    LODE_TRY(state_->compiler.quiesce());
    auto quiet = state_->sync();
    // Work on the software device may need lines until it has ended.
    if (quiet && state_->lines) quiet = state_->lines->quiesce();
    if (!quiet) state_->compiler.resume();
    return quiet;
}

void Runtime::resume() const noexcept {
    const std::lock_guard guard(state_->quiescing);
    if (state_->lines) state_->lines->resume();
    state_->compiler.resume();
}

const Driver& Runtime::driver() const noexcept {
    return state_->driver;
}

const CachedCompiler& Runtime::compiler() const noexcept {
    return state_->compiler;
}

}  // namespace LODE_NAMESPACE
