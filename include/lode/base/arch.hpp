/// \file
/// Compute capabilities, compilation targets, and the rules for which code runs on which device.
///
/// Sources: CUDA C++ Programming Guide, "Compute Capabilities" and "Binary Compatibility"; the
/// architecture-specific (a) and family-specific (f) rules of its appendix.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A device's compute capability X.Y; 0.0 when default-constructed. A plain value.
///
/// The accessors are `cc_major` and `cc_minor` because `major` and `minor` are system macros.
class ComputeCapability {
public:
    constexpr ComputeCapability() noexcept = default;
    /// Each number must fit in 8 bits; this isn't checked.
    constexpr ComputeCapability(int cc_major, int cc_minor) noexcept
        : major_(static_cast<std::uint8_t>(cc_major)),
          minor_(static_cast<std::uint8_t>(cc_minor)) {}

    /// The capability for a compiler's number, 10·major + minor, in [10, 2559]: 121 gives 12.1.
    static constexpr ComputeCapability from_number(int number) noexcept {
        return {number / 10, number % 10};
    }

    /// The X of X.Y.
    [[nodiscard]] constexpr int cc_major() const noexcept { return major_; }
    /// The Y of X.Y.
    [[nodiscard]] constexpr int cc_minor() const noexcept { return minor_; }
    /// 10·major + minor, as used by the compiler: 121 for 12.1.
    [[nodiscard]] constexpr int number() const noexcept { return major_ * 10 + minor_; }

    /// "9.0"
    [[nodiscard]] std::string to_string() const;

    /// Orders by major number, then by minor.
    friend constexpr auto operator<=>(const ComputeCapability&,
                                      const ComputeCapability&) noexcept = default;

private:
    std::uint8_t major_ = 0;
    std::uint8_t minor_ = 0;
};

/// The feature set of a target.
enum class ArchSuffix : std::uint8_t {
    none,      ///< Baseline features: forward compatible by the usual rules.
    specific,  ///< "a": every feature of exactly one compute capability (9.0 and newer).
    family,    ///< "f": features shared by a family (10.0 and newer).
};

/// A compilation target: machine code ("sm_90a") or virtual code, PTX ("compute_90"). A plain
/// value; `sm_0` when default-constructed, which runs nowhere.
class Arch {
public:
    /// What the compiler generates for the target.
    enum class Kind : std::uint8_t {
        real,        ///< sm_XY: a cubin.
        virtual_ptx  ///< compute_XY: PTX for the driver's JIT.
    };

    constexpr Arch() noexcept = default;
    /// Accepts any combination; suffix_exists() says whether the suffix exists for `cc`.
    constexpr explicit Arch(ComputeCapability cc, ArchSuffix suffix = ArchSuffix::none,
                            Kind kind = Kind::real) noexcept
        : cc_(cc), suffix_(suffix), kind_(kind) {}

    /// Parses "sm_90a", "sm_100f" or "compute_80".
    /// Errors: invalid_argument with the text, what is wrong with it and the valid forms.
    [[nodiscard]] static Result<Arch> parse(std::string_view text);

    /// The target's compute capability.
    [[nodiscard]] constexpr ComputeCapability cc() const noexcept { return cc_; }
    /// The target's suffix.
    [[nodiscard]] constexpr ArchSuffix suffix() const noexcept { return suffix_; }
    /// Whether the target is machine code or PTX.
    [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
    /// Whether the target is machine code.
    [[nodiscard]] constexpr bool is_real() const noexcept { return kind_ == Kind::real; }

    /// The PTX target with the same number and suffix.
    [[nodiscard]] constexpr Arch as_virtual() const noexcept {
        return Arch(cc_, suffix_, Kind::virtual_ptx);
    }
    /// The machine-code target with the same number and suffix.
    [[nodiscard]] constexpr Arch as_real() const noexcept { return Arch(cc_, suffix_, Kind::real); }

    /// "sm_90a" or "compute_90a".
    [[nodiscard]] std::string to_string() const;

    /// Whether code built for this target can run on a device.
    ///
    /// Real targets: same major and device minor ≥ target minor; code of a Tegra part (5.3, 6.2,
    /// 7.2, 8.7, 10.1) never runs on another capability of its major, nor the other way round.
    /// Virtual targets: any device ≥ the target. "a": exactly the target's capability, real and
    /// virtual alike. "f": the rule of real targets, for both kinds. The driver must also accept
    /// the PTX ISA version, which this function doesn't check.
    [[nodiscard]] bool runs_on(ComputeCapability device) const noexcept;

    /// Orders by capability, then suffix, then kind.
    friend constexpr auto operator<=>(const Arch&, const Arch&) noexcept = default;

private:
    ComputeCapability cc_;
    ArchSuffix suffix_ = ArchSuffix::none;
    Kind kind_ = Kind::real;
};

/// Whether a suffix exists for a capability: "a" from 9.0, "f" from 10.0.
bool suffix_exists(ComputeCapability cc, ArchSuffix suffix) noexcept;

}  // namespace LODE_NAMESPACE

LODE_API_END
