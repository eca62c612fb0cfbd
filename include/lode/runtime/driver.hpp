// Driver: libcuda found at run time, its entry points resolved by version.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// Where to look for the CUDA driver library.
struct DriverSearch {
    /// A driver library file; LODE_DRIVER when empty; libcuda.so.1, then libcuda.so otherwise.
    std::filesystem::path library = {};
    /// Open lode's software device instead: liblode_emulator.so from LODE_EMULATOR, beside the
    /// program or in lode's private library folder. LODE_DRIVER=emulator asks for the same.
    bool emulator = false;
    /// Open it where no CUDA driver is found or the driver shows no device, with one warning to the
    /// log that says why. Not where `library` or LODE_DRIVER names a driver, and not where it has
    /// no device either. Nothing else ever selects it.
    bool emulator_fallback = false;
    Log log = {};
};

/// Finds an entry point by its unversioned name ("cuStreamCreate") and the CUDA version of its
/// signature (2000 for 2.0); nullptr when the driver hasn't it.
using DriverResolver = std::function<void*(const char* name, int abi_version)>;

namespace detail {
struct DriverState;
}

/// An initialised CUDA driver. Copies share it; it is never unloaded. Thread-safe.
///
/// Several drivers can live in one process: every object made from a Driver uses that driver's
/// entry points only.
class Driver {
public:
    /// The oldest driver that lode runs on: CUDA 12.0, the first with cuLibraryLoadData.
    static constexpr int minimum_version = 12000;

    /// Opens the library, resolves the entry points and calls cuInit(0).
    /// A driver that shows no device opens too: device_count() is 0 then.
    /// Errors: driver_missing (with every place tried), driver_too_old (naming the version or the
    /// entry point that is missing), and what cuInit says: a stub library, a driver library that
    /// doesn't match the kernel module, a system that isn't ready, each with its cure.
    [[nodiscard]] static Result<Driver> open(const DriverSearch& search = {});

    /// The same with entry points from anywhere: tests, tracing layers, other drivers.
    /// `origin` stands in for the path in messages.
    [[nodiscard]] static Result<Driver> from_resolver(const DriverResolver& resolver,
                                                      std::string origin, Log log = {});

    /// The CUDA version that the driver supports, e.g. 13000 for 13.0.
    [[nodiscard]] int version() const noexcept;
    /// "13.0"
    [[nodiscard]] std::string version_text() const;
    /// The library in use, or the origin given to from_resolver.
    [[nodiscard]] const std::string& origin() const noexcept;
    /// Optional entry points that this driver lacks; a feature that needs one says so when used.
    [[nodiscard]] std::vector<std::string> missing_entry_points() const;
    /// The number of devices it shows (after CUDA_VISIBLE_DEVICES); 0 is an ordinary answer.
    [[nodiscard]] int device_count() const noexcept;

    /// Whether this is lode's software device. Its device names say so too.
    [[nodiscard]] bool is_emulator() const noexcept;

    /// For lode's own rooms.
    [[nodiscard]] const std::shared_ptr<const detail::DriverState>& state() const noexcept {
        return state_;
    }

private:
    [[nodiscard]] static Result<Driver> open_searched(const DriverSearch& search);
    [[nodiscard]] static Result<Driver> start(std::shared_ptr<detail::DriverState> state,
                                              const DriverResolver& resolver, std::string origin,
                                              Log log);
    explicit Driver(std::shared_ptr<const detail::DriverState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<const detail::DriverState> state_;
};

}  // namespace lode
