// The software device in tests of memory: a fresh machine, a kernel, and errors.
#pragma once

#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace lode::emulator_test {

/// A runtime on a fresh machine; checks at the end that nothing is left.
struct MemoryMachine {
    explicit MemoryMachine(const char* devices = "sm_90") {
        setenv("LODE_EMULATOR_DEVICES", devices, 1);
        reset();
        runtime = require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    }
    ~MemoryMachine() {
        runtime.reset();
        for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
            CAPTURE(kind);
            CHECK(live(kind) == 0);
        }
    }
    MemoryMachine(const MemoryMachine&) = delete;
    MemoryMachine& operator=(const MemoryMachine&) = delete;
    [[nodiscard]] Device device(int ordinal = 0) const { return require(runtime->device(ordinal)); }

    std::optional<Runtime> runtime;
};

inline constexpr std::string_view add_ptx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(.param .u64 to, .param .u32 n)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}
)";

using AddOne = Kernel<void(std::uint32_t*, std::uint32_t)>;

inline AddOne load_add_one(const Device& device) {
    return require(device.load<void(std::uint32_t*, std::uint32_t)>(
        Source::ptx(std::string(add_ptx), "add_one.ptx"), "add_one"));
}

inline Error failure_of(const auto& result) {
    REQUIRE_FALSE(result.has_value());
    return result.error();
}

inline bool says(const Error& error, std::string_view part) {
    return error.message.find(part) != std::string::npos;
}

}  // namespace lode::emulator_test
