#include "base/message_text.hpp"
#include "base/shared_library.hpp"
#include "base/try.hpp"
#include "runtime/driver/driver_state.hpp"
#include "runtime/driver/emulator_search.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/driver.hpp>

#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {

DriverState::~DriverState() {
    report_destroy(table.cuLogsUnregisterCallback.name, driver_log.close());
}

Error DriverState::error(std::string_view call, CUresult result) const {
    const bool may_be_fork =
        result == CUDA_ERROR_NOT_INITIALIZED || result == CUDA_ERROR_DEINITIALIZED;
    if (const os::ProcessId here = os::process_id(); may_be_fork && here != opened_by) {
        Error error = error_of(table, call, result);
        error.code = Errc::process_forked;
        error.message = fmt::format(
            "{} fails: process {} opened CUDA and this process, {}, is a fork of it. CUDA doesn't "
            "survive fork(): open the driver after forking, or start the child with exec().",
            call, opened_by, here);
        return error;
    }
    const std::string report = emulator_report(take_emulator_report);
    const std::string said = driver_log.take(call);
    if (report.empty()) {
        Error error = error_of(table, call, result);
        if (!said.empty()) error.message += fmt::format(" The driver's log: {}.", said);
        return error;
    }
    if (report.find('\n') == std::string::npos) return error_of(table, call, result, report);
    // Findings of the software device: the message begins with the first, the error's log has all.
    const std::string_view first = first_entry(report);
    const bool is_all = first.size() == report.size();
    Error error = error_of(table, call, result,
                           is_all ? "" : "There are more findings; the log lists them all.");
    error.message = fmt::format("{}\n{}", first, error.message);
    if (!is_all) error.log = report;
    return error;
}

Status DriverState::require_version(int least, std::string_view feature) const {
    if (version >= least) return {};
    return fail(Errc::driver_too_old,
                fmt::format("{} needs a driver for CUDA {}; this one is for {}.", feature,
                            cuda_version_text(least), cuda_version_text(version)));
}

Error DriverState::missing(std::string_view entry, int since, std::string_view feature) const {
    return Error{
        Errc::not_supported,
        fmt::format("{} needs a driver for CUDA {} or newer: {} supports CUDA {} and has "
                    "no {}.",
                    feature, cuda_version_text(since), origin, cuda_version_text(version), entry)};
}

void DriverState::report_destroy(std::string_view call, CUresult result) const noexcept {
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
    if (!log.enabled()) return;
    try {
        const Error failure = error(call, result);
        if (failure.code == Errc::process_forked) return;
        log.write(LogLevel::warning, failure.message);
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory while reporting.
    }
}

}  // namespace detail

namespace {

constexpr const char* stub_advice =
    "is the CUDA toolkit's link-time stub, not a driver. Install NVIDIA's driver, and keep the "
    "toolkit's stubs folder out of LD_LIBRARY_PATH.";

bool is_emulator_wanted(const DriverSearch& search) {
    if (!search.library.empty()) return false;
    return search.emulator || environment("LODE_DRIVER") == detail::emulator_word;
}

/// For a LODE_DRIVER that can't be opened: whether it is misspelt.
Status check_driver_word() {
    const std::string words[] = {std::string(detail::emulator_word)};
    const auto value = environment("LODE_DRIVER").value_or("");
    const auto meant = closest(value, words);
    if (meant.empty()) return {};
    return fail(Errc::invalid_argument,
                fmt::format("LODE_DRIVER is '{}'; it must be a driver's library, or {}.{}", value,
                            meant, did_you_mean(meant)));
}

std::vector<LibraryPlace> places_of(const DriverSearch& search) {
    if (!search.library.empty()) return {{"asked for", search.library}};
    if (is_emulator_wanted(search)) return detail::emulator_places();
    if (const auto path = environment("LODE_DRIVER")) return {{"LODE_DRIVER", *path}};
    return {{"the loader's path", "libcuda.so.1"}, {"the loader's path", "libcuda.so"}};
}

tl::unexpected<Error> too_old(const std::string& origin, const std::string& why) {
    return fail(Errc::driver_too_old,
                fmt::format("The CUDA driver {} is too old: {} lode needs a driver for CUDA {} or "
                            "newer; update NVIDIA's driver.",
                            origin, why, cuda_version_text(Driver::minimum_version)));
}

/// Resolves through the driver's cuGetProcAddress, which picks a signature by CUDA version.
Result<DriverResolver> resolver_of(const SharedLibrary& library) {
    const std::string path = library.path().string();
    const auto get =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(library.symbol("cuGetProcAddress_v2"));
    if (get == nullptr) {
        if (library.symbol("cuInit") == nullptr) {
            return fail(Errc::driver_missing,
                        fmt::format("{} isn't a CUDA driver: it has no cuInit.", path));
        }
        return too_old(path, "it has no cuGetProcAddress_v2.");
    }
    DriverResolver resolver = [get](const char* name, int abi_version) -> void* {
        void* function = nullptr;
        CUdriverProcAddressQueryResult status{};
        const CUresult result =
            get(name, &function, abi_version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
        return result == CUDA_SUCCESS ? function : nullptr;
    };
    // The toolkit's stub returns this code from every call.
    void* init = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (get("cuInit", &init, 2000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) ==
        CUDA_ERROR_STUB_LIBRARY) {
        return fail(Errc::driver_missing, fmt::format("{} {}", path, stub_advice));
    }
    return resolver;
}

Status check_version(detail::DriverState& state) {
    if (!state.table.cuDriverGetVersion) return {};  // Reported with the other missing rows.
    LODE_TRY(state.call(state.table.cuDriverGetVersion, &state.version));
    if (state.version < Driver::minimum_version) {
        return too_old(state.origin,
                       fmt::format("it supports CUDA {}.", cuda_version_text(state.version)));
    }
    return {};
}

}  // namespace

Result<Driver> Driver::open(const DriverSearch& search) {
    DriverSearch asked = search;
    asked.emulator_fallback = false;
    auto driver = open_searched(asked);
    if (!search.emulator_fallback || !search.library.empty() || environment("LODE_DRIVER"))
        return driver;
    const bool is_missing = !driver && driver.error().code == Errc::driver_missing;
    if (!is_missing && !(driver && driver->device_count() == 0)) return driver;
    const std::string why =
        driver ? fmt::format("The CUDA driver {} reports no device", driver->origin())
               : driver.error().message.substr(0, driver.error().message.find(". "));
    auto emulator = open_searched({.emulator = true, .emulator_fallback = true, .log = search.log});
    if (!emulator && emulator.error().code != Errc::driver_missing) {
        // The emulator was found but can't start as configured: the user has to fix that.
        return tl::unexpected<Error>(
            std::move(emulator).error().in(fmt::format("opening lode's software device. {}", why)));
    }
    if (!emulator) {
        if (!driver) driver.error().message += "\n" + emulator.error().message;
        return driver;
    }
    if (emulator->device_count() == 0) return driver;
    search.log.write(LogLevel::warning,
                     fmt::format("{}; lode's software device runs kernels on the processor instead "
                                 "(LODE_DRIVER chooses the driver).",
                                 why));
    return emulator;
}

Result<Driver> Driver::open_searched(const DriverSearch& search) {
    LODE_TRY(require_dynamic_program(Errc::driver_missing, is_emulator_wanted(search)
                                                               ? "The software device"
                                                               : "A CUDA driver"));
    const LibrarySearch found = open_first(places_of(search));
    if (!found.library && is_emulator_wanted(search)) {
        return fail(
            Errc::driver_missing,
            fmt::format("lode's software device can't be found. Set LODE_EMULATOR to its library "
                        "or to the folder that holds it. Places tried:\n{}",
                        found.describe()));
    }
    if (!found.library && search.library.empty()) LODE_TRY(check_driver_word());
    if (!found.library) {
        return fail(Errc::driver_missing,
                    fmt::format("No CUDA driver library can be opened. Install NVIDIA's driver, "
                                "or set LODE_DRIVER to the library. LODE_DRIVER=emulator runs "
                                "kernels on lode's software device, without a GPU. Places "
                                "tried:\n{}",
                                found.describe()));
    }
    LODE_TRY_ASSIGN(const DriverResolver resolver, resolver_of(found.library));
    auto state = std::make_shared<detail::DriverState>();
    state->take_emulator_report = detail::emulator_report_of(found.library);
    state->set_emulator_print = detail::emulator_print_of(found.library);
    state->set_emulator_lines = detail::emulator_lines_of(found.library);
    // Both: it stands in for GPUs, which CUDA_VISIBLE_DEVICES may hide.
    if (search.emulator && search.emulator_fallback) detail::show_all_of_emulator(found.library);
    if (state->is_emulator()) detail::forward_emulator_log(found.library, state);
    return start(std::move(state), resolver, found.library.path().string(), search.log);
}

Result<Driver> Driver::from_resolver(const DriverResolver& resolver, std::string origin, Log log) {
    return start(std::make_shared<detail::DriverState>(), resolver, std::move(origin),
                 std::move(log));
}

Result<Driver> Driver::start(std::shared_ptr<detail::DriverState> state,
                             const DriverResolver& resolver, std::string origin, Log log) {
    state->origin = std::move(origin);
    state->log = std::move(log);
    state->opened_by = os::process_id();
    state->table.resolve(resolver);
    state->resolver = resolver;
    LODE_TRY(check_version(*state));
    if (const auto missing = state->table.missing(detail::DriverTable::required);
        !missing.empty()) {
        return too_old(state->origin,
                       fmt::format("it has no {}.", listed(missing, {.separator = ", no "})));
    }

    const CUresult started = state->table.cuInit(0);
    if (started == CUDA_ERROR_NO_DEVICE) return Driver(std::move(state));  // Without devices.
    if (started == CUDA_ERROR_INVALID_VALUE && state->is_emulator()) {
        // A variable has a wrong value, which the software device names.
        if (std::string why = detail::emulator_report(state->take_emulator_report); !why.empty())
            return fail(Errc::invalid_argument, std::move(why));
    }
    if (started != CUDA_SUCCESS) {
        return tl::unexpected<Error>(state->error(state->table.cuInit.name, started)
                                         .in(fmt::format("opening the driver {}", state->origin)));
    }
    // Without the log, errors only lack the driver's own words.
    state->report_destroy(state->table.cuLogsRegisterCallback.name,
                          state->driver_log.listen(state->table));
    LODE_TRY(state->call(state->table.cuDeviceGetCount, &state->device_count));
    if (state->log.enabled()) {
        state->log.write(
            LogLevel::info,
            fmt::format("Opened the driver {} for CUDA {} with {} device(s)", state->origin,
                        cuda_version_text(state->version), state->device_count));
    }
    return Driver(std::move(state));
}

Result<void*> Driver::resolve(const std::string& name, int abi_version) const {
    if (void* const function = state_->resolver(name.c_str(), abi_version)) return function;
    return fail(Errc::not_found,
                fmt::format("The driver {} has no entry point '{}' as of CUDA {}; it supports CUDA "
                            "{}. Names have no version suffix: 'cuMemAlloc', not 'cuMemAlloc_v2'.",
                            state_->origin, name, cuda_version_text(abi_version), version_text()));
}

int Driver::version() const noexcept {
    return state_->version;
}

std::string Driver::version_text() const {
    return cuda_version_text(state_->version);
}

const std::string& Driver::origin() const noexcept {
    return state_->origin;
}

std::vector<std::string> Driver::missing_entry_points() const {
    return state_->table.missing(detail::DriverTable::optional);
}

bool Driver::is_emulator() const noexcept {
    return state_->is_emulator();
}

int Driver::device_count() const noexcept {
    return state_->device_count;
}

}  // namespace LODE_NAMESPACE
