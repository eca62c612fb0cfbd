// Target: which architecture to compile for, as a pure function with reasons.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// Which suffix a kernel asks for where the device has one.
enum class SuffixPolicy : std::uint8_t {
    none,      ///< Plain targets only: the most portable choice, and the default.
    specific,  ///< Prefer "a", for code that uses wgmma, tcgen05 and the like.
    family,    ///< Prefer "f".
};

/// One step of the decision, taken or refused.
struct TargetStep {
    std::string rung;  ///< e.g. "sm_90a" or "PTX compute_120".
    bool taken = false;
    std::string reason;
};

/// The chosen architecture and how it came about.
struct Target {
    Arch arch;
    std::vector<TargetStep> steps;

    /// One line per step.
    [[nodiscard]] std::string describe() const;
};

/// Chooses the architecture to compile for.
///
/// In order: the suffixed target the policy asks for; the device's own sm; the newest lower sm of
/// the same major that runs on the device; the newest PTX target not above the device. `supported`
/// is what the compiler reports (nvrtcGetSupportedArchs), in any order.
/// Errors: unsupported_arch, naming the device, the list and every refused step.
[[nodiscard]] Result<Target> choose_target(ComputeCapability device,
                                           std::span<const ComputeCapability> supported,
                                           SuffixPolicy policy = SuffixPolicy::none);

}  // namespace lode
