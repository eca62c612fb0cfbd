// Error propagation inside lode. Private: no public header includes this.
#pragma once

#include <lode/base/error.hpp>

#include <utility>

#define LODE_CONCAT_(a, b) a##b
#define LODE_CONCAT(a, b) LODE_CONCAT_(a, b)

/// Evaluates `expression`; if it is an error, returns it from the enclosing function.
#define LODE_TRY(expression)                                                        \
    do {                                                                            \
        if (auto lode_tried_ = (expression); !lode_tried_)                          \
            return ::tl::unexpected<::lode::Error>(std::move(lode_tried_).error()); \
    } while (false)

/// Declares or assigns `target` from the value of `expression`; returns its error if it has one.
#define LODE_TRY_ASSIGN(target, expression) \
    LODE_TRY_ASSIGN_(LODE_CONCAT(lode_result_, __LINE__), target, expression)
#define LODE_TRY_ASSIGN_(result, target, expression)                                  \
    auto result = (expression);                                                       \
    if (!(result)) return ::tl::unexpected<::lode::Error>(std::move(result).error()); \
    target = *std::move(result)
