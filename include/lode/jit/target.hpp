/// \file
/// Target: what to compile for, and which of several images to load. The choices are pure functions
/// of the facts; they go down a list of possibilities, the arch ladder, and say for every rung why
/// it was taken or refused.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// Which suffix a kernel asks for, on devices where that suffix exists.
enum class SuffixPolicy : std::uint8_t {
    none,      ///< Plain targets only: the most portable choice, and the default.
    specific,  ///< Prefer "a", then "f": for code that uses wgmma, tcgen05 and the like.
    family,    ///< Prefer "f".
};

/// How the chosen code gets to the device.
enum class CodeRoute : std::uint8_t {
    machine_code,  ///< A cubin, loaded as it is.
    driver_jit,    ///< PTX that the driver compiles.
    linked,        ///< PTX that nvJitLink compiles to a cubin, because the driver refuses it.
};

/// "machine code", "PTX for the driver" or "PTX through nvJitLink".
std::string_view to_string(CodeRoute route) noexcept;

/// One step of the decision, taken or refused.
struct TargetStep {
    std::string rung;    ///< e.g. "sm_90a" or "PTX compute_120".
    bool taken = false;  ///< Whether it is the choice.
    std::string reason;  ///< Why it was taken or refused, as a clause.
};

/// The steps as text, one line each.
std::string describe(std::span<const TargetStep> steps);

/// The chosen architecture and how it came about.
struct Target {
    Arch arch;  ///< What the compiler is asked for: real for machine_code, virtual otherwise.
    CodeRoute route = CodeRoute::machine_code;  ///< How the code gets to the device.
    std::vector<TargetStep> steps = {};         ///< In the order in which they were considered.

    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const;
};

/// The toolchain and driver that a decision is about. Versions are 1000·major + 10·minor, as
/// cuDriverGetVersion reports them (12040 is 12.4); 0 means unknown or absent.
struct ToolFacts {
    int compiler_version = 0;  ///< NVRTC's; with 0 nothing is refused because of its version.
    int driver_version = 0;    ///< The driver's; 0 (no driver here) counts as recent enough.
    int linker_version = 0;    ///< nvJitLink's; 0 means that there is none.
    bool force_ptx = false;    ///< LODE_FORCE_PTX: take PTX although machine code would do.
    /// The driver has answered CUDA_ERROR_UNSUPPORTED_PTX_VERSION, so no PTX goes to it.
    bool driver_refused_ptx = false;
};

/// Everything that choosing a compile target depends on.
struct TargetFacts {
    ComputeCapability device;  ///< The device to compile for.
    /// What nvrtcGetSupportedArchs reports, in any order; a view that the caller keeps alive.
    std::span<const ComputeCapability> supported;
    SuffixPolicy suffix = SuffixPolicy::none;  ///< What the kernel asks for.
    ToolFacts tools = {};                      ///< Versions and what is known of them.
};

/// Chooses the architecture to compile for.
///
/// In order: the "a" and "f" targets that the policy asks for; the device's own sm; the newest
/// lower sm of the same major that runs on the device; the newest PTX target not above the device,
/// if the driver accepts it; the same PTX through nvJitLink. Machine code is refused if the
/// compiler's major version is newer than the driver's. Plain sm_120 code comes last on 12.1, since
/// 12.1 devices have been seen to refuse it.
/// Errors: unsupported_arch with the device, NVRTC, its PTX ISA, the driver, every refused step and
/// the cure.
[[nodiscard]] Result<Target> choose_target(const TargetFacts& facts);

/// The same where only the device and the compiler's list are known.
[[nodiscard]] Result<Target> choose_target(ComputeCapability device,
                                           std::span<const ComputeCapability> supported,
                                           SuffixPolicy policy = SuffixPolicy::none);

/// What one piece of compiled code holds.
struct ImageFacts {
    std::string name;             ///< For the reasons, e.g. "reduce_sm80".
    Arch arch;                    ///< With its suffix; the PTX has the same as a virtual target.
    bool has_cubin = false;       ///< false for the 0-byte cubin of a compute_ target.
    bool has_ptx = false;         ///< Whether it holds PTX.
    PtxVersion ptx_version = {};  ///< The ISA that the PTX asks for; {0, 0} when unknown.
    int toolkit_version = 0;      ///< Of the compiler that made the cubin; 0 when unknown.

    /// The facts of an image; the toolkit's version is read from Image::compiler.
    static ImageFacts of(const Image& image);
};

/// The image to load, and which of its forms.
struct ImageChoice {
    std::size_t index = 0;                      ///< Into the images that were offered.
    CodeRoute route = CodeRoute::machine_code;  ///< Which of its forms, and how it is loaded.
    std::vector<TargetStep> steps = {};         ///< One or more for each image.

    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const;
};

/// Chooses among images for one device.
///
/// In order: exact "a", family "f", the device's own sm, the newest lower sm of the same major, the
/// newest PTX that the driver accepts, PTX through nvJitLink. Of equally good images the earlier
/// one is chosen. `tools.compiler_version` isn't used.
/// Errors: unsupported_arch with the device, the driver, every refused step and the cure;
/// invalid_argument for no image at all.
[[nodiscard]] Result<ImageChoice> choose_image(ComputeCapability device,
                                               std::span<const ImageFacts> images,
                                               const ToolFacts& tools = {});

/// The PTX ISA that a CUDA release's compilers write and its driver accepts: {8, 4} for 12040.
/// nullopt for releases before 11.0 and for those newer than lode knows.
std::optional<PtxVersion> ptx_version_of_cuda(int cuda_version) noexcept;

/// The first CUDA release whose driver accepts a PTX ISA: 12040 for {8, 4}; 0 when lode doesn't
/// know that version.
int cuda_version_of_ptx(PtxVersion version) noexcept;

/// "12.4" for 12040, "unknown" for 0.
std::string cuda_version_text(int cuda_version);

/// The first and the last CUDA toolkit that compile for a capability.
struct ToolkitRange {
    int first = 0;  ///< e.g. 12080 for 12.8.
    int last = 0;   ///< 0 if the newest toolkit still does.
};

/// The toolkits that compile for a capability; nullopt for one that lode doesn't know. (10.1 is
/// what 11.0 was called before CUDA 13.)
std::optional<ToolkitRange> toolkits_for(ComputeCapability cc) noexcept;

}  // namespace lode
