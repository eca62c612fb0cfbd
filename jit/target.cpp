#include <lode/jit/target.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lode {
namespace {

ArchSuffix suffix_of(SuffixPolicy policy) noexcept {
    switch (policy) {
        case SuffixPolicy::none:
            return ArchSuffix::none;
        case SuffixPolicy::specific:
            return ArchSuffix::specific;
        case SuffixPolicy::family:
            return ArchSuffix::family;
    }
    return ArchSuffix::none;
}

std::string list(std::span<const ComputeCapability> capabilities) {
    std::vector<ComputeCapability> sorted(capabilities.begin(), capabilities.end());
    std::ranges::sort(sorted);
    std::vector<std::string> names;
    for (const auto cc : sorted)
        names.push_back(Arch(cc).to_string());
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The newest entry of `supported` for which `eligible` holds.
template <class Eligible>
std::optional<ComputeCapability> newest(std::span<const ComputeCapability> supported,
                                        Eligible eligible) {
    std::optional<ComputeCapability> best;
    for (const auto cc : supported) {
        if (eligible(cc) && (!best || cc > *best)) best = cc;
    }
    return best;
}

/// The decision as it unfolds.
class Ladder {
public:
    Target take(Arch arch, std::string rung, std::string reason) {
        steps_.push_back({std::move(rung), true, std::move(reason)});
        return Target{arch, std::move(steps_)};
    }
    void refuse(std::string rung, std::string reason) {
        steps_.push_back({std::move(rung), false, std::move(reason)});
    }
    [[nodiscard]] std::string describe() const { return Target{{}, steps_}.describe(); }

private:
    std::vector<TargetStep> steps_;
};

}  // namespace

std::string Target::describe() const {
    std::string text;
    for (const auto& step : steps) {
        text += fmt::format("{}  {} {}: {}", text.empty() ? "" : "\n",
                            step.taken ? "takes" : "refuses", step.rung, step.reason);
    }
    return text;
}

Result<Target> choose_target(ComputeCapability device, std::span<const ComputeCapability> supported,
                             SuffixPolicy policy) {
    Ladder ladder;
    const bool compiler_knows_device = std::ranges::find(supported, device) != supported.end();

    if (const auto suffix = suffix_of(policy); suffix != ArchSuffix::none) {
        const Arch arch(device, suffix);
        if (!suffix_exists(device, suffix)) {
            ladder.refuse(arch.to_string(),
                          "this suffix doesn't exist for the device's capability");
        } else if (!compiler_knows_device) {
            ladder.refuse(arch.to_string(), "the compiler doesn't support it");
        } else {
            return ladder.take(arch, arch.to_string(), "the kernel asks for this suffix");
        }
    }

    const Arch own(device);
    if (compiler_knows_device) {
        return ladder.take(own, own.to_string(), "it is the device's own architecture");
    }
    ladder.refuse(own.to_string(), "the compiler doesn't support it");

    if (const auto lower = newest(supported, [&](auto cc) { return Arch(cc).runs_on(device); })) {
        const Arch arch(*lower);
        return ladder.take(arch, arch.to_string(),
                           "it is the newest supported machine code that runs on the device");
    }
    ladder.refuse(fmt::format("a lower sm_{}x", device.cc_major()),
                  "the compiler supports none whose machine code runs on the device");

    if (const auto lower =
            newest(supported, [&](auto cc) { return Arch(cc).as_virtual().runs_on(device); })) {
        const Arch arch = Arch(*lower).as_virtual();
        return ladder.take(arch, "PTX " + arch.to_string(),
                           "it is the newest supported PTX not above the device");
    }
    ladder.refuse("PTX", "every target that the compiler supports is above the device");

    return fail(Errc::unsupported_arch,
                fmt::format("No target of the compiler ({}) serves a device of compute capability "
                            "{}. Use an NVRTC that supports it.\n{}",
                            list(supported), device.to_string(), ladder.describe()));
}

}  // namespace lode
