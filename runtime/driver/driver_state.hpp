// The state that every object made from a Driver shares.
#pragma once

#include "runtime/driver/driver_log.hpp"
#include "runtime/driver/emulator_search.hpp"
#include "runtime/driver/status.hpp"
#include "runtime/driver/table.hpp"

#include <lode/base/error.hpp>
#include <lode/base/log.hpp>

#include <string>
#include <string_view>

namespace LODE_NAMESPACE::detail {

/// An initialised driver. Immutable once opened.
struct DriverState {
    DriverState() = default;
    ~DriverState();
    DriverState(const DriverState&) = delete;
    DriverState& operator=(const DriverState&) = delete;

    DriverTable table;
    DriverResolver resolver;  ///< For entry points outside the table.
    std::string origin;
    Log log;
    int version = 0;
    int device_count = 0;
    TakeEmulatorReport* take_emulator_report = nullptr;  ///< Non-null for the emulator.
    SetEmulatorPrint* set_emulator_print = nullptr;      ///< The same.
    SetEmulatorLines* set_emulator_lines = nullptr;      ///< Null for an older emulator too.
    DriverLog driver_log;
    os::ProcessId opened_by = 0;  ///< Only this process may use the driver; its forks may not.

    [[nodiscard]] bool is_emulator() const noexcept { return take_emulator_report != nullptr; }

    /// Calls an entry point; an error names the entry point.
    template <class Function, class... Arguments>
    [[nodiscard]] Status call(const EntryPoint<Function>& entry, Arguments... arguments) const {
        const CUresult result = entry(arguments...);
        if (result == CUDA_SUCCESS) [[likely]]
            return success();
        return tl::unexpected<Error>(error(entry.name, result));
    }

    /// Turns a failed call into an Error, with what the driver says about it; in a forked child the
    /// code is process_forked.
    [[nodiscard]] Error error(std::string_view call, CUresult result) const;

    /// not_supported if an optional entry point is absent: "`feature` needs …".
    template <class Function>
    [[nodiscard]] Status require(const EntryPoint<Function>& entry,
                                 std::string_view feature) const {
        if (entry) [[likely]]
            return success();
        return tl::unexpected<Error>(missing(entry.name, entry.abi, feature));
    }
    /// driver_too_old for an older driver: "`feature` needs a driver for CUDA 12.8; this one is for
    /// 12.4."
    [[nodiscard]] Status require_version(int least, std::string_view feature) const;
    [[nodiscard]] Error missing(std::string_view entry, int since, std::string_view feature) const;

    /// Logs a failed destroy; silent while the process ends, and in a forked child.
    void report_destroy(std::string_view call, CUresult result) const noexcept;
};

}  // namespace LODE_NAMESPACE::detail
