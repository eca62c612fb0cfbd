// The arch ladder in Device: LODE_FORCE_PTX, drivers of other versions, and PTX that the driver
// refuses, which a scripted nvJitLink links.
#include "tests/support/variable.hpp"
#include "tests/unit/runtime/support.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

/// A device whose driver returns CUDA_ERROR_UNSUPPORTED_PTX_VERSION for all PTX, and an nvJitLink
/// that follows the script.
struct RefusingMachine {
    explicit RefusingMachine(const std::string& script, FakeDriver::Options options = {})
        : library("LODE_NVJITLINK", LODE_FAKE_NVJITLINK_LIBRARY),
          outcome("LODE_FAKE_NVJITLINK", script.c_str()),
          machine(std::move(options),
                  {.log = Log([this](LogLevel level, std::string_view line) {
                       lines.push_back(std::string(to_string(level)) + ": " + std::string(line));
                   })}) {
        machine.driver.ptx_answer = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    [[nodiscard]] std::size_t loads() const { return machine.driver.calls("cuLibraryLoadData"); }
    [[nodiscard]] bool has_logged(std::string_view part) const {
        return std::ranges::any_of(lines, [&](const auto& line) { return contains(line, part); });
    }

    Variable library;
    Variable outcome;
    std::vector<std::string> lines;
    FakeMachine machine;
};

}  // namespace

TEST_CASE("ladder: LODE_FORCE_PTX loads the PTX of an image that has machine code too") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto both = cubin_image({"k()"});
    // Compile options go only to the driver's PTX compiler.
    CHECK(require(device.load(both)).kernel("k"));
    CHECK_FALSE(machine.driver.jit_options().contains(CU_JIT_LOG_VERBOSE));
    const Variable forced("LODE_FORCE_PTX", "1");
    CHECK(require(device.load(both)).kernel("k"));
    CHECK(machine.driver.jit_options().contains(CU_JIT_LOG_VERBOSE));
}

TEST_CASE("ladder: LODE_FORCE_PTX refuses an image without PTX, and compiles to PTX") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto code_alone = cubin_image({"k()"}, false);
    REQUIRE(device.load(code_alone));
    const Variable forced("LODE_FORCE_PTX", "1");
    const auto refused = require_error(device.load(code_alone));
    CHECK(refused.code == Errc::unsupported_arch);
    CHECK_CONTAINS(refused.message, "has no PTX, which LODE_FORCE_PTX asks for");
    const auto target = device.target();
    if (!target && target.error().code == Errc::compiler_missing) {
        MESSAGE("skipped: " << target.error().message);
        return;
    }
    REQUIRE(target);
    CHECK(target->arch.to_string() == "compute_90");
    CHECK(target->route == CodeRoute::driver_jit);
    CHECK_CONTAINS(target->describe(), "refuses machine code: LODE_FORCE_PTX asks for PTX");
}

TEST_CASE("ladder: a driver older than the compiler's major version is recognised") {
    FakeMachine machine(FakeDriver::Options{.version = 12040});
    const auto target = machine.device().target();
    if (!target && target.error().code == Errc::compiler_missing) {
        MESSAGE("skipped: " << target.error().message);
        return;
    }
    const auto info = require(Compiler().info());
    if (info.version_major <= 12) {
        REQUIRE(target);
        CHECK(target->route == CodeRoute::machine_code);
        return;
    }
    REQUIRE_FALSE(target);
    CHECK(target.error().code == Errc::unsupported_arch);
    CHECK_CONTAINS(target.error().message, "driver of CUDA 12.4 doesn't load machine code made by");
    CHECK_CONTAINS(target.error().message, "Update the driver to CUDA");
}

TEST_CASE("ladder: PTX that the driver refuses is linked by nvJitLink and runs") {
    RefusingMachine refusing("13000 ok");
    const Device device = refusing.machine.device();
    const auto library = require(device.load(ptx_image({"scale(.param .u64 x, .param .u32 n)"})));
    CHECK(refusing.loads() == 2);
    CHECK(library.image().arch.to_string() == "sm_90");
    CHECK_FALSE(library.image().cubin.empty());
    CHECK(refusing.has_logged("info: Loading 'fake.cu' as sm_90 by nvJitLink 13.0"));

    const auto kernel = require(library.kernel<void(std::uint64_t, std::uint32_t)>("scale"));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, cover(256), std::uint64_t{7}, 5U));
    REQUIRE(refusing.machine.driver.launches().size() == 1);
    CHECK(refusing.machine.driver.launches()[0].argument<std::uint32_t>(1) == 5);
}

TEST_CASE("ladder: PTX below the device is linked for the device itself") {
    RefusingMachine refusing("13000 ok");
    const auto library = require(refusing.machine.device().load(ptx_image({"k()"}, "sm_80")));
    CHECK(library.image().arch.to_string() == "sm_90");
}

TEST_CASE("ladder: machine code beside the refused PTX is taken before nvJitLink") {
    RefusingMachine refusing("13000 refuses");
    const auto library =
        require(refusing.machine.device().load(cubin_image({"k()"}), {.prefer_ptx = true}));
    CHECK(library.kernel("k"));
    CHECK(refusing.has_logged("warning: Trying the other form of 'fake.cu'"));
}

TEST_CASE("ladder: what nvJitLink says against the PTX is in the error") {
    RefusingMachine refusing("13000 refuses");
    const Device device = refusing.machine.device();
    const auto error = require_error(device.load(ptx_image({"k()"})));
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message,
                   "Linking 'fake.cu' for sm_90 fails with "
                   "NVJITLINK_ERROR_PTX_COMPILE");
    CHECK_CONTAINS(error.log, "Unresolved extern function '_Z7nowherePf' (nowhere(float*))");
    CHECK(refusing.loads() == 1);
    CHECK(refusing.machine.driver.live_handles() == 1);  // The context: nothing stays loaded.
}

TEST_CASE("ladder: an nvJitLink whose machine code the driver doesn't load isn't asked") {
    RefusingMachine refusing("13000 ok", {.version = 12080});
    const auto error = require_error(refusing.machine.device().load(ptx_image({"k()"})));
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message,
                   "driver of CUDA 12.8 doesn't load machine code made by CUDA 13.0");
    CHECK(refusing.loads() == 1);
}

TEST_CASE("ladder: an nvJitLink older than the device isn't asked") {
    RefusingMachine refusing("12040 ok",
                             {.version = 12080, .devices = {FakeDevice{.cc = {12, 0}}}});
    const auto error = require_error(refusing.machine.device().load(ptx_image({"k()"})));
    CHECK_CONTAINS(error.message,
                   "nvJitLink 12.4 is older than CUDA 12.8, the first that makes "
                   "code for the device");
}

TEST_CASE("ladder: without nvJitLink the error says so and names the cure") {
    FakeMachine machine;
    machine.driver.ptx_answer = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    const Variable nowhere("LODE_NVJITLINK", "/nonexistent/libnvJitLink.so");
    const auto error = require_error(machine.device().load(ptx_image({"k()"})));
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message, "no nvJitLink library is available");
    CHECK_CONTAINS(error.message,
                   "Update the driver, or use machine code for the device, or "
                   "install libnvJitLink.so.13.");
}
