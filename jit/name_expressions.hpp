// Name expressions that name nothing: finding out which, and what there is instead.
#pragma once

#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode {

/// The expressions that a failed compilation's diagnostics complain about, in the caller's order.
/// Empty when the source itself is wrong, or when nothing is wrong with a name.
std::vector<std::string> wrong_names(std::span<const std::string> expressions,
                                     std::span<const Diagnostic> diagnostics);

/// The kernels of a source: those in `ptx` (lowered names, shown as C++ writes them) and those
/// that the text declares, which finds templates too: "ns::scale<...>". Sorted, each once.
std::vector<std::string> kernel_names(std::string_view code, std::string_view ptx);

/// not_found for `wrong` names, with the kernels there are, a suggestion and the log.
tl::unexpected<Error> fail_for_names(std::span<const std::string> wrong,
                                     std::span<const std::string> kernels,
                                     std::span<const Diagnostic> diagnostics,
                                     std::string_view source_name, std::string log);

}  // namespace lode
