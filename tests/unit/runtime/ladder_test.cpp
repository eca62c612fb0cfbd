// The arch ladder as a device climbs it: LODE_FORCE_PTX, drivers of other versions, refused PTX.
#include "tests/unit/runtime/support.hpp"

#include <lode/jit/linker.hpp>

#include <cstdlib>

using namespace lode;
using namespace lode::test;

namespace {

/// LODE_FORCE_PTX=1 for a scope.
class ForcedPtx {
public:
    ForcedPtx() { ::setenv("LODE_FORCE_PTX", "1", 1); }
    ~ForcedPtx() { ::unsetenv("LODE_FORCE_PTX"); }
    ForcedPtx(const ForcedPtx&) = delete;
    ForcedPtx& operator=(const ForcedPtx&) = delete;
};

}  // namespace

TEST_CASE("ladder: LODE_FORCE_PTX compiles to PTX and loads PTX beside machine code") {
    FakeMachine machine;
    const Device device = machine.device();
    const ForcedPtx forced;
    machine.driver.jit_log = "the driver's compiler ran";
    CHECK(require(device.load(cubin_image({"k()"}))).load_log() == "the driver's compiler ran");
    const auto target = device.target();
    if (!target) {
        CHECK(target.error().code == Errc::compiler_missing);
        return;
    }
    CHECK(target->arch.to_string() == "compute_90");
    CHECK(target->route == CodeRoute::driver_jit);
}

TEST_CASE("ladder: LODE_FORCE_PTX refuses machine code alone") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto cubin_alone = cubin_image({"k()"}, false);
    CHECK(device.load(cubin_alone));
    const ForcedPtx forced;
    const auto refused = require_error(device.load(cubin_alone));
    CHECK(refused.code == Errc::unsupported_arch);
    CHECK_CONTAINS(refused.message, "LODE_FORCE_PTX");
}

TEST_CASE("ladder: a driver older than the compiler's major version gets no machine code of it") {
    FakeMachine machine(FakeDriver::Options{.version = 12040});
    const Device device = machine.device();
    const Compiler compiler;
    const auto info = compiler.info();
    if (!info || info->version_major < 13) {
        MESSAGE("skipped: it takes an NVRTC of CUDA 13 or newer");
        return;
    }
    const auto target = device.target();
    if (target) {
        // PTX through the nvJitLink of the driver's own major version.
        CHECK(target->route != CodeRoute::machine_code);
        return;
    }
    CHECK(target.error().code == Errc::unsupported_arch);
    CHECK_CONTAINS(target.error().message, "12.4");
}

TEST_CASE("ladder: PTX that the driver refuses is loaded as what nvJitLink makes of it") {
    std::vector<std::string> lines;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::info) lines.emplace_back(line);
                             })});
    const Device device = machine.device();
    machine.driver.ptx_result = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    machine.driver.real_cubin_ptx = ptx_of({"k(.param .u32 n)"});
    const auto library = device.load(ptx_image({"k(.param .u32 n)"}));
    if (!Linker({.driver_version = 13000}).info()) {
        REQUIRE_FALSE(library);
        CHECK(library.error().code == Errc::driver_too_old);
        CHECK_CONTAINS(library.error().message, "no nvJitLink library is available");
        return;
    }
    if (!library) FAIL(library.error().describe());
    CHECK(machine.driver.calls("cuLibraryLoadData") == 2);
    CHECK(library->kernel("k"));
    REQUIRE_FALSE(lines.empty());
    CHECK_CONTAINS(lines.back(), "loads 'fake.cu' as sm_90 by nvJitLink");
}

TEST_CASE("ladder: when the linked code is refused too, both reasons are told and nothing stays") {
    FakeMachine machine;
    const Device device = machine.device();
    (void)require(device.memory_info());
    const auto before = machine.driver.live_handles();
    machine.driver.ptx_result = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    const auto error = require_error(device.load(ptx_image({"k()"})));
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message, "loading 'fake.cu', PTX (compute_90, ISA 8.0)");
    if (Linker({.driver_version = 13000}).info()) {
        CHECK(machine.driver.calls("cuLibraryLoadData") == 2);
        CHECK_CONTAINS(error.message, "\ncuLibraryLoadData fails");
    }
    CHECK(machine.driver.live_handles() == before);
}
