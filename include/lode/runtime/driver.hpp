/// \file
/// Driver: libcuda, searched for and opened at run time.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/log.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Where to look for the CUDA driver library.
struct DriverSearch {
    /// A driver library file. If empty, LODE_DRIVER names the library; if that is unset too,
    /// libcuda.so.1 and then libcuda.so are tried.
    std::filesystem::path library = {};
    /// Open lode's software device instead: liblode_emulator.so from LODE_EMULATOR, from the
    /// program's folder or from lode's private library folder. LODE_DRIVER=emulator does the same.
    /// Ignored if `library` is set.
    bool emulator = false;
    /// Open the software device if no CUDA driver is found or the driver reports no device, and log
    /// one warning with the reason. Ignored if `library` or LODE_DRIVER names a driver, and if the
    /// software device has no device either. Nothing else selects the software device.
    bool emulator_fallback = false;
    Log log = {};  ///< Also used by the Driver later.
};

/// Finds an entry point by its unversioned name ("cuStreamCreate") and the CUDA version of its
/// signature (2000 for 2.0), as cuGetProcAddress does; nullptr if the driver lacks it.
using DriverResolver = std::function<void*(const char* name, int abi_version)>;

namespace detail {
struct DriverState;
}

/// An initialised CUDA driver. Copies share it; the library is never unloaded. Thread-safe.
///
/// A process can use several drivers: every object made from a Driver uses only that driver's entry
/// points. A driver can't be used after fork(): in the child, calls return process_forked.
class Driver {
public:
    /// The oldest supported driver: CUDA 12.0, the first with cuLibraryLoadData.
    static constexpr int minimum_version = 12000;

    /// Opens the library, resolves the entry points and calls cuInit(0).
    ///
    /// A driver that reports no device can be opened too; device_count() is 0 then.
    /// Errors: driver_missing with every place tried, also for the toolkit's stub library;
    /// driver_too_old with the missing version or entry point; the error of cuInit, with its cure,
    /// such as a library that doesn't match the kernel module (driver_failed) or a system that
    /// isn't ready (no_device).
    [[nodiscard]] static Result<Driver> open(const DriverSearch& search = {});

    /// The same with entry points from any source: tests, tracing layers, other drivers. Messages
    /// name `origin` in place of the library. The resolver is kept for resolve(); the code of the
    /// entry points must outlive every object made from the driver.
    [[nodiscard]] static Result<Driver> from_resolver(const DriverResolver& resolver,
                                                      std::string origin, Log log = {});

    /// The CUDA version that the driver supports, e.g. 13000 for 13.0.
    [[nodiscard]] int version() const noexcept;
    /// "13.0"
    [[nodiscard]] std::string version_text() const;
    /// The library in use, or the origin given to from_resolver.
    [[nodiscard]] const std::string& origin() const noexcept;
    /// Optional entry points that this driver lacks. A feature that needs one fails with
    /// not_supported and names it.
    [[nodiscard]] std::vector<std::string> missing_entry_points() const;
    /// The address of an entry point that lode doesn't wrap, to be cast to its type in
    /// cudaTypedefs.h: `resolve("cuMemcpyBatchAsync", 12080)` is a PFN_cuMemcpyBatchAsync_v12080.
    /// `name` has no version suffix; `abi_version` is the version of the signature, as for
    /// cuGetProcAddress. Stream 0 means the legacy default stream. Errors: not_found with name and
    /// version if the driver has no such entry point.
    [[nodiscard]] Result<void*> resolve(const std::string& name, int abi_version) const;
    /// The number of devices that the driver reports, after CUDA_VISIBLE_DEVICES; may be 0.
    [[nodiscard]] int device_count() const noexcept;

    /// Whether this is lode's software device. Its device names say so too.
    [[nodiscard]] bool is_emulator() const noexcept;

    /// For lode's own components, not for hosts.
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

}  // namespace LODE_NAMESPACE

LODE_API_END
