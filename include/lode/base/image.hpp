/// \file
/// Image: compiled code as a value. Creating or reading one needs no driver; loading one needs no
/// compiler.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// One message of a compiler about the source. A plain value.
struct Diagnostic {
    /// How serious the message is.
    enum class Severity : std::uint8_t {
        remark,   ///< Information; nothing is wrong.
        warning,  ///< The source compiles.
        error     ///< The source doesn't compile.
    };

    Severity severity = Severity::error;  ///< How serious the message is.
    std::string file = {};  ///< As given to the compiler; empty if the message names none.
    int line = 0;           ///< 1-based; 0 when unknown.
    int column = 0;         ///< 1-based; 0 when unknown.
    std::string code = {};  ///< The compiler's number, e.g. "177-D"; empty when none.
    std::string text = {};  ///< The message itself.

    /// "saxpy.cu:3:12: error: identifier "x" is undefined"
    [[nodiscard]] std::string to_string() const;

    /// Compares every member.
    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// Resource use of one kernel on its target, as reported by ptxas.
struct KernelResources {
    std::string kernel;                 ///< Lowered (mangled) name.
    int registers = 0;                  ///< Per thread.
    std::size_t shared_bytes = 0;       ///< Static shared memory per block.
    std::size_t constant_bytes = 0;     ///< Constant bank used by this kernel; 0 if not reported.
    std::size_t stack_bytes = 0;        ///< Local-memory stack frame per thread.
    std::size_t spill_store_bytes = 0;  ///< Stores of spilled registers, per thread.
    std::size_t spill_load_bytes = 0;   ///< Loads of spilled registers, per thread.
    int barriers = 0;                   ///< Named barriers in use.

    /// Compares every member.
    friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

/// One kernel parameter as declared in the PTX.
struct KernelParameter {
    /// The type, as far as the PTX tells.
    enum class Kind : std::uint8_t {
        unknown,         ///< Untyped bits.
        integer,         ///< .u8 … .u64, .s8 … .s64: integers, and pointers before sm_100.
        floating_point,  ///< .f32 or .f64.
        pointer,         ///< .ptr: always a pointer.
        aggregate,       ///< .b8[n]: a struct, a vector type, __half and other class types.
    };

    Kind kind = Kind::unknown;  ///< The type, as far as the PTX tells.
    std::size_t offset = 0;     ///< Bytes from the start of the parameter buffer.
    std::size_t size = 0;       ///< Bytes.
    std::size_t align = 0;      ///< Bytes.

    /// Compares every member.
    friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

/// A kernel of an image and its parameters.
struct KernelSignature {
    std::string kernel;                       ///< Lowered (mangled) name.
    std::vector<KernelParameter> parameters;  ///< In order.

    /// Compares every member.
    friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
};

/// Compiled code and its properties. A plain value that can be copied, compared and stored; an
/// Image owns its bytes and depends on nothing else.
struct Image {
    std::string name;              ///< Where it came from, for messages, e.g. "saxpy.cu".
    Arch arch;                     ///< The exact target, with its suffix.
    std::vector<std::byte> cubin;  ///< Machine code; empty for a virtual target and for IR.
    std::string ptx;               ///< The PTX it was made from; empty if not kept.
    /// LTO-IR, for Linker only: the compiler's intermediate code. Such an image has neither machine
    /// code nor PTX.
    std::vector<std::byte> lto_ir = {};
    /// Tile IR: the tile kernels of CompileOptions::tile, which the driver compiles. The machine
    /// code and PTX contain none of them.
    std::vector<std::byte> tile_ir = {};
    /// OptiX IR, which OptiX alone loads: CompileOptions::optix_ir. Such an image has no other
    /// code.
    std::vector<std::byte> optix_ir = {};
    std::map<std::string, std::string> lowered_names;  ///< Name expression → symbol in the image.
    std::vector<KernelSignature> kernels;              ///< From the PTX; empty without PTX.
    std::vector<KernelResources> resources;            ///< Empty without a cubin or its report.
    std::string log;                      ///< All messages of the compiler, without the report.
    std::vector<Diagnostic> diagnostics;  ///< The messages, parsed.
    std::string compiler;                 ///< e.g. "NVRTC 13.0.88"; empty for a prebuilt image.

    /// Compares every member.
    friend bool operator==(const Image&, const Image&) = default;

    /// The symbol for `kernel`: its lowered name if `kernel` is a known name expression, otherwise
    /// `kernel` itself.
    [[nodiscard]] std::string_view symbol_of(std::string_view kernel) const noexcept;

    /// The resource report of a kernel, by name expression or symbol; nullptr when absent.
    [[nodiscard]] const KernelResources* resources_of(std::string_view kernel) const noexcept;

    /// The signature of a kernel, by name expression or symbol; nullptr when absent.
    [[nodiscard]] const KernelSignature* signature_of(std::string_view kernel) const noexcept;

    /// Wraps a copy of a prebuilt cubin and reads its architecture number from the ELF header.
    ///
    /// The header doesn't contain the suffix: pass `arch` for an "a" or "f" cubin. The driver is
    /// given a cubin without its size, so a file that is shorter than the tables in its header
    /// require is refused here. Errors: invalid_image if the bytes aren't a complete CUDA ELF file;
    /// invalid_argument if `arch` and the cubin have different numbers.
    [[nodiscard]] static Result<Image> from_cubin(std::span<const std::byte> bytes,
                                                  std::string name,
                                                  std::optional<Arch> arch = std::nullopt);

    /// Wraps PTX text and reads its .target and its kernels.
    /// Errors: invalid_image without a readable .target.
    [[nodiscard]] static Result<Image> from_ptx(std::string text, std::string name);
};

/// Every .entry of a PTX text with its parameters, in order of appearance.
std::vector<KernelSignature> kernels_of_ptx(std::string_view ptx);

/// A version of the PTX ISA, such as 9.0; 0.0 if unknown.
struct PtxVersion {
    int version_major = 0;  ///< The 9 of 9.0.
    int version_minor = 0;  ///< The 0 of 9.0.
    /// Orders by major number, then by minor.
    friend auto operator<=>(const PtxVersion&, const PtxVersion&) = default;
};
/// The PTX ISA version of a text; nullopt without a readable .version line.
std::optional<PtxVersion> ptx_version_of(std::string_view ptx);

}  // namespace LODE_NAMESPACE

LODE_API_END
