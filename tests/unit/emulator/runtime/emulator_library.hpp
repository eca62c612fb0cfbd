// The emulator's library in end-to-end tests of lode.
#pragma once

#include "emulator/driver/control.h"
#include "tests/support/result.hpp"

#include <lode/base/error.hpp>

#include <utility>

#include <dlfcn.h>
#include <doctest/doctest.h>

namespace lode::emulator_test {

using test::require;

/// A function of the emulator's test interface.
template <class Function>
Function* control(const char* name) {
    static void* const library = dlopen(LODE_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    void* const address = dlsym(library, name);
    REQUIRE_MESSAGE(address != nullptr, name);
    return reinterpret_cast<Function*>(address);
}

/// Resets the emulator as if the process had just started: reads LODE_EMULATOR_DEVICES again.
inline void reset() {
    REQUIRE(control<decltype(lode_emulator_reset)>("lode_emulator_reset")(nullptr) == 0);
}

inline long live(int kind) {
    return control<decltype(lode_emulator_live)>("lode_emulator_live")(kind);
}

}  // namespace lode::emulator_test
