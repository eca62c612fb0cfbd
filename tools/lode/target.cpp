#include "tools/lode/target.hpp"

#include "base/try.hpp"
#include "tools/lode/commands.hpp"
#include "tools/lode/options.hpp"
#include "tools/lode/output.hpp"

#include <lode/base/environment.hpp>
#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>
#include <lode/runtime/runtime.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace lode::tool {
namespace {

/// invalid_argument: the target must be named.
Error no_device(std::string_view without, const Error& error) {
    return {Errc::invalid_argument,
            fmt::format("{}, and there is no device to take it from. Pass --arch sm_90, or set "
                        "LODE_DRIVER=emulator for lode's software device.\n{}",
                        without, error.message)};
}

/// A driver with a device: without a visible one that of the software device, and a warning says
/// so. `reason` is why a device is needed.
Result<Runtime> open_devices(std::string_view reason) {
    const auto open = [&]() -> Result<Runtime> {
        LODE_TRY_ASSIGN(auto runtime, open_runtime(NoDevice::take_software_device_silently));
        LODE_TRY_ASSIGN(const auto device, runtime.device());
        if (runtime.driver().is_emulator() && !environment("LODE_DRIVER")) {
            LODE_TRY_ASSIGN(const auto target, device.target());
            warning_log().write(LogLevel::warning,
                                fmt::format("{} and no device is visible; the target is {}, that "
                                            "of lode's software device.",
                                            reason, target.arch.to_string()));
        }
        return runtime;
    };
    return open().map_error([&](const Error& error) { return no_device(reason, error); });
}

/// The first visible device, or the software device.
Result<Device> visible_device() {
    LODE_TRY_ASSIGN(const auto runtime, open_devices("No --arch is given"));
    return runtime.device();
}

/// The architecture of each visible device, or of the software device.
Result<std::vector<Arch>> native_archs(Source::Language language) {
    LODE_TRY_ASSIGN(const auto runtime, open_devices("--arch is 'native'"));
    LODE_TRY_ASSIGN(const auto devices, runtime.devices());
    std::vector<Arch> archs;
    for (const auto& device : devices) {
        LODE_TRY_ASSIGN(const auto target, device.target(SuffixPolicy::none, language));
        archs.push_back(target.arch);
    }
    return archs;
}

}  // namespace

Result<ArchList> read_arch_list(std::span<const std::string> names, Source::Language language) {
    LODE_TRY_ASSIGN(ArchList list, parse_arch_list(names));
    if (!list.native) return list;
    LODE_TRY_ASSIGN(auto archs, native_archs(language));
    archs.insert(archs.end(), list.archs.begin(), list.archs.end());
    list.archs.clear();
    for (const auto& arch : archs) {
        if (std::ranges::find(list.archs, arch) == list.archs.end()) list.archs.push_back(arch);
    }
    return list;
}

Result<ArchChoice> read_arch(std::string_view text, Source::Language language) {
    if (text.empty()) {
        LODE_TRY_ASSIGN(const auto request, read_target({}, language));
        return [request] {
            return choose_for(request).map([](const Target& target) { return target.arch; });
        };
    }
    std::optional<Arch> arch;
    if (text == native_arch) {
        LODE_TRY_ASSIGN(const auto archs, native_archs(language));
        arch = archs.front();
    } else {
        LODE_TRY_ASSIGN(arch, parse_arch("--arch", text));
    }
    return [arch]() -> Result<Arch> { return *arch; };
}

Result<TargetRequest> read_target(const TargetFlags& flags, Source::Language language) {
    TargetRequest request;
    request.language = language;
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
    if (request.here) return request.here->target(request.suffix, request.language);
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    LODE_TRY_ASSIGN(const auto compiler, Compiler().info(request.language));
    const auto linker = Linker({.driver_version = request.driver_version}).info();
    return choose_target({.device = *request.device,
                          .supported = compiler.supported,
                          .suffix = request.suffix,
                          .tools = {.compiler_version = compiler.cuda_version(),
                                    .driver_version = request.driver_version,
                                    .linker_version = linker ? linker->version : 0,
                                    .force_ptx = force_ptx,
                                    .compiler = compiler.product}});
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
