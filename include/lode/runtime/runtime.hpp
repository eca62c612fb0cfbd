/// \file
/// Runtime: the façade. Finds the driver and the compiler, and opens devices.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/log.hpp>
#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/driver.hpp>

#include <memory>
#include <optional>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// How to open a Runtime; by default everything is found automatically.
struct RuntimeOptions {
    /// Open lode's software device if there is no driver, or none with a device, and none is named.
    /// The same as `driver.emulator_fallback`.
    bool emulator_fallback = false;
    DriverSearch driver = {};      ///< Where to look for the driver.
    CompilerSearch compiler = {};  ///< Where to look for NVRTC.
    /// The cache's options; CacheOptions::from_environment() when unset.
    std::optional<CacheOptions> cache = std::nullopt;
    Log log = {};  ///< For the driver, the compiler and the cache, unless they have their own.
    /// Wait after every launch and report its error there. Slow; for finding the kernel that fails.
    /// LODE_SYNC_LAUNCHES=1 does the same.
    bool sync_launches = false;
};

namespace detail {
struct RuntimeState;
}

/// Driver, compiler and devices of one process. Copies share them; every object made from them
/// keeps alive what it needs. Thread-safe.
class Runtime {
public:
    /// Opens the driver. NVRTC is opened by the first compilation that isn't in the cache.
    ///
    /// A driver without devices can be opened; device() then fails with no_device.
    /// Errors: those of Driver::open() and CacheOptions::from_environment(); invalid_argument for
    /// an environment variable with an invalid value.
    [[nodiscard]] static Result<Runtime> open(const RuntimeOptions& options = {});

    /// The same with a driver that is already open; `options.driver` is ignored.
    [[nodiscard]] static Result<Runtime> with_driver(Driver driver,
                                                     const RuntimeOptions& options = {});

    /// The number of devices that the driver reports (after CUDA_VISIBLE_DEVICES).
    [[nodiscard]] int device_count() const noexcept;

    /// A device by ordinal, in the driver's order (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER). While
    /// a device is in use, every call with its ordinal returns the same shared device, unless other
    /// code of the process has reset it: then it is opened again.
    /// Errors: no_device; not_found with the valid range; device_unavailable (compute mode).
    [[nodiscard]] Result<Device> device(int ordinal = 0) const;

    /// All devices except those that are device_unavailable; empty if the driver reports none.
    [[nodiscard]] Result<std::vector<Device>> devices() const;

    /// Prepares for a checkpoint of the process (CRIU, cuCheckpointProcessLock()): waits for the
    /// devices' work and the requests under way, writes and sends what is queued, and ends the
    /// workers and lode's threads, files and connections. Kernels, memory, streams and what the
    /// cache has in memory stay.
    ///
    /// Until resume(), whatever needs the compiler or the cache waits, on every thread, also
    /// load_async(). Launches and other calls of the driver don't: the driver's lock holds them.
    /// Other runtimes and compilers have to be quiesced too. Errors: those of Device::sync(), after
    /// which the runtime isn't quiesced; invalid_argument in a function that a request calls.
    [[nodiscard]] Status quiesce() const;
    /// Ends quiesce(), before or after a restore: what waits continues, and starts what it needs.
    /// Does nothing unless the runtime is quiesced.
    void resume() const noexcept;

    /// The driver that was opened.
    [[nodiscard]] const Driver& driver() const noexcept;
    /// The compiler with its cache; see CachedCompiler::counters() for the cache's activity.
    [[nodiscard]] const CachedCompiler& compiler() const noexcept;

private:
    explicit Runtime(std::shared_ptr<detail::RuntimeState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<detail::RuntimeState> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
