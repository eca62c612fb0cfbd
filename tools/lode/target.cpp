#include "tools/lode/target.hpp"

#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/options.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/runtime/runtime.hpp>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// The first visible device; invalid_argument if there is none: then the target must be named.
Result<Device> visible_device() {
    const auto open = []() -> Result<Device> {
        LODE_TRY_ASSIGN(const auto runtime, open_runtime(NoDevice::fail));
        return runtime.device();
    };
    return open().map_error([](const Error& error) {
        return Error{Errc::invalid_argument,
                     fmt::format("No --arch is given, and there is no device to take it from. "
                                 "Pass --arch sm_90a (several separated by commas), --arch all, or "
                                 "a device's compute capability with --for 9.0.\n{}",
                                 error.message)};
    });
}

}  // namespace

Result<TargetRequest> read_target(const TargetFlags& flags) {
    TargetRequest request;
    if (!flags.suffix.empty()) {
        LODE_TRY_ASSIGN(request.suffix, parse_suffix(flags.suffix));
    }
    if (!flags.driver.empty()) {
        if (flags.device.empty()) {
            return fail(Errc::invalid_argument,
                        "--driver is for a device that isn't in this machine: name it with --for.");
        }
        LODE_TRY_ASSIGN(request.driver_version, parse_cuda_version(flags.driver));
    }
    if (!flags.device.empty()) {
        LODE_TRY_ASSIGN(request.device, parse_capability(flags.device));
    } else {
        LODE_TRY_ASSIGN(request.here, visible_device());
    }
    return request;
}

Result<Target> choose_for(const TargetRequest& request) {
    if (request.here) return request.here->target(request.suffix);
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    LODE_TRY_ASSIGN(const auto compiler, Compiler().info());
    const auto linker = Linker({.driver_version = request.driver_version}).info();
    return choose_target(
        {.device = *request.device,
         .supported = compiler.supported,
         .suffix = request.suffix,
         .tools = {.compiler_version = compiler.version_major * 1000 + compiler.version_minor * 10,
                   .driver_version = request.driver_version,
                   .linker_version = linker ? linker->version : 0,
                   .force_ptx = force_ptx}});
}

Json to_json(const Target& target) {
    Json steps = Json::array();
    for (const auto& step : target.steps)
        steps.push_back({{"rung", step.rung}, {"taken", step.taken}, {"reason", step.reason}});
    return {{"arch", target.arch.to_string()},
            {"route", to_string(target.route)},
            {"steps", std::move(steps)}};
}

std::string to_text(const Target& target) {
    return fmt::format("{} as {}\n{}\n", target.arch.to_string(), to_string(target.route),
                       target.describe());
}

}  // namespace lode::tool
