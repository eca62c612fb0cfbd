#include "base/message_text.hpp"
#include "jit/target_rules.hpp"

#include <lode/jit/target.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr int first_with_families = 12090;

std::string list(std::span<const ComputeCapability> capabilities) {
    std::vector<ComputeCapability> sorted(capabilities.begin(), capabilities.end());
    std::ranges::sort(sorted);
    std::vector<std::string> names;
    for (const auto cc : sorted)
        names.push_back(Arch(cc).to_string());
    return listed(names, arch_form);
}

/// Makes the decision step by step: each rung either gives the target or adds a refusal.
class Ladder {
public:
    explicit Ladder(const TargetInputs& inputs) : inputs_(inputs) {
        const auto ptx = ptx_version_of_cuda(inputs.tools.compiler_version);
        needs_ = ptx ? cuda_version_of_ptx(*ptx) : inputs.tools.compiler_version;
    }

    Result<Target> climb() {
        if (inputs_.tools.force_ptx) {
            refuse("machine code", "LODE_FORCE_PTX asks for PTX");
        } else {
            if (inputs_.suffix == SuffixPolicy::specific && suffixed(ArchSuffix::specific))
                return taken();
            if (inputs_.suffix != SuffixPolicy::none && suffixed(ArchSuffix::family))
                return taken();
            if (own() || lower()) return taken();
        }
        if (ptx() || doubtful()) return taken();
        return failure();
    }

private:
    Target taken() { return std::move(target_); }

    bool take(Arch arch, CodeRoute route, std::string rung, std::string reason) {
        target_.steps.push_back({std::move(rung), true, std::move(reason)});
        target_.arch = arch;
        target_.route = route;
        return true;
    }
    bool refuse(std::string rung, std::string reason) {
        target_.steps.push_back({std::move(rung), false, std::move(reason)});
        return false;
    }

    [[nodiscard]] bool compiler_knows_device() const {
        return std::ranges::find(inputs_.supported, inputs_.device) != inputs_.supported.end();
    }

    /// The newest supported capability whose target, as made by `make`, runs on the device.
    template <class Make>
    [[nodiscard]] std::optional<Arch> newest(Make make) const {
        std::optional<Arch> best;
        for (const auto cc : inputs_.supported) {
            const Arch arch = make(cc);
            if (suffix_exists(cc, arch.suffix()) && arch.runs_on(inputs_.device) &&
                (!best || cc > best->cc()))
                best = arch;
        }
        return best;
    }

    bool machine_code(const Arch& arch, std::string reason) {
        if (auto why = target_rules::refuses_cubin(inputs_.tools.compiler_version, inputs_.tools))
            return refuse(arch.to_string(), *std::move(why));
        return take(arch, CodeRoute::machine_code, arch.to_string(), std::move(reason));
    }

    bool suffixed(ArchSuffix suffix) {
        const Arch wanted(inputs_.device, suffix);
        if (!suffix_exists(inputs_.device, suffix))
            return refuse(wanted.to_string(), "this suffix doesn't exist for the device");
        if (suffix == ArchSuffix::family && inputs_.tools.compiler_version != 0 &&
            inputs_.tools.compiler_version < first_with_families)
            return refuse(wanted.to_string(), "family targets exist only since CUDA 12.9");
        const auto arch = newest([&](auto cc) { return Arch(cc, suffix); });
        if (!arch) return refuse(wanted.to_string(), "the compiler doesn't support it");
        return machine_code(*arch, suffix == ArchSuffix::specific
                                       ? "the kernel asks for every feature of this very device"
                                       : "the kernel asks for the features of the device's family");
    }

    /// Why the compiler doesn't support the device's own target, with the releases that do.
    [[nodiscard]] std::string unsupported() const {
        std::string reason = "the compiler doesn't support it";
        const int version = inputs_.tools.compiler_version;
        const auto range = toolkits_for(inputs_.device);
        if (!range || version == 0) return reason;
        if (version < range->first)
            reason += "; CUDA " + cuda_version_text(range->first) + " is the first that does";
        if (range->last != 0 && version > range->last)
            reason += "; CUDA " + cuda_version_text(range->last) + " was the last that did";
        return reason;
    }

    bool own() {
        const Arch arch(inputs_.device);
        if (!compiler_knows_device()) return refuse(arch.to_string(), unsupported());
        return machine_code(arch, "it is the device's own architecture");
    }

    bool lower() {
        if (compiler_knows_device()) return false;  // Refused above; that reason holds here too.
        const auto arch = newest([](auto cc) { return Arch(cc); });
        if (!arch) {
            return refuse(fmt::format("a lower sm_{}x", inputs_.device.cc_major()),
                          "the compiler supports none whose machine code runs on the device");
        }
        if (target_rules::is_doubtful(*arch, inputs_.device)) {
            doubtful_ = *arch;
            return refuse(arch->to_string(), "12.1 devices have been seen to refuse it");
        }
        return machine_code(*arch,
                            "it is the newest supported machine code that runs on the device");
    }

    [[nodiscard]] std::optional<Arch> ptx_target() const {
        if (inputs_.suffix != SuffixPolicy::none && compiler_knows_device()) {
            const auto suffix = inputs_.suffix == SuffixPolicy::specific ? ArchSuffix::specific
                                                                         : ArchSuffix::family;
            if (suffix_exists(inputs_.device, suffix))
                return Arch(inputs_.device, suffix).as_virtual();
        }
        return newest([](auto cc) { return Arch(cc).as_virtual(); });
    }

    bool ptx() {
        const auto arch = ptx_target();
        if (!arch)
            return refuse("PTX", "every target that the compiler supports is above the device");
        const std::string rung = "PTX " + arch->to_string();
        const auto refusal = target_rules::refuses_ptx(needs_, inputs_.tools);
        if (!refusal) {
            return take(*arch, CodeRoute::driver_jit, rung,
                        "it is the newest supported PTX not above the device");
        }
        ptx_refused_ = true;
        refuse(rung, *refusal);
        const std::string linked = rung + " through nvJitLink";
        if (auto why = target_rules::refuses_link(needs_, inputs_.device, inputs_.tools))
            return refuse(linked, *std::move(why));
        return take(*arch, CodeRoute::linked, linked,
                    "nvJitLink makes machine code of the PTX that the driver refuses");
    }

    bool doubtful() {
        if (!doubtful_) return false;
        return machine_code(*doubtful_, "nothing better is left; it may fail to load");
    }

    tl::unexpected<Error> failure() {
        const auto& tools = inputs_.tools;
        std::string compiler = "the compiler";
        if (tools.compiler_version != 0) {
            const auto ptx = ptx_version_of_cuda(tools.compiler_version);
            compiler = fmt::format(
                "{} {} (PTX ISA {})", tools.compiler, cuda_version_text(tools.compiler_version),
                ptx ? fmt::format("{}.{}", ptx->version_major, ptx->version_minor) : "unknown");
        }
        return fail(Errc::unsupported_arch,
                    fmt::format("No target of {} ({}) serves a device of compute capability {} "
                                "with {}. {}\n{}",
                                compiler, list(inputs_.supported), inputs_.device.to_string(),
                                target_rules::driver_text(tools), cure(), target_.describe()));
    }

    [[nodiscard]] std::string cure() const {
        if (ptx_refused_ && inputs_.tools.driver_version != 0)
            return target_rules::cure_for_ptx(needs_, inputs_.tools);
        const auto range = toolkits_for(inputs_.device);
        const std::string other =
            (inputs_.tools.compiler == "NVRTC" ? "Use an " : "Use a ") + inputs_.tools.compiler;
        if (!range) return other + " that supports it.";
        if (range->last == 0)
            return fmt::format("{} of CUDA {} or newer.", other, cuda_version_text(range->first));
        return fmt::format("{} of CUDA {} to {}, the releases that support it.", other,
                           cuda_version_text(range->first), cuda_version_text(range->last));
    }

    TargetInputs inputs_;
    int needs_ = 0;  ///< The CUDA release that the compiler's PTX needs.
    Target target_;
    std::optional<Arch> doubtful_;
    bool ptx_refused_ = false;
};

}  // namespace

std::string_view to_string(CodeRoute route) noexcept {
    switch (route) {
        case CodeRoute::machine_code:
            return "machine code";
        case CodeRoute::driver_jit:
            return "PTX for the driver";
        case CodeRoute::linked:
            return "PTX through nvJitLink";
    }
    return "unknown";
}

std::string describe(std::span<const TargetStep> steps) {
    std::vector<std::string> lines;
    for (const auto& step : steps) {
        lines.push_back(
            fmt::format("{} {}: {}", step.taken ? "takes" : "refuses", step.rung, step.reason));
    }
    return lines.empty() ? "" : "  " + listed(lines, search_form);
}

std::string Target::describe() const {
    return lode::describe(steps);
}

Result<Target> choose_target(const TargetInputs& inputs) {
    return Ladder(inputs).climb();
}

Result<Target> choose_target(ComputeCapability device, std::span<const ComputeCapability> supported,
                             SuffixPolicy policy) {
    return choose_target({.device = device, .supported = supported, .suffix = policy});
}

}  // namespace LODE_NAMESPACE
