// Which options a language other than CUDA C++ doesn't have.
#pragma once

#include <lode/base/error.hpp>
#include <lode/jit/compile_request.hpp>

#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// The first member of options that is set and isn't kept; empty if there is none. A new member is
/// one of these until a language keeps it.
[[nodiscard]] std::string refused_member(const CompileOptions& options,
                                         std::span<const std::string_view> kept);

/// The error of a request with `what`, which has no meaning for its language, with the reason as a
/// clause.
[[nodiscard]] tl::unexpected<Error> fail_for_option(const CompileRequest& request,
                                                    std::string_view what, std::string_view why);

}  // namespace LODE_NAMESPACE
