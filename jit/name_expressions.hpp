// Name expressions that match nothing: finds out which, and suggests existing names.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE {

/// The expressions that a failed compilation's diagnostics complain about, in the caller's order.
/// Empty if the source itself is wrong, or if no name is wrong. `log` is what the diagnostics were
/// read from.
std::vector<std::string> wrong_names(std::span<const std::string> expressions,
                                     std::span<const Diagnostic> diagnostics, std::string_view log);

/// The kernels of a source: those in `ptx` (lowered names, shown in C++ form) and those that the
/// text declares, including templates: "ns::scale<...>". Sorted, without duplicates.
std::vector<std::string> kernel_names(std::string_view code, std::string_view ptx);

/// The parameters of the template that declares a kernel, as the text writes them: "<class T, int
/// n>". Empty if no template has the name, which may have arguments.
std::string_view template_parameters(std::string_view code, std::string_view kernel);

/// not_found for `wrong` names of a source with the text `code`, with the existing kernels, a
/// suggestion and the log.
tl::unexpected<Error> fail_for_names(std::span<const std::string> wrong,
                                     std::span<const std::string> kernels, std::string_view code,
                                     std::span<const Diagnostic> diagnostics,
                                     std::string_view source_name, std::string log);

}  // namespace LODE_NAMESPACE
