/// \file
/// Target: which architecture to compile for, and which of several images to load. Both choices are
/// pure functions of their inputs. They go through a list of possibilities, the arch ladder, and
/// give a reason for every rung that is taken or refused.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Which suffix a kernel needs, on devices where that suffix exists.
enum class SuffixPolicy : std::uint8_t {
    none,      ///< Plain targets only: the most portable choice, and the default.
    specific,  ///< Prefer "a", then "f": for code that uses wgmma, tcgen05 and the like.
    family,    ///< Prefer "f".
};

/// How the chosen code is loaded on the device.
enum class CodeRoute : std::uint8_t {
    machine_code,  ///< A cubin, loaded unchanged.
    driver_jit,    ///< PTX that the driver compiles.
    linked,        ///< PTX that nvJitLink compiles to a cubin, because the driver refuses it.
};

/// "machine code", "PTX for the driver" or "PTX through nvJitLink".
std::string_view to_string(CodeRoute route) noexcept;

/// One step of the decision, taken or refused.
struct TargetStep {
    std::string rung;    ///< e.g. "sm_90a" or "PTX compute_120".
    bool taken = false;  ///< Whether this step is the choice.
    std::string reason;  ///< Why it was taken or refused, as a clause.
};

/// The steps as text, one line each; after 32 only how many are left.
std::string describe(std::span<const TargetStep> steps);

/// The chosen architecture and the steps of the decision.
struct Target {
    Arch arch;  ///< The compiler's target: real for machine_code, virtual otherwise.
    CodeRoute route = CodeRoute::machine_code;  ///< How the code is loaded on the device.
    std::vector<TargetStep> steps = {};         ///< In the order in which they were considered.

    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const;
};

/// Properties of the tools that a decision depends on. A version is 1000·major + 10·minor, as
/// reported by cuDriverGetVersion (12040 is 12.4); 0 means unknown or absent.
struct ToolProperties {
    int compiler_version = 0;  ///< With 0 nothing is refused because of the compiler's version.
    int driver_version = 0;    ///< The driver's; 0 (no driver here) is treated as recent enough.
    int linker_version = 0;    ///< nvJitLink's; 0 means that there is none.
    bool force_ptx = false;    ///< LODE_FORCE_PTX: use PTX even where machine code would work.
    /// The driver has returned CUDA_ERROR_UNSUPPORTED_PTX_VERSION, so it gets no PTX.
    bool driver_refused_ptx = false;
    std::string compiler = "NVRTC";  ///< CompilerInfo::product, for messages.
};

/// All inputs of the choice of a compile target.
struct TargetInputs {
    ComputeCapability device;  ///< The device to compile for.
    /// As reported by nvrtcGetSupportedArchs, in any order; a view that the caller keeps alive.
    std::span<const ComputeCapability> supported;
    SuffixPolicy suffix = SuffixPolicy::none;  ///< The suffix that the kernel needs.
    ToolProperties tools = {};                 ///< Properties of the tools.
};

/// Chooses the architecture to compile for.
///
/// In order: the "a" and "f" targets that the policy allows; the device's own sm; the newest lower
/// sm of the same major that runs on the device; the newest PTX target not above the device, if the
/// driver accepts it; the same PTX through nvJitLink. Machine code is refused if the compiler's
/// major version is newer than the driver's. Plain sm_120 code comes last on 12.1, since 12.1
/// devices are known to refuse it.
/// Errors: unsupported_arch with the device, NVRTC, its PTX ISA, the driver, every refused step and
/// the cure.
[[nodiscard]] Result<Target> choose_target(const TargetInputs& inputs);

/// The same with only the device and the compiler's list.
[[nodiscard]] Result<Target> choose_target(ComputeCapability device,
                                           std::span<const ComputeCapability> supported,
                                           SuffixPolicy policy = SuffixPolicy::none);

/// Properties of one image that the choice depends on.
struct ImageProperties {
    std::string name;             ///< For the reasons, e.g. "reduce_sm80".
    Arch arch;                    ///< With its suffix; the PTX has the same as a virtual target.
    bool has_cubin = false;       ///< false for the 0-byte cubin of a compute_ target.
    bool has_ptx = false;         ///< Whether it holds PTX.
    PtxVersion ptx_version = {};  ///< The PTX's ISA version; {0, 0} if unknown.
    int toolkit_version = 0;      ///< The toolkit that made the cubin; 0 when unknown.

    /// The properties of an image; the toolkit's version is read from Image::compiler.
    static ImageProperties of(const Image& image);
};

/// The chosen image and form.
struct ImageChoice {
    std::size_t index = 0;                      ///< Into the given images.
    CodeRoute route = CodeRoute::machine_code;  ///< The chosen form and how it is loaded.
    std::vector<TargetStep> steps = {};         ///< One or more for each image.

    /// The steps as text, one line each.
    [[nodiscard]] std::string describe() const;
};

/// Chooses among images for one device.
///
/// In order: exact "a", family "f", the device's own sm, the newest lower sm of the same major, the
/// newest PTX that the driver accepts, PTX through nvJitLink. Among equally good images the first
/// one is chosen. `tools.compiler_version` isn't used.
/// Errors: unsupported_arch with the device, the driver, every refused step and the cure;
/// invalid_argument for an empty list of images.
[[nodiscard]] Result<ImageChoice> choose_image(ComputeCapability device,
                                               std::span<const ImageProperties> images,
                                               const ToolProperties& tools = {});

/// The PTX ISA version that a CUDA release's compilers write and its driver accepts: {8, 4} for
/// 12040. nullopt for releases before 11.0 and for those newer than lode knows.
std::optional<PtxVersion> ptx_version_of_cuda(int cuda_version) noexcept;

/// The first CUDA release whose driver accepts a PTX ISA version: 12040 for {8, 4}; 0 if lode
/// doesn't know that version.
int cuda_version_of_ptx(PtxVersion version) noexcept;

/// "12.4" for 12040, "unknown" for 0.
std::string cuda_version_text(int cuda_version);

/// The first and the last CUDA toolkit that support a capability.
struct ToolkitRange {
    int first = 0;  ///< e.g. 12080 for 12.8.
    int last = 0;   ///< 0 if the newest toolkit still supports it.
};

/// The toolkits that support a capability; nullopt for one that lode doesn't know. (Before CUDA 13,
/// 11.0 was called 10.1.)
std::optional<ToolkitRange> toolkits_for(ComputeCapability cc) noexcept;

}  // namespace LODE_NAMESPACE

LODE_API_END
