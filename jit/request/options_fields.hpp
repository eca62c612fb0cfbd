// The members of options by name and flag: for flags, keys, workers' messages, recordings and
// manifests. A struct is taken apart as a whole, so that a new member doesn't compile here until it
// is visited, and then not until flags and keys treat it.
#pragma once

#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <concepts>
#include <type_traits>

namespace LODE_NAMESPACE {

/// `Value`, const or not.
template <class Given, class Value>
concept FieldsOf = std::same_as<std::remove_const_t<Given>, Value>;

/// A member's flag: the whole of a switch, and what precedes any other value.
struct Flag {
    const char* text;
};
/// The member's type has flags of its own, which compile_flags() knows.
struct OwnFlags {};
/// The member has no flag; request_key() adds it to the key.
struct NoFlag {};

/// Calls visit(name, member, flag) for each member, in the order of the flags and of the key.
template <FieldsOf<CompileOptions> Options>
void each_field(Options& options, const auto& visit) {
    auto& [definitions, include_folders, headers, pre_includes, standard, math, max_registers,
           line_info, debug, source_files, relocatable, lto, minimal, tile, optix_ir,
           toolkit_headers, extra_flags] = options;
    visit("standard", standard, Flag{"--std="});
    visit("definitions", definitions, Flag{"-D"});
    visit("include_folders", include_folders, Flag{"-I"});
    visit("toolkit_headers", toolkit_headers, NoFlag{});
    visit("headers", headers, NoFlag{});
    visit("pre_includes", pre_includes, Flag{"--pre-include="});
    visit("math", math, OwnFlags{});
    visit("max_registers", max_registers, Flag{"--maxrregcount="});
    visit("line_info", line_info, Flag{"--generate-line-info"});
    visit("debug", debug, Flag{"--device-debug"});
    visit("source_files", source_files, NoFlag{});
    visit("relocatable", relocatable, Flag{"--relocatable-device-code=true"});
    visit("lto", lto, Flag{"--dlink-time-opt"});
    visit("minimal", minimal, Flag{"--minimal"});
    visit("tile", tile, OwnFlags{});
    visit("optix_ir", optix_ir, Flag{"--optix-ir"});
    visit("extra_flags", extra_flags, OwnFlags{});
}

template <FieldsOf<Math> Options>
void each_field(Options& math, const auto& visit) {
    auto& [preset, ftz, prec_div, prec_sqrt, fmad] = math;
    visit("preset", preset, OwnFlags{});
    visit("ftz", ftz, Flag{"--ftz="});
    visit("prec_div", prec_div, Flag{"--prec-div="});
    visit("prec_sqrt", prec_sqrt, Flag{"--prec-sqrt="});
    visit("fmad", fmad, Flag{"--fmad="});
}

/// Calls visit(name, member) for each member.
template <FieldsOf<LinkOptions> Options>
void each_field(Options& options, const auto& visit) {
    auto& [max_registers, line_info, debug, verbose, extra_flags, lto, optimization_level,
           split_compile, kernels_used, variables_used, drop_unused_variables, keep_lto_ir] =
        options;
    visit("max_registers", max_registers);
    visit("line_info", line_info);
    visit("debug", debug);
    visit("verbose", verbose);
    visit("extra_flags", extra_flags);
    visit("lto", lto);
    visit("optimization_level", optimization_level);
    visit("split_compile", split_compile);
    visit("kernels_used", kernels_used);
    visit("variables_used", variables_used);
    visit("drop_unused_variables", drop_unused_variables);
    visit("keep_lto_ir", keep_lto_ir);
}

}  // namespace LODE_NAMESPACE
