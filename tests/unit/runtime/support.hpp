// A runtime on a fake driver, and its first device.
#pragma once

#include "tests/support/fake_driver.hpp"

#include <lode/lode.hpp>

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

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// CHECKs that a message contains a part; shows the message if it doesn't.
#define CHECK_CONTAINS(text, part)                      \
    do {                                                \
        const std::string lode_text(text);              \
        INFO(lode_text);                                \
        CHECK(::lode::test::contains(lode_text, part)); \
    } while (false)

/// A fake driver and a Runtime on it.
struct FakeMachine {
    explicit FakeMachine(FakeDriver::Options options = {}, RuntimeOptions runtime_options = {})
        : driver(std::move(options)),
          runtime(require(
              Runtime::with_driver(require(driver.open(runtime_options.log)), runtime_options))) {}

    [[nodiscard]] Device device(int ordinal = 0) const { return require(runtime.device(ordinal)); }
    [[nodiscard]] UntypedKernel kernel(std::string_view entry) const {
        const auto library = require(device().load(cubin_image({entry})));
        return require(library.kernel(entry.substr(0, entry.find('('))));
    }

    FakeDriver driver;
    Runtime runtime;
};

inline constexpr std::string_view saxpy_entry =
    "saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)";

}  // namespace lode::test
