// A runtime on a fake driver, and its first device.
#pragma once

#include "tests/support/fake_driver.hpp"
#include "tests/support/result.hpp"

#include <lode/lode.hpp>

#include <doctest/doctest.h>

namespace lode::test {

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
