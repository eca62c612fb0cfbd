#include "tests/support/child.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/runtime/support.hpp"

#include <algorithm>
#include <thread>

using namespace lode;
using namespace lode::test;

namespace {

Error open_error(FakeDriver::Options options) {
    FakeDriver fake(std::move(options));
    return require_error(fake.open());
}

}  // namespace

TEST_CASE("driver: a library that doesn't exist gives driver_missing with the place tried") {
    const auto error = require_error(Driver::open({.library = "/nowhere/libcuda.so.1"}));
    CHECK(error.code == Errc::driver_missing);
    CHECK_CONTAINS(error.message, "/nowhere/libcuda.so.1 (asked for): no such file");
}

TEST_CASE("driver: LODE_DRIVER is the only place tried when it is set") {
    const Variable set("LODE_DRIVER", "/nowhere/else.so");
    const auto error = require_error(Driver::open());
    CHECK(error.code == Errc::driver_missing);
    CHECK_CONTAINS(error.message, "/nowhere/else.so (LODE_DRIVER): no such file");
    CHECK_FALSE(contains(error.message, "libcuda.so.1"));
}

TEST_CASE("driver: a library that isn't a CUDA driver is named") {
    const auto error = require_error(Driver::open({.library = "libm.so.6"}));
    CHECK(error.code == Errc::driver_missing);
    CHECK_CONTAINS(error.message, "isn't a CUDA driver: it has no cuInit");
}

TEST_CASE("driver: an older version is named with the one that lode needs") {
    const auto error = open_error({.version = 11080});
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message, "it supports CUDA 11.8");
    CHECK_CONTAINS(error.message, "CUDA 12.0 or newer");
}

TEST_CASE("driver: missing required entry points are named") {
    const auto error = open_error({.hidden = {"cuLibraryLoadData", "cuMemAlloc"}});
    CHECK(error.code == Errc::driver_too_old);
    CHECK_CONTAINS(error.message, "no cuMemAlloc, no cuLibraryLoadData");
}

TEST_CASE("driver: missing optional entry points are listed, not fatal") {
    FakeDriver fake({.version = 12000});
    const auto driver = require(fake.open());
    CHECK(driver.version() == 12000);
    CHECK(driver.version_text() == "12.0");
    const auto missing = driver.missing_entry_points();
    FakeDriver newer({.version = 13000});
    const auto missing_later = require(newer.open()).missing_entry_points();
    for (const char* name : {"cuLibraryGetKernelCount", "cuLibraryEnumerateKernels",
                             "cuKernelGetName", "cuKernelGetParamInfo", "cuFuncLoad"}) {
        CAPTURE(name);
        CHECK(std::ranges::find(missing, name) != missing.end());
        CHECK(std::ranges::find(missing_later, name) == missing_later.end());
    }
}

TEST_CASE("driver: an entry point that lode doesn't wrap is found by name and version") {
    FakeDriver fake;
    const Driver driver = require(fake.open());
    void* const found = require(driver.resolve("cuInit", 2000));
    CHECK(found == driver.resolve("cuInit", 2000));
    CHECK(reinterpret_cast<PFN_cuInit_v2000>(found)(0) == CUDA_SUCCESS);
    for (const auto& [name, version] :
         {std::pair{"cuInit_v2", 2000}, {"cuNothing", 13000}, {"cuInit", 99000}, {"", 0}}) {
        const auto error = require_error(driver.resolve(name, version));
        CHECK(error.code == Errc::not_found);
        CHECK_CONTAINS(error.message, "has no entry point '" + std::string(name) + "' as of CUDA ");
    }
    const auto error = require_error(driver.resolve("cuMemAlloc_v2", 3020));
    CHECK(error.message ==
          "The driver the fake driver has no entry point 'cuMemAlloc_v2' as of CUDA 3.2; it "
          "supports CUDA 13.0. Names have no version suffix: 'cuMemAlloc', not 'cuMemAlloc_v2'.");
}

TEST_CASE("driver: having no device isn't an error of opening") {
    FakeDriver fake({.init = CUDA_ERROR_NO_DEVICE});
    const auto driver = require(fake.open());
    CHECK(driver.device_count() == 0);
    const auto runtime = require(Runtime::with_driver(driver));
    CHECK(require(runtime.devices()).empty());
    const auto error = require_error(runtime.device(0));
    CHECK(error.code == Errc::no_device);
    CHECK_CONTAINS(error.message, "the fake driver reports no device");
    CHECK_CONTAINS(error.message, "CUDA_VISIBLE_DEVICES");
}

TEST_CASE("driver: an error of cuInit comes with a cure") {
    struct Row {
        CUresult result;
        Errc code;
        const char* part;
    };
    const Row rows[] = {
        {CUDA_ERROR_STUB_LIBRARY, Errc::driver_missing, "link-time stub"},
        {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, Errc::driver_failed, "Reboot after a driver update"},
        {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, Errc::driver_failed, "cuda-compat"},
        {CUDA_ERROR_SYSTEM_NOT_READY, Errc::no_device, "nvidia-fabricmanager"},
        {CUDA_ERROR_UNKNOWN, Errc::driver_failed, "nvidia-uvm"},
    };
    for (const auto& row : rows) {
        const auto error = open_error({.init = row.result});
        CHECK(error.code == row.code);
        CHECK(error.native.origin == Native::Origin::driver);
        CHECK(error.native.code == row.result);
        CHECK_CONTAINS(error.message, "cuInit fails: ");
        CHECK_CONTAINS(error.message, row.part);
        CHECK_CONTAINS(error.message, "while opening the driver the fake driver");
    }
}

TEST_CASE("driver: a code that lode doesn't know is reported in the driver's words") {
    FakeMachine machine;
    machine.driver.fail_always("cuMemGetInfo", CUDA_ERROR_TIMEOUT);
    const auto error = require_error(machine.device().memory_info());
    CHECK(error.code == Errc::driver_failed);
    CHECK(error.message == "cuMemGetInfo fails: wait operation timed out.");
    CHECK(error.native.name == "CUDA_ERROR_TIMEOUT");
}

TEST_CASE("driver: two drivers live side by side") {
    FakeMachine one({.devices = {{.name = "One"}}});
    FakeMachine two({.version = 12030, .devices = {{.name = "Two"}, {.name = "Three"}}});
    CHECK(one.device().name() == "One");
    CHECK(two.device(1).name() == "Three");
    CHECK(one.runtime.driver().version_text() == "13.0");
    CHECK(two.runtime.driver().version_text() == "12.3");
    const auto buffer = require(one.device().alloc<float>(4));
    CHECK(one.driver.live_handles() == 2);  // The context and the memory.
    CHECK(two.driver.live_handles() == 0);
}

TEST_CASE("driver: the error in a forked child names both processes") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto buffer = require(device.alloc<int>(1));
    const int parent = ::getpid();
    enum Outcome { told, wrong_code, wrong_text };
    const int outcome = in_child([&] {
        const auto failed = device.memory_info();
        if (failed || failed.error().code != Errc::process_forked) return wrong_code;
        const std::string expected = "process " + std::to_string(parent) +
                                     " opened CUDA and this process, " +
                                     std::to_string(::getpid()) + ", is a fork of it";
        return contains(failed.error().message, expected) ? told : wrong_text;
    });
    CHECK(outcome == told);
}

TEST_CASE("driver: opening is logged") {
    std::vector<std::string> lines;
    FakeDriver fake;
    const auto driver =
        require(fake.open(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
    REQUIRE(lines.size() == 1);
    CHECK_CONTAINS(lines[0], "the fake driver for CUDA 13.0 with 1 device(s)");
}

TEST_CASE("driver: an error quotes what the driver's log says about the call") {
    FakeMachine machine;
    const Device device = machine.device();
    CHECK(machine.driver.log_listeners() == 1);
    machine.driver.fail_always("cuMemAlloc", CUDA_ERROR_INVALID_VALUE);
    machine.driver.failure_lines = {"[22:21:32.099][25642][CUDA][E] the size is too large\n",
                                    "at most 16 bytes are left"};
    const auto error = require_error(device.alloc<int>(1));
    CHECK_CONTAINS(error.message,
                   "cuMemAlloc fails: an argument is outside the range that the driver accepts. "
                   "The driver's log: \"the size is too large\"; \"at most 16 bytes are left\".");
    // Once: the next failure has no lines.
    CHECK_FALSE(contains(require_error(device.alloc<int>(1)).message, "The driver's log"));
}

TEST_CASE("driver: lines about other calls, threads and drivers aren't quoted") {
    FakeMachine machine;
    FakeMachine other;
    const Device device = machine.device();
    machine.driver.fail_always("cuMemAlloc", CUDA_ERROR_INVALID_VALUE);
    const auto is_quoted = [&] {
        return contains(require_error(device.alloc<int>(1)).message, "The driver's log");
    };
    // The host's own call, which lode doesn't see.
    machine.driver.failure_lines = {"a line"};
    const auto free = reinterpret_cast<PFN_cuMemFree_v3020>(
        require(machine.runtime.driver().resolve("cuMemFree", 3020)));
    CHECK(free(CUdeviceptr{16}) != CUDA_SUCCESS);
    CHECK_FALSE(is_quoted());
    std::thread([&] {
        machine.driver.failure_lines = {"a line"};
        CHECK_FALSE(device.alloc<int>(2));
    }).join();
    CHECK_FALSE(is_quoted());
    other.driver.fail_always("cuMemAlloc", CUDA_ERROR_INVALID_VALUE);
    other.driver.failure_lines = {"a line"};
    const Device elsewhere = other.device();
    CHECK_FALSE(is_quoted());
    CHECK_CONTAINS(require_error(elsewhere.alloc<int>(1)).message, "The driver's log: \"a line\".");
}

TEST_CASE("driver: what is quoted from its log is bounded") {
    FakeMachine machine;
    machine.driver.fail_always("cuMemAlloc", CUDA_ERROR_INVALID_VALUE);
    machine.driver.failure_lines.assign(1000, std::string(100, 'x'));
    const auto error = require_error(machine.device().alloc<int>(1));
    CHECK_CONTAINS(error.message, "The driver's log: \"xxx");
    CHECK(error.message.size() < 1500);
}

TEST_CASE("driver: it stops listening to the log with the last object, and needs no log") {
    FakeDriver fake;
    {
        const auto driver = require(fake.open());
        CHECK(fake.log_listeners() == 1);
    }
    CHECK(fake.log_listeners() == 0);
    FakeMachine without({.hidden = {"cuLogsRegisterCallback"}});
    without.driver.fail_always("cuMemAlloc", CUDA_ERROR_INVALID_VALUE);
    CHECK_FALSE(without.device().alloc<int>(1));
    std::vector<std::string> lines;
    FakeDriver failing;
    failing.fail_always("cuLogsRegisterCallback", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(failing.open(Log([&](LogLevel, std::string_view line) { lines.emplace_back(line); })));
    REQUIRE_FALSE(lines.empty());
    CHECK_CONTAINS(lines.front(), "cuLogsRegisterCallback fails: memory is exhausted");
}

TEST_CASE("driver: the error codes of CUDA 13.1 to 13.5 have a meaning") {
    constexpr std::pair<int, Errc> codes[] = {{227, Errc::driver_too_old},
                                              {917, Errc::invalid_argument},
                                              {919, Errc::no_device},
                                              {918, Errc::driver_failed}};
    for (const auto& [code, meaning] : codes) {
        CAPTURE(code);
        FakeMachine machine;
        const Device device = machine.device();
        machine.driver.fail_call(1, static_cast<CUresult>(code));
        const auto error = require_error(device_attribute(device, DeviceAttribute::warp_size));
        CHECK(error.code == meaning);
    }
}
