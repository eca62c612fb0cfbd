#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/runtime.hpp>

#include <string>
#include <vector>

using namespace lode;
using namespace lode::emulator_test;

namespace {

constexpr const char* fill_ptx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry fill(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r1;
    ret;
}
)";

/// A whole program: load, allocate, launch, wait, time, read back.
Result<std::vector<unsigned>> program() {
    auto runtime = Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}});
    if (!runtime) return tl::unexpected(runtime.error());
    auto device = runtime->device(0);
    if (!device) return tl::unexpected(device.error());
    auto fill = device->load<void(unsigned*, unsigned)>(Source::ptx(fill_ptx), "fill");
    if (!fill) return tl::unexpected(fill.error());
    auto memory = device->alloc<unsigned>(32);
    if (!memory) return tl::unexpected(memory.error());
    if (auto done = memory->zero(); !done) return tl::unexpected(done.error());
    auto stream = device->create_stream();
    if (!stream) return tl::unexpected(stream.error());
    auto event = device->create_event();
    if (!event) return tl::unexpected(event.error());
    const LaunchShape shape{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    if (auto done = fill->launch(*stream, shape, *memory, 7U); !done)
        return tl::unexpected(done.error());
    if (auto done = stream->sync(); !done) return tl::unexpected(done.error());
    return memory->to_vector();
}

}  // namespace

TEST_CASE("emulated runtime: whatever call fails, the error names it and nothing stays alive") {
    const auto fail_call = control<decltype(lode_emulator_fail_call)>("lode_emulator_fail_call");
    const auto failed_call =
        control<decltype(lode_emulator_failed_call)>("lode_emulator_failed_call");
    bool ended = false;
    int failures = 0;
    for (unsigned long n = 1; n < 500 && !ended; ++n) {
        CAPTURE(n);
        reset();
        fail_call(n, 999);  // CUDA_ERROR_UNKNOWN
        const auto result = program();
        const char* const hit = failed_call();
        const std::string call = hit == nullptr ? "no call" : hit;
        CAPTURE(call);
        ended = hit == nullptr;
        if (ended) {
            CHECK(require(result) == std::vector<unsigned>(32, 7U));
        } else {
            // A failed release doesn't fail the program; it is logged.
            if (!result) {
                ++failures;
                CHECK(result.error().message.find(call) != std::string::npos);
                CHECK(result.error().native.name == "CUDA_ERROR_UNKNOWN");
            }
        }
        // An object can't be released without its context; it is freed with the context.
        const bool may_leak = call == "cuCtxPushCurrent";
        for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind) {
            CAPTURE(kind);
            if (kind == LODE_EMULATOR_LEAKS && may_leak) continue;
            CHECK(live(kind) == 0);
        }
    }
    CHECK(ended);
    CHECK(failures > 20);
}
