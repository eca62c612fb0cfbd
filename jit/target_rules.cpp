#include "jit/target_rules.hpp"

#include <fmt/format.h>

namespace LODE_NAMESPACE::target_rules {
namespace {

constexpr int release_of_major(int cuda_version) noexcept {
    return cuda_version / 1000;
}

}  // namespace

std::optional<std::string> refuses_cubin(int toolkit_version, const ToolProperties& tools) {
    if (toolkit_version == 0 || tools.driver_version == 0) return std::nullopt;
    // CUDA minor-version compatibility: any toolkit of the driver's major version.
    if (release_of_major(toolkit_version) <= release_of_major(tools.driver_version))
        return std::nullopt;
    return fmt::format("{} doesn't load machine code made by CUDA {}", driver_text(tools),
                       cuda_version_text(toolkit_version));
}

std::optional<std::string> refuses_ptx(int needs, const ToolProperties& tools) {
    if (tools.driver_refused_ptx)
        return "the driver has reported that it doesn't support its PTX version";
    if (tools.driver_version == 0 || needs <= tools.driver_version) return std::nullopt;
    return fmt::format("its PTX ISA needs a driver of CUDA {}, but this is {}",
                       cuda_version_text(needs), driver_text(tools));
}

std::optional<std::string> refuses_link(int needs, ComputeCapability device,
                                        const ToolProperties& tools) {
    if (tools.linker_version == 0) return "no nvJitLink library is available";
    const std::string linker = "nvJitLink " + cuda_version_text(tools.linker_version);
    if (needs > tools.linker_version) {
        return fmt::format("its PTX ISA needs CUDA {}, but this is {}", cuda_version_text(needs),
                           linker);
    }
    const auto range = toolkits_for(device);
    if (range && tools.linker_version < range->first) {
        return fmt::format("{} is older than CUDA {}, the first that makes code for the device",
                           linker, cuda_version_text(range->first));
    }
    if (range && range->last != 0 && tools.linker_version > range->last) {
        return fmt::format("{} is newer than CUDA {}, the last that makes code for the device",
                           linker, cuda_version_text(range->last));
    }
    return refuses_cubin(tools.linker_version, tools);
}

std::optional<std::string> refuses_device(const Arch& arch, ComputeCapability device) {
    if (arch.runs_on(device)) return std::nullopt;
    const auto built_for = arch.cc();
    if (arch.suffix() == ArchSuffix::specific)
        return fmt::format("it runs only on {}", built_for.to_string());
    if (built_for > device) return fmt::format("it is above {}", device.to_string());
    if (arch.suffix() == ArchSuffix::family)
        return fmt::format("its family ends with {}.x", built_for.cc_major());
    if (built_for.cc_major() != device.cc_major())
        return fmt::format("machine code runs only on its own major version, {}.x",
                           built_for.cc_major());
    return "machine code isn't interchangeable between Tegra and desktop GPUs";
}

bool is_doubtful(const Arch& arch, ComputeCapability device) noexcept {
    return arch == Arch({12, 0}) && device == ComputeCapability{12, 1};
}

std::string cure_for_ptx(int needs, const ToolProperties& tools) {
    const int major = release_of_major(tools.driver_version);
    if (needs <= tools.driver_version) {  // By its version, the driver accepts the PTX.
        return fmt::format(
            "Update the driver, or use machine code for the device, or install libnvJitLink.so.{}.",
            major);
    }
    std::string cure = fmt::format(
        "Update the driver to CUDA {} or newer, or use code of CUDA {} "
        "or older",
        cuda_version_text(needs), cuda_version_text(tools.driver_version));
    // The driver doesn't load machine code made by a linker of another major version.
    if (release_of_major(needs) == major) {
        cure += fmt::format(", or install libnvJitLink.so.{} of CUDA {} or newer", major,
                            cuda_version_text(needs));
    }
    return cure + ".";
}

std::string driver_text(const ToolProperties& tools) {
    if (tools.driver_version == 0) return "a driver of unknown version";
    return "a driver of CUDA " + cuda_version_text(tools.driver_version);
}

}  // namespace LODE_NAMESPACE::target_rules
