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
    for (const auto& flag : options.extra_flags) {
        if (is_flag(flag)) continue;
        return fail_for_option(request, fmt::format("the extra flag '{}'", flag),
                               "libNVVM's flags without an option are -opt=0, -opt=3 and "
                               "-jump-table-density=N, with N from 0 to 101");
    }

    IrFlags flags{{"-arch=" + request.arch.as_virtual().to_string()}, {}};
    std::ranges::move(math_flags(options.math), std::back_inserter(flags.compiler));
    if (options.debug)
        std::ranges::move(std::vector<std::string>{"-g", "-opt=0"},
                          std::back_inserter(flags.compiler));
    std::ranges::copy_if(
        options.extra_flags, std::back_inserter(flags.compiler),
        [&](const std::string& flag) { return !options.debug || !flag.starts_with("-opt="); });
    if (options.lto) flags.compiler.emplace_back("-gen-lto");
    flags.link.max_registers = options.max_registers;
    flags.link.line_info = options.line_info && !options.debug;
    flags.link.debug = options.debug;
    flags.link.verbose = true;  // For Image::resources.
    return flags;
}

}  // namespace LODE_NAMESPACE
