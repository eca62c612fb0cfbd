// Operations on matrices on a GPU of compute capability 9.0 and on the software device, from the
// same PTX: the results must have the same bits.
#include "tests/gpu/opcodes_bench.hpp"
#include "tests/unit/emulator/exec/tensor_programs.hpp"

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

/// A GPU; nothing, with a message, if there is none or it isn't of compute capability 9.0.
std::unique_ptr<Bench> open_gpu() {
    auto runtime = Runtime::open();
    if (!runtime || runtime->device_count() == 0 || runtime->driver().is_emulator()) {
        MESSAGE("skipped: no GPU");
        return nullptr;
    }
    const auto device = runtime->device();
    if (!device || device->cc() != ComputeCapability(9, 0)) {
        MESSAGE("skipped: the GPU isn't of compute capability 9.0");
        return nullptr;
    }
    std::string why;
    auto bench = make_device_bench(*std::move(runtime), why);
    REQUIRE_MESSAGE(bench != nullptr, why);
    return bench;
}

std::unique_ptr<Bench> open_emulator() {
    auto runtime = Runtime::open({.driver = {.emulator = true}});
    if (!runtime) FAIL(runtime.error().describe());
    std::string why;
    auto bench = make_device_bench(*std::move(runtime), why);
    REQUIRE_MESSAGE(bench != nullptr, why);
    return bench;
}

void compare(const std::vector<TensorProgram>& programs) {
    const auto gpu = open_gpu();
    if (gpu == nullptr) return;
    const auto emulator = open_emulator();
    std::size_t compared = 0;
    for (const TensorProgram& program : programs) {
        INFO(program.opcodes.back());
        std::string why = gpu->load(program.ptx);
        if (!why.empty()) {
            CHECK_MESSAGE(why.find("not supported on .target") != std::string::npos, why);
            continue;
        }
        ++compared;
        const Words want = run_program(*gpu, program, why);
        REQUIRE_MESSAGE(why.empty(), why);
        const Words got = run_program(*emulator, program, why);
        REQUIRE_MESSAGE(why.empty(), why);
        CHECK_MESSAGE(program.wrong(want).empty(), program.wrong(want));
        const auto [a, b] = std::ranges::mismatch(want, got);
        if (a != want.end()) {
            FAIL_CHECK(fmt::format("Word {} is 0x{:08x} on the GPU and 0x{:08x} on the emulator.",
                                   a - want.begin(), *a, *b));
        }
    }
    MESSAGE(compared << " programs gave the same bits or are listed above; the GPU lacks the "
                     << "instructions of " << programs.size() - compared << '.');
    CHECK(compared > 0);
}

}  // namespace

TEST_CASE("gpu tensor: products of matrices in registers have the same bits") {
    compare(register_programs());
}

TEST_CASE("gpu tensor: matrices in memory have the same bits") {
    compare(memory_programs());
}

}  // namespace lode::emulator::exec::testing
