// Targets: those that --arch names, and the one that the arch ladder chooses without it.
#pragma once

#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/jit/target.hpp>
#include <lode/runtime/device.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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
    Source::Language language = Source::Language::cuda;
    int driver_version = 0;
};

/// Opens the driver for the visible device. Without one, the request is for lode's software device,
/// and a warning says so. Errors are usage errors.
[[nodiscard]] Result<TargetRequest> read_target(const TargetFlags& flags,
                                                Source::Language language = Source::Language::cuda);

/// parse_arch_list(), with the architecture of each visible device in place of "native". Errors are
/// usage errors.
[[nodiscard]] Result<ArchList> read_arch_list(std::span<const std::string> names,
                                              Source::Language language = Source::Language::cuda);

/// An architecture that may still have to be chosen, which needs the compiler.
using ArchChoice = std::function<Result<Arch>()>;

/// The value of an --arch that takes one: parse_arch(), or the architecture of the first visible
/// device for "native"; for an empty text choose_for() of read_target(). Errors are usage errors.
[[nodiscard]] Result<ArchChoice> read_arch(std::string_view text,
                                           Source::Language language = Source::Language::cuda);

/// Climbs the ladder with the language's compiler and nvJitLink; honours LODE_FORCE_PTX. Errors:
/// those of finding the compiler and of choose_target().
[[nodiscard]] Result<Target> choose_for(const TargetRequest& request);

/// {"arch", "route", "steps"}
Json to_json(const Target& target);

/// The decision as text, one line per step.
std::string to_text(const Target& target);

}  // namespace lode::tool
