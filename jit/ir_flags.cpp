#include "base/try.hpp"
#include "jit/compile_ir.hpp"
#include "jit/request/refused_options.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// The members of CompileOptions that IR has too, or that change nothing for it.
constexpr std::string_view ir_members[] = {"math",  "max_registers", "line_info",
                                           "debug", "source_files",  "relocatable",
                                           "lto",   "extra_flags",   "toolkit_headers"};

/// libNVVM's documented flags that have no member.
bool is_flag(std::string_view flag) {
    if (flag == "-opt=0" || flag == "-opt=3") return true;
    constexpr std::string_view density = "-jump-table-density=";
    constexpr int most = 101;
    if (!flag.starts_with(density)) return false;
    const std::string_view value = flag.substr(density.size());
    int number = -1;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
    return problem == std::errc() && end == value.data() + value.size() && number >= 0 &&
           number <= most;
}

std::vector<std::string> math_flags(const Math& math) {
    const bool is_fast = math.preset == Math::Preset::fast;
    const auto flag = [](std::string_view name, bool value) {
        return fmt::format("-{}={}", name, value ? 1 : 0);
    };
    return {flag("ftz", math.ftz.value_or(is_fast)),
            flag("prec-div", math.prec_div.value_or(!is_fast)),
            flag("prec-sqrt", math.prec_sqrt.value_or(!is_fast)),
            flag("fma", math.fmad.value_or(math.preset != Math::Preset::host_comparable))};
}

Result<std::vector<std::string>> nvvm_flags(const CompileRequest& request) {
    const CompileOptions& options = request.options;
    for (const auto& flag : options.extra_flags) {
        if (is_flag(flag)) continue;
        return fail_for_option(request, fmt::format("the extra flag '{}'", flag),
                               "libNVVM's flags without an option are -opt=0, -opt=3 and "
                               "-jump-table-density=N, with N from 0 to 101");
    }
    std::vector<std::string> flags = {"-arch=" + request.arch.as_virtual().to_string()};
    std::ranges::move(math_flags(options.math), std::back_inserter(flags));
    if (options.debug)
        std::ranges::move(std::vector<std::string>{"-g", "-opt=0"}, std::back_inserter(flags));
    std::ranges::copy_if(
        options.extra_flags, std::back_inserter(flags),
        [&](const std::string& flag) { return !options.debug || !flag.starts_with("-opt="); });
    if (options.lto) flags.emplace_back("-gen-lto");
    return flags;
}

bool is_level(std::string_view flag) {
    return flag.size() == 3 && flag.starts_with("-O") && flag[2] >= '0' && flag[2] <= '3';
}

/// "-mattr=+ptx83"
bool is_ptx_version(std::string_view flag) {
    constexpr std::string_view before = "-mattr=+ptx";
    return flag.starts_with(before) && flag.size() == before.size() + 2 &&
           std::ranges::all_of(flag.substr(before.size()),
                               [](char digit) { return digit >= '0' && digit <= '9'; });
}

/// The flags that opt and llc have for the same.
Result<std::vector<std::string>> llvm_flags(const CompileRequest& request) {
    const CompileOptions& options = request.options;
    const Math& math = options.math;
    const bool is_fast = math.preset == Math::Preset::fast;
    if (options.lto)
        return fail_for_option(request, "CompileOptions::lto",
                               "LLVM writes no LTO-IR, which is NVIDIA's");
    if (math.fmad || math.preset == Math::Preset::host_comparable) {
        return fail_for_option(request, "a choice of Math::fmad",
                               "each of its instructions tells whether it may be fused");
    }
    std::string level = options.debug ? "-O0" : "-O3";
    std::string version;
    for (const auto& flag : options.extra_flags) {
        if (is_level(flag)) {
            if (!options.debug) level = flag;
        } else if (is_ptx_version(flag)) {
            version = flag;
        } else {
            return fail_for_option(
                request, fmt::format("the extra flag '{}'", flag),
                "LLVM's flags without an option are -O0 to -O3, and -mattr=+ptx83 for "
                "PTX 8.3");
        }
    }
    std::vector<std::string> flags = {"-mcpu=" + request.arch.as_real().to_string(), level};
    if (!version.empty()) flags.push_back(version);
    if (options.debug || options.line_info) flags.emplace_back("-g");
    if (math.ftz.value_or(is_fast)) flags.emplace_back("-denormal-fp-math-f32=preserve-sign");
    if (!math.prec_div.value_or(!is_fast)) flags.emplace_back("-nvptx-prec-divf32=0");
    if (!math.prec_sqrt.value_or(!is_fast)) flags.emplace_back("-nvptx-prec-sqrtf32=0");
    return flags;
}

}  // namespace

Result<IrFlags> ir_flags(const CompileRequest& request) {
    const CompileOptions& options = request.options;
    const bool makes_code = request.arch.is_real() && !options.lto;
    if (const auto member = refused_member(options, ir_members); !member.empty()) {
        return fail_for_option(request, "CompileOptions::" + member,
                               "it is an option of a C++ front end, which IR has passed already");
    }
    if (!request.name_expressions.empty()) {
        return fail_for_option(
            request, fmt::format("the name expression '{}'", request.name_expressions.front()),
            "only C++ has templates; name a kernel by its symbol");
    }
    if (options.relocatable && makes_code) {
        return fail_for_option(
            request, "CompileOptions::relocatable",
            fmt::format("its machine code is linked already. Compile for {}, whose PTX "
                        "can be linked, or with CompileOptions::lto",
                        request.arch.as_virtual().to_string()));
    }
    if (options.max_registers > 0 && !makes_code) {
        return fail_for_option(
            request, "CompileOptions::max_registers",
            "it is a limit of machine code, and the image has none. Give it to the "
            "linker, or annotate the kernel in the IR");
    }
    constexpr int most_registers = 255;
    if (options.max_registers < 0 || options.max_registers > most_registers) {
        return fail(
            Errc::invalid_argument,
            fmt::format("The maximum number of registers per thread ({}) is outside [0, {}].",
                        options.max_registers, most_registers));
    }
    IrFlags flags;
    const bool is_llvm = request.source.language() == Source::Language::llvm_ir;
    LODE_TRY_ASSIGN(flags.compiler, is_llvm ? llvm_flags(request) : nvvm_flags(request));
    flags.link.max_registers = options.max_registers;
    flags.link.line_info = options.line_info && !options.debug;
    flags.link.debug = options.debug;
    flags.link.verbose = true;  // For Image::resources.
    return flags;
}

}  // namespace LODE_NAMESPACE
