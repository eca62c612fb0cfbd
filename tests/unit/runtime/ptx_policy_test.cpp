#include "tests/support/variable.hpp"
#include "tests/unit/runtime/support.hpp"

#include <lode/jit/linker.hpp>

#include <string>
#include <string_view>

#include <fmt/format.h>

using namespace lode;
using namespace lode::test;

namespace {

constexpr std::string_view kernel =
    ".address_size 64\n.visible .entry k(.param .u64 x)\n{\n    ret;\n}\n";

std::string ptx_for(std::string_view version, std::string_view target) {
    return fmt::format(".version {}\n.target {}\n{}", version, target, kernel);
}

RuntimeOptions with_policy(PtxPolicy policy, JitPolicy jit = JitPolicy::allow) {
    return {.cache = CacheOptions{.mode = CacheMode::off, .policy = jit, .ptx = policy}};
}

}  // namespace

TEST_CASE("runtime: PTX becomes machine code in the cache only by its policy") {
    if (const auto linker = Linker().info(); !linker) {
        MESSAGE("skipped: " << linker.error().message);
        return;
    }
    const std::string ptx = ptx_for("7.8", "sm_80");
    const FakeMachine assembling({}, with_policy(PtxPolicy::assemble));
    const Device device = assembling.device();
    const auto first = require(device.compile_cached(Source::ptx(ptx)));
    CHECK(first.image->arch == *Arch::parse("sm_90"));
    CHECK_FALSE(first.image->cubin.empty());
    CHECK(first.image->ptx == ptx);
    CHECK(require(device.compile_cached(Source::ptx(ptx))).report.hit());
    // A suffix goes with the PTX.
    const auto special = require(device.compile_cached(Source::ptx(ptx_for("8.0", "sm_90a"))));
    CHECK(special.image->arch == *Arch::parse("sm_90a"));

    const FakeMachine leaving({}, with_policy(PtxPolicy::driver));
    const auto left = require(leaving.device().compile_cached(Source::ptx(ptx)));
    CHECK(left.image->cubin.empty());
    CHECK(left.report.not_kept == "it is PTX already");

    // What isn't in the cache isn't made.
    const FakeMachine forbidding({}, with_policy(PtxPolicy::assemble, JitPolicy::forbid));
    CHECK(require_error(forbidding.device().compile_cached(Source::ptx(ptx))).code ==
          Errc::not_found);
}

TEST_CASE(
    "runtime: PTX that nvJitLink can't assemble goes to the driver, and the report says why") {
    const auto report = [](const Source& source, FakeDriver::Options driver = {},
                           const KernelOptions& options = {}) {
        const FakeMachine machine(std::move(driver), with_policy(PtxPolicy::assemble));
        const auto cached = require(machine.device().compile_cached(source, options));
        CHECK(cached.image->cubin.empty());
        CHECK(cached.report.miss.reason == MissReason::ptx_source);
        CHECK(cached.report.not_kept == cached.report.miss.to_string());
        return cached.report.not_kept;
    };
    const Source source = Source::ptx(ptx_for("7.8", "sm_80"));
    CHECK_CONTAINS(report(source, {}, {.load = {.max_registers = 32}}), "LoadOptions");
    {
        const Variable forced("LODE_FORCE_PTX", "1");
        CHECK_CONTAINS(report(source), "LODE_FORCE_PTX");
    }
    {
        const Variable nowhere("LODE_NVJITLINK", "/nonexistent/libnvJitLink.so");
        CHECK_CONTAINS(report(source), "/nonexistent/libnvJitLink.so");
    }
    CHECK(report(Source::ptx(ptx_for("8.7", "sm_100"))) == "it is PTX already");
    if (!Linker().info()) return;
    CHECK(report(Source::ptx(ptx_for("99.0", "sm_80"))) ==
          "the driver compiles its PTX: this lode doesn't know its version");
    if (Linker().info()->version >= 13000)
        CHECK_CONTAINS(report(source, {.version = 12020}), "a driver of CUDA 12.2 doesn't load");
}
