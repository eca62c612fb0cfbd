// Results and messages in tests.
#pragma once

#include "tests/support/text.hpp"

#include <lode/base/error.hpp>

#include <string>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

namespace lode::test {

/// Returns the value, or fails the test with the whole error.
template <class T>
T require(Result<T> result) {
    if (!result) FAIL(result.error().describe());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// Returns the error of a call that must fail.
template <class T>
Error require_error(Result<T> result) {
    REQUIRE_FALSE(result.has_value());
    return std::move(result).error();
}

/// CHECKs that a message contains a part; shows the message if it doesn't.
#define CHECK_CONTAINS(text, part)                      \
    do {                                                \
        const std::string lode_text(text);              \
        INFO(lode_text);                                \
        CHECK(::lode::test::contains(lode_text, part)); \
    } while (false)

}  // namespace lode::test
