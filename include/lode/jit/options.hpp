/// \file
/// CompileOptions: typed options of one compilation.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// A preprocessor definition: -Dname=value, or -Dname (which means 1) without a value.
struct Definition {
    /// An identifier; a function-like macro has its parameters too: "SQ(x)", "LOG(format, ...)".
    std::string name;
    std::optional<std::string> value = std::nullopt;  ///< One line.

    /// Compares both members.
    friend bool operator==(const Definition&, const Definition&) = default;
};

/// An in-memory header; found by `#include "name"` and `#include <name>`, before any file. Names
/// with folders form a tree: "a/b.h" includes its neighbour "a/c.h" by `#include "c.h"`, and "x.h"
/// by `#include "../x.h"`.
struct Header {
    std::string name;  ///< As written in the include directive; unique within one compilation.
    std::string text;  ///< Its content, without NUL characters.

    /// Compares both members.
    friend bool operator==(const Header&, const Header&) = default;
};

/// The C++ dialect of kernel source. NVRTC's own default is C++17.
enum class Standard : std::uint8_t {
    cxx11,  ///< C++11
    cxx14,  ///< C++14
    cxx17,  ///< C++17
    cxx20   ///< C++20
};

/// Floating-point behaviour in single precision: a preset, and four switches that override it.
///
/// Source: Best Practices Guide 11.1.6; Programming Guide, "Intrinsic Functions" (-use_fast_math).
struct Math {
    /// A named group of settings.
    enum class Preset : std::uint8_t {
        ieee,             ///< ftz off, precise division and square root, fma contraction on.
        fast,             ///< --use_fast_math: approximate functions too; doubles don't change.
        host_comparable,  ///< ieee without fma contraction: a*b+c rounds as on the host.
    };

    Preset preset = Preset::ieee;                  ///< The values of unset switches.
    std::optional<bool> ftz = std::nullopt;        ///< Flush denormals to zero.
    std::optional<bool> prec_div = std::nullopt;   ///< Correctly rounded division.
    std::optional<bool> prec_sqrt = std::nullopt;  ///< Correctly rounded square root.
    std::optional<bool> fmad = std::nullopt;       ///< Contract a*b+c to one rounding.

    /// Compares every member.
    friend bool operator==(const Math&, const Math&) = default;
};

/// Whether tile kernels (`__tile_global__`) are compiled: NVRTC 13.3 and newer.
enum class Tile : std::uint8_t {
    none,     ///< Tile kernels are errors.
    enabled,  ///< --enable-tile: to Image::tile_ir, beside the machine code of other kernels.
    only,     ///< --tile-only: to Image::tile_ir; the image holds no other code.
};

/// All options of one compilation, besides source and target. A plain value.
struct CompileOptions {
    std::vector<Definition> definitions = {};                 ///< In order.
    std::vector<std::filesystem::path> include_folders = {};  ///< In search order; all readable.
    std::vector<Header> headers = {};                         ///< In-memory headers.
    std::vector<std::string> pre_includes = {};  ///< Headers included before the first line.
    Standard standard = Standard::cxx17;         ///< The C++ dialect.
    Math math = {};                              ///< Floating-point behaviour.
    int max_registers = 0;   ///< Per thread, at most 255; 0 leaves it to the compiler.
    bool line_info = false;  ///< -lineinfo: source lines for profilers and sanitizers.
    bool debug = false;      ///< -G: full debug information, no optimisation.
    /// With line_info or debug, in a compiler with a writable cache folder: code and headers in
    /// memory are also written to files below that folder, and line information, `__FILE__` and
    /// assert name those, so that debuggers and profilers show the text. Messages keep the names.
    bool source_files = true;
    bool relocatable = false;  ///< -rdc=true: for linking with other code.
    /// -dlto: the image holds LTO-IR instead of machine code and PTX. Linker optimises such images
    /// as one program: a function of one is inlined into the kernels of another.
    bool lto = false;
    /// --minimal, NVRTC 12.8 and newer: without textures, surfaces, kernel launches from kernels
    /// and the runtime's device functions and types, which the compiler otherwise prepares each
    /// time.
    bool minimal = false;
    /// Tile kernels, as Tile IR for a driver that compiles it. Not together with lto.
    Tile tile = Tile::none;
    /// --optix-ir: the image holds OptiX IR, for optixModuleCreate(), and no other code. Not
    /// together with lto or tile.
    bool optix_ir = false;
    bool toolkit_headers = true;  ///< Add the toolkit's include folders and lode's header shims.
    /// For NVRTC, also in nvcc's spelling. Flags of nvcc that concern the host alone (-O3, -g) have
    /// no effect; those that have a member here, or that lode can't follow (-arch, -o), are
    /// refused.
    std::vector<std::string> extra_flags = {};

    /// Parses flags of NVRTC or nvcc, for hosts that have them as text: "-Idir" or "-I", "dir";
    /// "-DN=4"; "-std=c++20"; "--use_fast_math"; "--maxrregcount=32"; "-lineinfo". Flags without a
    /// member go to extra_flags as NVRTC spells them; NVRTC refuses unknown ones.
    /// docs/nvcc-flags.md lists all. Errors: invalid_argument, naming the flag, for a flag that is
    /// refused, a missing or wrong value, or a text that isn't a flag; those of compile_flags().
    [[nodiscard]] static Result<CompileOptions> parse(std::span<const std::string> flags);
    /// The same for a list: `parse({"-I", "include", "-lineinfo"})`.
    [[nodiscard]] static Result<CompileOptions> parse(std::initializer_list<std::string> flags) {
        return parse(std::span(flags.begin(), flags.size()));
    }

    /// Compares every member.
    friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

/// The NVRTC flags for `options` in canonical order, without machine-dependent ones (target,
/// toolkit folders, cache and stack-limit switches). Touches no file. Errors: invalid_argument with
/// the value and the limit, for example for a definition that isn't a macro's name, max_registers
/// outside [0, 255] or an extra flag that is refused, such as -arch.
[[nodiscard]] Result<std::vector<std::string>> compile_flags(const CompileOptions& options);

}  // namespace LODE_NAMESPACE

LODE_API_END
