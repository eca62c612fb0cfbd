// CUDA releases: the PTX ISA version and the devices that each supports.
#include "base/ptx_releases.hpp"
#include "jit/target_rules.hpp"

#include <lode/jit/target.hpp>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

struct DeviceRelease {
    ComputeCapability cc;
    ToolkitRange toolkits;
};

constexpr DeviceRelease device_releases[] = {
#define LODE_ARCHITECTURE(cc_major, cc_minor, first, last, ...) \
    {{cc_major, cc_minor}, {first, last}},
#include "base/architectures.def"
};

/// Minor releases count in tens: 13019 is still 13.1.
constexpr int next_release(int cuda_version) noexcept {
    return cuda_version / 10 * 10 + 10;
}

}  // namespace

std::optional<PtxVersion> ptx_version_of_cuda(int cuda_version) noexcept {
    if (cuda_version >= next_release(std::rbegin(ptx_releases)->cuda_version)) return std::nullopt;
    const auto above =
        std::ranges::upper_bound(ptx_releases, cuda_version, {}, &PtxRelease::cuda_version);
    if (above == std::begin(ptx_releases)) return std::nullopt;
    return std::prev(above)->ptx;
}

int cuda_version_of_ptx(PtxVersion version) noexcept {
    // A version missing from the table is supported at the latest by the first release with a newer
    // one.
    const auto found = std::ranges::lower_bound(ptx_releases, version, {}, &PtxRelease::ptx);
    return found == std::end(ptx_releases) ? 0 : found->cuda_version;
}

std::string cuda_version_text(int cuda_version) {
    if (cuda_version <= 0) return "unknown";
    return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

std::optional<ToolkitRange> toolkits_for(ComputeCapability cc) noexcept {
    const auto found = std::ranges::find(device_releases, cc, &DeviceRelease::cc);
    if (found == std::end(device_releases)) return std::nullopt;
    return found->toolkits;
}

std::vector<ComputeCapability> target_rules::capabilities_of(int toolkit_version) {
    std::vector<ComputeCapability> made;
    for (const auto& [cc, toolkits] : device_releases) {
        if (toolkit_version >= toolkits.first &&
            (toolkits.last == 0 || toolkit_version <= toolkits.last))
            made.push_back(cc);
    }
    std::ranges::sort(made);
    return made;
}

}  // namespace LODE_NAMESPACE
