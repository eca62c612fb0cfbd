#include <lode/base/arch.hpp>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr std::string_view real_prefix = "sm_";
constexpr std::string_view virtual_prefix = "compute_";

/// Tegra parts that share a major version with desktop parts but can't run each other's cubins.
/// CUDA 13 renamed 10.1 to 11.0.
bool is_tegra_in_mixed_major(ComputeCapability cc) noexcept {
    constexpr ComputeCapability parts[] = {{5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}};
    return std::ranges::find(parts, cc) != std::end(parts);
}

tl::unexpected<Error> unreadable(std::string_view text, std::string_view why) {
    return fail(Errc::invalid_argument,
                fmt::format("Architecture '{}' isn't valid: {}. Write it as sm_90, sm_90a, "
                            "sm_100f or compute_80.",
                            text, why));
}

}  // namespace

std::string ComputeCapability::to_string() const {
    return fmt::format("{}.{}", cc_major(), cc_minor());
}

bool suffix_exists(ComputeCapability cc, ArchSuffix suffix) noexcept {
    switch (suffix) {
        case ArchSuffix::none:
            return true;
        case ArchSuffix::specific:
            return cc >= ComputeCapability{9, 0};
        case ArchSuffix::family:
            return cc >= ComputeCapability{10, 0};
    }
    return false;
}

Result<Arch> Arch::parse(std::string_view text) {
    std::string_view rest = text;
    Kind kind = Kind::real;
    if (rest.starts_with(real_prefix)) {
        rest.remove_prefix(real_prefix.size());
    } else if (rest.starts_with(virtual_prefix)) {
        rest.remove_prefix(virtual_prefix.size());
        kind = Kind::virtual_ptx;
    } else {
        return unreadable(text, "it starts with neither sm_ nor compute_");
    }
    ArchSuffix suffix = ArchSuffix::none;
    if (rest.ends_with('a')) suffix = ArchSuffix::specific;
    if (rest.ends_with('f')) suffix = ArchSuffix::family;
    if (suffix != ArchSuffix::none) rest.remove_suffix(1);

    int number = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (problem != std::errc{} || end != rest.data() + rest.size()) {
        return unreadable(text, fmt::format("'{}' isn't a number", rest));
    }
    constexpr int smallest = 10;
    constexpr int largest = 999;
    if (number < smallest || number > largest) {
        return unreadable(text, fmt::format("{} is outside [{}, {}]", number, smallest, largest));
    }
    const auto cc = ComputeCapability::from_number(number);
    if (!suffix_exists(cc, suffix)) {
        return unreadable(text, suffix == ArchSuffix::specific
                                    ? "the suffix a exists from 9.0 on"
                                    : "the suffix f exists from 10.0 on");
    }
    return Arch(cc, suffix, kind);
}

std::string Arch::to_string() const {
    constexpr std::string_view suffixes[] = {"", "a", "f"};
    return fmt::format("{}{}{}", is_real() ? real_prefix : virtual_prefix, cc_.number(),
                       suffixes[static_cast<std::size_t>(suffix_)]);
}

bool Arch::runs_on(ComputeCapability device) const noexcept {
    if (suffix_ == ArchSuffix::specific) return device == cc_;
    const bool same_major = device.cc_major() == cc_.cc_major();
    if (device < cc_) return false;
    if (device == cc_) return true;
    if (!is_real() && suffix_ == ArchSuffix::none) return true;
    return same_major && !is_tegra_in_mixed_major(device) && !is_tegra_in_mixed_major(cc_);
}

}  // namespace LODE_NAMESPACE
