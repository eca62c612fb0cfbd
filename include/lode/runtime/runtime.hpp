// Runtime: the façade. Finds driver and compiler by itself and hands out devices.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/driver.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace lode {

/// How to open a Runtime; the defaults find everything by themselves.
struct RuntimeOptions {
    DriverSearch driver = {};
    CompilerSearch compiler = {};
    /// Where compiled code is kept; CacheOptions::from_environment() when unset.
    std::optional<CacheOptions> cache = std::nullopt;
    Log log = {};  ///< Used for driver, compiler and cache too where theirs is unset.
    /// Wait after every launch and report its error there: slow, for finding the culprit.
    /// Also switched on by LODE_SYNC_LAUNCHES=1.
    bool sync_launches = false;
};

namespace detail {
struct RuntimeState;
}

/// Driver, compiler and devices of one process. Copies share them. Thread-safe.
class Runtime {
public:
    /// Opens the driver; NVRTC is opened by the first compilation that the cache can't spare.
    /// Errors: those of Driver::open and CacheOptions::from_environment; invalid_argument for a
    /// variable of the environment table that holds none of what it may. A driver without devices
    /// opens; device() then says no_device.
    [[nodiscard]] static Result<Runtime> open(const RuntimeOptions& options = {});

    /// The same on a driver that is already open.
    [[nodiscard]] static Result<Runtime> with_driver(Driver driver,
                                                     const RuntimeOptions& options = {});

    /// Devices visible to the driver, in its order (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER).
    [[nodiscard]] int device_count() const noexcept;

    /// A device by ordinal. Every call with one ordinal gives the same shared device.
    /// Errors: no_device, not_found (with the valid range), device_unavailable (compute mode).
    [[nodiscard]] Result<Device> device(int ordinal = 0) const;

    /// All usable devices.
    [[nodiscard]] Result<std::vector<Device>> devices() const;

    [[nodiscard]] const Driver& driver() const noexcept;
    /// The compiler behind its cache; CachedCompiler::counters() tells what the cache did.
    [[nodiscard]] const CachedCompiler& compiler() const noexcept;

private:
    explicit Runtime(std::shared_ptr<detail::RuntimeState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<detail::RuntimeState> state_;
};

}  // namespace lode
