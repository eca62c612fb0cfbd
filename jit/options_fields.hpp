// The members of options by name, for what treats all of them alike: workers' messages, recordings,
// manifests. A struct is taken apart as a whole, so that a new member doesn't compile here until it
// is visited.
#pragma once

#include <lode/jit/linker.hpp>
#include <lode/jit/options.hpp>

#include <concepts>
#include <type_traits>

namespace LODE_NAMESPACE {

/// `Value`, const or not.
template <class Given, class Value>
concept FieldsOf = std::same_as<std::remove_const_t<Given>, Value>;

/// Calls visit(name, member) for each member, in the order of their declaration.
template <FieldsOf<CompileOptions> Options>
void each_field(Options& options, const auto& visit) {
    auto& [definitions, include_folders, headers, pre_includes, standard, math, max_registers,
           line_info, debug, source_files, relocatable, lto, minimal, tile, toolkit_headers,
           extra_flags] = options;
    visit("definitions", definitions);
    visit("include_folders", include_folders);
    visit("headers", headers);
    visit("pre_includes", pre_includes);
    visit("standard", standard);
    visit("math", math);
    visit("max_registers", max_registers);
    visit("line_info", line_info);
    visit("debug", debug);
    visit("source_files", source_files);
    visit("relocatable", relocatable);
    visit("lto", lto);
    visit("minimal", minimal);
    visit("tile", tile);
    visit("toolkit_headers", toolkit_headers);
    visit("extra_flags", extra_flags);
}

template <FieldsOf<Math> Options>
void each_field(Options& math, const auto& visit) {
    auto& [preset, ftz, prec_div, prec_sqrt, fmad] = math;
    visit("preset", preset);
    visit("ftz", ftz);
    visit("prec_div", prec_div);
    visit("prec_sqrt", prec_sqrt);
    visit("fmad", fmad);
}

template <FieldsOf<LinkOptions> Options>
void each_field(Options& options, const auto& visit) {
    auto& [max_registers, line_info, debug, verbose, extra_flags, lto, optimization_level,
           split_compile, kernels_used, variables_used, drop_unused_variables] = options;
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
}

}  // namespace LODE_NAMESPACE
