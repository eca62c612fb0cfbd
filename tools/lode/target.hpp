// The target that `lode compile` uses if no --arch is given, by the arch ladder.
#pragma once

#include "tools/lode/report.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/device.hpp>

#include <optional>
#include <string>

namespace lode::tool {

/// The options as given on the command line.
struct TargetFlags {
    std::string device;  ///< Empty: the first visible one.
    std::string suffix;  ///< Empty: none.
    std::string driver;  ///< Empty: unknown version.

    [[nodiscard]] bool any() const noexcept {
        return !device.empty() || !suffix.empty() || !driver.empty();
    }
};

/// The inputs of the ladder.
struct TargetRequest {
    std::optional<ComputeCapability> device;  ///< Given by --for.
    std::optional<Device> here;               ///< The first visible one, unless `device` is set.
    SuffixPolicy suffix = SuffixPolicy::none;
    int driver_version = 0;
};

/// Opens the driver for the visible device. Errors are usage errors.
[[nodiscard]] Result<TargetRequest> read_target(const TargetFlags& flags);

/// Climbs the ladder with the installed NVRTC and nvJitLink; honours LODE_FORCE_PTX. Errors: those
/// of finding NVRTC and of choose_target().
[[nodiscard]] Result<Target> choose_for(const TargetRequest& request);

/// {"arch", "route", "steps"}
Json to_json(const Target& target);

/// The decision as text, one line per step.
std::string to_text(const Target& target);

}  // namespace lode::tool
