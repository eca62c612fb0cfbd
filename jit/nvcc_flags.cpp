#include "jit/nvcc_flags.hpp"

#include "jit/request/options_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

using Options = CompileOptions;
using Use = NvccFlag::Use;
using Value = NvccFlag::Value;

// -- What an option sets -----------------------------------------------------------------------

template <bool Options::*member, bool on = true>
std::string set_switch(Options& options, std::string_view /*value*/) {
    options.*member = on;
    return {};
}

std::string set_truth(auto& member, std::string_view text) {
    if (text != "true" && text != "false")
        return fmt::format("is '{}' but must be true or false", text);
    member = text == "true";
    return {};
}

template <std::optional<bool> Math::*member>
std::string set_math(Options& options, std::string_view text) {
    return set_truth(options.math.*member, text);
}

std::string set_relocatable(Options& options, std::string_view text) {
    return set_truth(options.relocatable, text);
}

std::string set_fast_math(Options& options, std::string_view /*value*/) {
    options.math.preset = Math::Preset::fast;
    return {};
}

template <Tile tile>
std::string set_tile(Options& options, std::string_view /*value*/) {
    options.tile = std::max(options.tile, tile);
    return {};
}

/// The last of -D and -U counts. NVRTC gets the definitions first.
std::string set_definition(Options& options, std::string_view text) {
    options.definitions.push_back(definition_of(text));
    const auto& name = options.definitions.back().name;
    std::erase(options.extra_flags, "--undefine-macro=" + name.substr(0, name.find('(')));
    return {};
}

std::string set_include_folder(Options& options, std::string_view text) {
    options.include_folders.emplace_back(text);
    return {};
}

std::string set_pre_include(Options& options, std::string_view text) {
    options.pre_includes.emplace_back(text);
    return {};
}

std::string set_standard(Options& options, std::string_view text) {
    const auto standard = text.starts_with("c++") ? standard_of(text) : std::nullopt;
    if (!standard) return fmt::format("is '{}' but must be {}", text, alternatives(standard_names));
    options.standard = *standard;
    return {};
}

std::string set_max_registers(Options& options, std::string_view text) {
    const char* const end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, options.max_registers);
    if (wrong == std::errc{} && stop == end) return {};
    return fmt::format("is '{}' but must be a number from 0 to 255", text);
}

// -- Reasons that several flags share ------------------------------------------------------------

constexpr std::string_view from_device = "the call's arch argument chooses the target";
constexpr std::string_view for_host = "lode always sets it, to leave the host process as it is";
constexpr std::string_view writes = "nvcc writes that file; lode returns the code as an Image";
constexpr std::string_view phase = "it tells nvcc what to make; an Image has machine code and PTX";
constexpr std::string_view asks = "it asks nvcc for a text; `lode info` shows lode's compiler";
constexpr std::string_view tool = "it is for nvcc's host compiler, and lode calls none";
constexpr std::string_view links = "it is for nvcc's link of a program; use lode::Linker";
constexpr std::string_view forwards = "lode has no host compiler or linker to forward flags to";
constexpr std::string_view host_code = "concerns the code of the host, which NVRTC doesn't compile";
constexpr std::string_view host_tool = "concerns the start of the host compiler";
constexpr std::string_view packing = "concerns the packing in a fat binary";
constexpr std::string_view building = "concerns nvcc's own work, not the code";

constexpr std::string_view definitions = "CompileOptions::definitions";
constexpr std::string_view include_folders = "CompileOptions::include_folders";
constexpr std::string_view pre_includes = "CompileOptions::pre_includes";
constexpr std::string_view math = "CompileOptions::math";
constexpr std::string_view line_info = "CompileOptions::line_info";
constexpr std::string_view relocatable = "CompileOptions::relocatable";
constexpr std::string_view lto = "CompileOptions::lto";
constexpr std::string_view tile = "CompileOptions::tile";

// NVRTC has the front end of nvcc, whose own flags it takes after -Xcudafe, but documents no flag
// for the effect. All versions from 12.0 to 13.5 have been tried.
constexpr std::string_view lambda = "-Xcudafe=--extended-lambda";
constexpr std::string_view no_deprecation =
    "-Xcudafe=--diag_suppress=deprecated_entity "
    "-Xcudafe=--diag_suppress=deprecated_entity_with_custom_message";
constexpr std::string_view deprecation_error =
    "-Xcudafe=--diag_error=deprecated_entity "
    "-Xcudafe=--diag_error=deprecated_entity_with_custom_message";

// -- The table: the order is that of `nvcc --help` -----------------------------------------------

constexpr NvccFlag flag_table[] = {
    {"cuda", "", Value::none, Use::refused, phase},
    {"cubin", "", Value::none, Use::refused, phase},
    {"fatbin", "", Value::none, Use::refused, "use lode::FatbinWriter"},
    {"ptx", "", Value::none, Use::refused, phase},
    {"optix-ir", "", Value::none, Use::option, "CompileOptions::optix_ir", 0,
     set_switch<&Options::optix_ir>},
    {"ltoir", "", Value::none, Use::refused, "use CompileOptions::lto"},
    {"preprocess", "E", Value::none, Use::refused, phase},
    {"generate-dependencies", "M", Value::none, Use::refused, writes},
    {"generate-nonsystem-dependencies", "MM", Value::none, Use::refused, writes},
    {"generate-dependencies-with-compile", "MD", Value::none, Use::refused, writes},
    {"generate-nonsystem-dependencies-with-compile", "MMD", Value::none, Use::refused, writes},
    {"dependency-output", "MF", Value::one, Use::refused, writes},
    {"generate-dependency-targets", "MP", Value::none, Use::refused, writes},
    {"compile", "c", Value::none, Use::refused, phase},
    {"device-c", "dc", Value::none, Use::option, relocatable, 0, set_switch<&Options::relocatable>},
    {"device-w", "dw", Value::none, Use::option, relocatable, 0,
     set_switch<&Options::relocatable, false>},
    {"device-link", "dlink", Value::none, Use::refused, links},
    {"link", "", Value::none, Use::refused, links},
    {"lib", "", Value::none, Use::refused, links},
    {"run", "", Value::none, Use::refused, phase},
    {"output-file", "o", Value::one, Use::refused, writes},
    {"pre-include", "include", Value::one, Use::option, pre_includes, 0, set_pre_include},
    {"objdir-as-tempdir", "objtemp", Value::none, Use::refused, writes},
    {"library", "l", Value::joined, Use::refused, links},
    {"define-macro", "D", Value::joined, Use::option, definitions, 0, set_definition},
    {"undefine-macro", "U", Value::joined, Use::passed, "--undefine-macro"},
    {"include-path", "I", Value::joined, Use::option, include_folders, 0, set_include_folder},
    {"system-include", "isystem", Value::one, Use::option, include_folders, 0, set_include_folder},
    {"library-path", "L", Value::joined, Use::refused, links},
    {"output-directory", "odir", Value::one, Use::refused, writes},
    {"compiler-bindir", "ccbin", Value::one, Use::refused, tool},
    {"allow-unsupported-compiler", "", Value::none, Use::ignored, host_tool},
    {"archiver-binary", "arbin", Value::one, Use::refused, links},
    {"cudart", "", Value::one, Use::refused, links},
    {"cudadevrt", "", Value::one, Use::refused, "use LinkInput::device_runtime()"},
    {"libdevice-directory", "ldir", Value::one, Use::refused, "NVRTC has libdevice in itself"},
    {"target-directory", "target-dir", Value::one, Use::refused, "set CUDA_HOME, or LODE_NVRTC"},
    {"use-local-env", "", Value::none, Use::ignored, host_tool},
    {"force-cl-env-setup", "", Value::none, Use::ignored, host_tool},
    {"profile", "pg", Value::none, Use::ignored, host_code},
    {"debug", "g", Value::none, Use::ignored, host_code},
    {"device-debug", "G", Value::none, Use::option, "CompileOptions::debug", 0,
     set_switch<&Options::debug>},
    {"generate-line-info", "lineinfo", Value::none, Use::option, line_info, 0,
     set_switch<&Options::line_info>},
    {"optimization-info", "opt-info", Value::one, Use::passed, "--optimization-info"},
    {"optimize", "O", Value::joined, Use::ignored, host_code},
    {"Ofast-compile", "Ofc", Value::one, Use::passed, "--Ofast-compile", 1205},
    {"dopt", "", Value::one, Use::passed, "--dopt"},
    {"dlink-time-opt", "dlto", Value::none, Use::option, lto, 0, set_switch<&Options::lto>},
    {"lto", "", Value::none, Use::option, lto, 0, set_switch<&Options::lto>},
    {"gen-opt-lto", "", Value::none, Use::refused, "an Image can't hold optimised LTO-IR"},
    {"ftemplate-backtrace-limit", "", Value::one, Use::passed, "-Xcudafe=--context_limit"},
    {"ftemplate-depth", "", Value::one, Use::passed, "-Xcudafe=--pending_instantiations"},
    {"no-exceptions", "noeh", Value::none, Use::ignored, host_code},
    {"shared", "", Value::none, Use::refused, links},
    {"x=cu", "", Value::none, Use::ignored, "is what every source is"},
    {"x", "", Value::one, Use::refused, "lode compiles CUDA C++"},
    {"std", "", Value::one, Use::option, "CompileOptions::standard", 0, set_standard},
    {"no-host-device-initializer-list", "nohdinitlist", Value::none, Use::passed,
     "--builtin-initializer-list=false"},
    {"no-host-device-move-forward", "nohdmoveforward", Value::none, Use::passed,
     "--builtin-move-forward=false"},
    // Constexpr functions without __device__; NVRTC has no other flag for them.
    {"expt-relaxed-constexpr", "", Value::none, Use::passed, "--device-as-default-execution-space"},
    {"extended-lambda", "", Value::none, Use::passed, lambda},
    {"expt-extended-lambda", "", Value::none, Use::passed, lambda},
    {"machine=64", "m=64", Value::none, Use::ignored, "is what every target is"},
    {"machine", "m", Value::one, Use::refused, "every target has 64 bits"},
    {"m64", "", Value::none, Use::ignored, "is what every target is"},
    {"compiler-options", "Xcompiler", Value::one, Use::refused,
     "it is for nvcc's host compiler; give definitions and folders as flags of their own"},
    {"linker-options", "Xlinker", Value::one, Use::refused, links},
    {"archive-options", "Xarchive", Value::one, Use::refused, links},
    {"ptxas-options", "Xptxas", Value::list, Use::passed, "--ptxas-options"},
    {"nvlink-options", "Xnvlink", Value::one, Use::refused, links},
    {"static-global-template-stub", "", Value::one, Use::ignored, host_code},
    {"device-entity-has-hidden-visibility", "", Value::one, Use::ignored, host_code},
    {"forward-unknown-to-host-compiler", "", Value::none, Use::refused, forwards},
    {"forward-unknown-to-host-linker", "", Value::none, Use::refused, forwards},
    {"forward-unknown-opts", "", Value::none, Use::refused, forwards},
    {"dont-use-profile", "noprof", Value::none, Use::ignored, building},
    {"dryrun", "", Value::none, Use::refused, asks},
    {"verbose", "v", Value::none, Use::ignored, building},
    {"threads", "t", Value::one, Use::ignored, building},
    {"split-compile", "", Value::one, Use::passed, "--split-compile"},
    {"split-compile-extended", "", Value::one, Use::refused, "it is for a link with LTO-IR"},
    {"fdevice-syntax-only", "", Value::none, Use::refused, "an Image needs code"},
    {"fdevice-time-trace", "", Value::one, Use::refused,
     "it writes a file, which a cached result wouldn't do"},
    {"keep", "", Value::none, Use::refused, writes},
    {"keep-dir", "", Value::one, Use::refused, writes},
    {"save-temps", "", Value::none, Use::refused, writes},
    {"clean-targets", "clean", Value::none, Use::refused, phase},
    {"time", "", Value::one, Use::passed, "--time", 1201},
    {"run-args", "", Value::one, Use::refused, phase},
    {"input-drive-prefix", "idp", Value::one, Use::ignored, host_tool},
    {"dependency-drive-prefix", "ddp", Value::one, Use::ignored, host_tool},
    {"drive-prefix", "dp", Value::one, Use::ignored, host_tool},
    {"dependency-target-name", "MT", Value::one, Use::refused, writes},
    {"no-align-double", "", Value::none, Use::ignored, host_code},
    {"no-device-link", "nodlink", Value::none, Use::refused, links},
    {"gpu-architecture", "arch", Value::one, Use::refused, from_device},
    {"gpu-code", "code", Value::one, Use::refused, from_device},
    {"generate-code", "gencode", Value::one, Use::refused, from_device},
    {"relocatable-device-code", "rdc", Value::one, Use::option, relocatable, 0, set_relocatable},
    {"entries", "e", Value::one, Use::refused, "an Image has all kernels of its source"},
    {"maxrregcount", "", Value::one, Use::option, "CompileOptions::max_registers", 0,
     set_max_registers},
    {"use_fast_math", "", Value::none, Use::option, math, 0, set_fast_math},
    {"ftz", "", Value::one, Use::option, math, 0, set_math<&Math::ftz>},
    {"prec-div", "", Value::one, Use::option, math, 0, set_math<&Math::prec_div>},
    {"prec-sqrt", "", Value::one, Use::option, math, 0, set_math<&Math::prec_sqrt>},
    {"fmad", "", Value::one, Use::option, math, 0, set_math<&Math::fmad>},
    {"extra-device-vectorization", "", Value::none, Use::passed, "--extra-device-vectorization"},
    {"default-stream", "", Value::one, Use::refused, "each launch names its stream"},
    {"disable-warnings", "w", Value::none, Use::passed, "--disable-warnings"},
    {"keep-device-functions", "", Value::none, Use::passed, "-Xcudafe=--keep-device-functions"},
    {"source-in-ptx", "src-in-ptx", Value::none, Use::refused, "use CompileOptions::line_info"},
    {"restrict", "", Value::none, Use::passed, "--restrict"},
    {"Wreorder", "", Value::none, Use::passed, "-Xcudafe=--diag_warn=out_of_order_ctor_init"},
    {"Wdefault-stream-launch", "", Value::none, Use::passed,
     "-Xcudafe=--diag_warn=default_stream_launch"},
    {"Wmissing-launch-bounds", "", Value::none, Use::passed,
     "-Xcudafe=--diag_warn=missing_launch_bounds"},
    {"Wext-lambda-captures-this", "", Value::none, Use::passed,
     "-Xcudafe=--diag_warn=this_addr_capture_ext_lambda"},
    {"Wno-deprecated-declarations", "", Value::none, Use::passed, no_deprecation},
    {"Wno-deprecated-gpu-targets", "", Value::none, Use::ignored, "is a warning of nvcc alone"},
    {"Werror=all-warnings", "", Value::none, Use::passed, "-Xcudafe=--promote_warnings"},
    {"Werror=cross-execution-space-call", "", Value::none, Use::ignored, "is always an error"},
    {"Werror=default-stream-launch", "", Value::none, Use::passed,
     "-Xcudafe=--diag_error=default_stream_launch"},
    {"Werror=deprecated-declarations", "", Value::none, Use::passed, deprecation_error},
    {"Werror=ext-lambda-captures-this", "", Value::none, Use::passed,
     "-Xcudafe=--diag_error=this_addr_capture_ext_lambda"},
    {"Werror=missing-launch-bounds", "", Value::none, Use::passed,
     "-Xcudafe=--diag_error=missing_launch_bounds"},
    {"Werror=reorder", "", Value::none, Use::passed,
     "-Xcudafe=--diag_error=out_of_order_ctor_init"},
    {"Werror", "", Value::list, Use::passed, ""},
    {"resource-usage", "res-usage", Value::none, Use::ignored, "is in Image::resources anyway"},
    {"extensible-whole-program", "ewp", Value::none, Use::passed, "--extensible-whole-program"},
    {"no-compress", "", Value::none, Use::ignored, packing},
    {"qpp-config", "", Value::one, Use::refused, tool},
    {"compile-as-tools-patch", "astoolspatch", Value::none, Use::refused, phase},
    {"list-gpu-code", "code-ls", Value::none, Use::refused, asks},
    {"list-gpu-arch", "arch-ls", Value::none, Use::refused, asks},
    {"display-error-number", "err-no", Value::none, Use::passed, "--display-error-number"},
    {"no-display-error-number", "no-err-no", Value::none, Use::passed, "--no-display-error-number"},
    {"diag-error", "", Value::one, Use::passed, "--diag-error"},
    {"diag-suppress", "", Value::one, Use::passed, "--diag-suppress"},
    {"diag-warn", "", Value::one, Use::passed, "--diag-warn"},
    {"host-linker-script", "hls", Value::one, Use::refused, links},
    {"augment-host-linker-script", "aug-hls", Value::none, Use::refused, links},
    {"relocatable-link", "r", Value::none, Use::refused, links},
    {"brief-diagnostics", "brief-diag", Value::one, Use::passed, "--brief-diagnostics", 1201},
    {"jump-table-density", "jtd", Value::one, Use::passed, "--jump-table-density", 1203},
    {"relocatable-ptx", "reloc-ptx", Value::none, Use::refused, links},
    {"device-stack-protector", "", Value::one, Use::passed, "--device-stack-protector", 1206},
    {"compress-mode", "", Value::one, Use::ignored, packing},
    {"frandom-seed", "", Value::one, Use::passed, "--frandom-seed", 1209},
    {"sanitize", "", Value::one, Use::refused,
     "use compute-sanitizer, or the checks of lode's software device"},
    {"jobserver", "", Value::none, Use::ignored, building},
    {"help", "h", Value::none, Use::refused, asks},
    {"version", "V", Value::none, Use::refused, asks},
    {"options-file", "optf", Value::one, Use::refused, "give the flags in that file themselves"},

    // NVRTC's own.
    {"device-as-default-execution-space", "default-device", Value::none, Use::passed,
     "--device-as-default-execution-space"},
    {"device-int128", "", Value::none, Use::passed, "--device-int128"},
    {"device-float128", "", Value::none, Use::passed, "--device-float128", 1208},
    {"builtin-initializer-list", "", Value::one, Use::passed, "--builtin-initializer-list"},
    {"builtin-move-forward", "", Value::one, Use::passed, "--builtin-move-forward"},
    {"no-source-include", "", Value::none, Use::passed, "--no-source-include"},
    {"Xcudafe", "", Value::list, Use::passed, "-Xcudafe"},
    {"minimal", "", Value::none, Use::option, "CompileOptions::minimal", 1204,
     set_switch<&Options::minimal>},
    {"enable-tile", "", Value::none, Use::option, tile, 0, set_tile<Tile::enabled>},
    {"tile-only", "", Value::none, Use::option, tile, 0, set_tile<Tile::only>},
    {"modify-stack-limit", "", Value::one, Use::refused, for_host},
    {"no-cache", "", Value::none, Use::refused, for_host},
};

}  // namespace

std::span<const NvccFlag> nvcc_flags() {
    return flag_table;
}

}  // namespace LODE_NAMESPACE
