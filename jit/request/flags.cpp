#include "jit/request/flags.hpp"

#include "base/foreign_environment.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {
namespace {

/// Extra flags of NVRTC after which later compilations give what they give in a new process,
/// without leading dashes and values: found by tests/cache_oracle/sequences with every version. Of
/// all other flags this isn't known.
constexpr std::string_view traceless_flags[] = {"Xptxas",
                                                "brief-diagnostics",
                                                "builtin-initializer-list",
                                                "builtin-move-forward",
                                                "default-device",
                                                "device-as-default-execution-space",
                                                "device-float128",
                                                "device-int128",
                                                "device-stack-protector",
                                                "diag-error",
                                                "diag-remark",
                                                "diag-suppress",
                                                "diag-warn",
                                                "disable-warnings",
                                                "display-error-number",
                                                "err-no",
                                                "ewp",
                                                "extensible-whole-program",
                                                "extra-device-vectorization",
                                                "fdevice-syntax-only",
                                                "jump-table-density",
                                                "no-display-error-number",
                                                "no-err-no",
                                                "no-source-include",
                                                "ptxas-options",
                                                "split-compile",
                                                "version-ident",
                                                "w"};

/// The same of nvJitLink.
constexpr std::string_view traceless_link_flags[] = {"Xptxas",   "fma",       "ftz",
                                                     "prec-div", "prec-sqrt", "verbose"};

std::string_view name_of(std::string_view flag) {
    flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
    return flag.substr(0, flag.find_first_of("= "));
}

bool are_among(std::span<const std::string_view> names, std::span<const std::string> flags) {
    return std::ranges::all_of(flags, [&](std::string_view flag) {
        return std::ranges::find(names, name_of(flag)) != names.end();
    });
}

}  // namespace

bool leaves_traces(const CompileOptions& options) {
    // NVRTC adds these flags to every compilation.
    if (foreign_environment("NVRTC_APPEND_FLAGS")) return true;
    return options.debug || !are_among(traceless_flags, options.extra_flags);
}

bool leaves_traces(const CompileRequest& request) {
    return leaves_traces(request.options) ||
           (request.source.language() == Source::Language::llvm_ir &&
            request.options.math != Math{});
}

bool leaves_traces(const LinkOptions& options) {
    return options.optimization_level == 0 || !are_among(traceless_link_flags, options.extra_flags);
}

std::string_view worker_reason(const CompileRequest& request) {
    if (needs_worker(request.source.language())) return llvm_reason;
    return leaves_traces(request) ? trace_reason : std::string_view();
}

}  // namespace LODE_NAMESPACE
