// The target that `lode compile` takes when no --arch is given, by the arch ladder.
#pragma once

#include "tools/lode/report.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/device.hpp>

#include <optional>
#include <string>

namespace lode::tool {

/// The options as they stand on the command line.
struct TargetFlags {
    std::string device;  ///< Empty: the first visible one.
    std::string suffix;  ///< Empty: none.
    std::string driver;  ///< Empty: of no known version.

    [[nodiscard]] bool any() const noexcept {
        return !device.empty() || !suffix.empty() || !driver.empty();
    }
};

/// What the ladder is asked.
struct TargetRequest {
    std::optional<ComputeCapability> device;  ///< One that isn't here.
    std::optional<Device> here;               ///< The first visible one, where no other is named.
    SuffixPolicy suffix = SuffixPolicy::none;
    int driver_version = 0;
};

/// Opens the driver for the visible device. Errors are bad usage.
[[nodiscard]] Result<TargetRequest> read_target(const TargetFlags& flags);

/// Climbs the ladder with the NVRTC and the nvJitLink that are here; honours LODE_FORCE_PTX.
/// Errors: those of finding NVRTC and of choose_target().
[[nodiscard]] Result<Target> choose_for(const TargetRequest& request);

/// {"arch", "route", "steps"}
Json to_json(const Target& target);

/// The decision for people, one line a step.
std::string to_text(const Target& target);

}  // namespace lode::tool
