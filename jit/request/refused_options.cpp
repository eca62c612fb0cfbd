#include "jit/request/refused_options.hpp"

#include "jit/request/options_fields.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

std::string refused_member(const CompileOptions& options, std::span<const std::string_view> kept) {
    static const auto& usual = *new CompileOptions;  // A thread may outlive exit()'s destructors.
    std::string refused;
    each_field(options, [&](const char* name, const auto& value, auto /*flag*/) {
        if (std::ranges::find(kept, name) != kept.end()) return;
        each_field(usual, [&](std::string_view other, const auto& unset, auto /*flag*/) {
            if constexpr (std::is_same_v<decltype(value), decltype(unset)>) {
                if (other == name && value != unset && refused.empty()) refused = name;
            }
        });
    });
    return refused;
}

tl::unexpected<Error> fail_for_option(const CompileRequest& request, std::string_view what,
                                      std::string_view why) {
    return fail(Errc::invalid_argument,
                fmt::format("'{}' is {}, which {} doesn't apply to: {}.", request.source.name(),
                            to_string(request.source.language()), what, why));
}

}  // namespace LODE_NAMESPACE
