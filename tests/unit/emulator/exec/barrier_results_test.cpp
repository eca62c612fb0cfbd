// Random programs with named barriers give the results of a model, on the executor and on devices.
#include "tests/unit/emulator/exec/barrier_programs.hpp"
#include "tests/unit/emulator/exec/opcode_bench.hpp"
#include "tests/unit/emulator/exec/random_programs.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace lode::emulator::exec::testing::barriers {

TEST_CASE("barriers: random programs without races have the results of a model") {
    std::string why;
    const std::unique_ptr<Bench> bench = make_bench(why);
    if (bench == nullptr) {
        MESSAGE("skipped: " << why);
        return;
    }
    const unsigned programs = testing::as_many(400);
    unsigned ran = 0;
    for (unsigned seed = 0; seed < programs; ++seed) {
        CAPTURE(seed);
        const BarrierProgram program = BarrierGenerator(seed, bench->is_executor()).program(false);
        const BarrierOutcome model = model_of(program);
        REQUIRE(model.ends);
        REQUIRE_FALSE(model.races);
        const std::string text = program.ptx();
        INFO(text);
        const std::string lacks = bench->load(text);
        if (!lacks.empty()) {
            REQUIRE_MESSAGE(bench->may_lack(lacks), lacks);
            continue;
        }
        ++ran;
        for (const std::uint64_t order : {0, 5}) {
            if (order != 0 && !bench->is_executor()) continue;
            std::vector<std::byte> in(8);
            std::vector<std::uint32_t> results(program.threads);
            const Bench::Ended ended =
                bench->run(1, program.threads, in, std::as_writable_bytes(std::span(results)),
                           std::as_bytes(std::span("\0\0\0\0\0\0\0")), order);
            CAPTURE(order);
            REQUIRE_MESSAGE(ended.fault == Fault::none, ended.report);
            CHECK(results == model.results);
        }
    }
    MESSAGE(ran, " of ", programs, " programs ran");
    CHECK(ran == programs);
    if (const std::string summary = bench->summary(); !summary.empty()) MESSAGE(summary);
}

}  // namespace lode::emulator::exec::testing::barriers
