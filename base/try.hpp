// Propagation of errors inside lode's own bodies. Private: no public header includes this.
#pragma once

#include <lode/base/error.hpp>

#include <utility>

namespace lode {

/// The successful Status, for hot paths: it writes the flag alone, where `return {}` zeroes the
/// room for an Error first (GCC 12, through tl::expected's constexpr constructor: 15 words).
[[nodiscard]] inline Status success() noexcept {
    Status status;
    return Status(std::move(status));
}

}  // namespace lode

#define LODE_CONCAT_(a, b) a##b
#define LODE_CONCAT(a, b) LODE_CONCAT_(a, b)

/// Returns from the enclosing function with the error of `expression`, if it has one.
#define LODE_TRY(expression)                                                        \
    do {                                                                            \
        if (auto lode_status = (expression); !lode_status)                          \
            return ::tl::unexpected<::lode::Error>(std::move(lode_status).error()); \
    } while (false)

/// Declares or assigns `target` from the value of `expression`, or returns its error.
#define LODE_TRY_ASSIGN(target, expression) \
    LODE_TRY_ASSIGN_(LODE_CONCAT(lode_result_, __LINE__), target, expression)
#define LODE_TRY_ASSIGN_(result, target, expression)                                  \
    auto result = (expression);                                                       \
    if (!(result)) return ::tl::unexpected<::lode::Error>(std::move(result).error()); \
    target = *std::move(result)
