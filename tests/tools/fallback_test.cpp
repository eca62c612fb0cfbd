// The command if no driver shows a device: it uses lode's software device, and reports that.
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr const char* said = "lode's software device runs kernels on the processor instead";

/// An environment that names no driver, and in which a real one would show no device.
Environment machine_without_gpu(const std::string& emulated = "sm_90") {
    ::unsetenv("LODE_DRIVER");
    return {{"CUDA_VISIBLE_DEVICES", ""}, {"LODE_EMULATOR_DEVICES", emulated}};
}

}  // namespace

TEST_CASE("fallback: one line says why, and how to choose") {
    const auto outcome = lode::test::lode({"info"}, machine_without_gpu());
    CHECK(outcome.exit_code == 0);
    CHECK(lines_of(outcome.err) == 1);
    const bool says_why = outcome.complains("lode: No CUDA driver library can be opened; ") ||
                          outcome.complains(" reports no device; ");
    CHECK(says_why);
    CHECK(outcome.complains("(LODE_DRIVER chooses the driver).\n"));
    CHECK(outcome.says("lode's software device: no GPU is used"));
}

TEST_CASE("fallback: an invalid environment is reported, not hidden") {
    struct Row {
        const char* name;
        const char* value;
        const char* sentence;
    };
    for (const Row& row :
         {Row{"LODE_EMULATOR_DEVICES", "sm_99", "LODE_EMULATOR_DEVICES contains 'sm_99'"},
          Row{"LODE_EMULATOR_CHECK", "memory, speed", "LODE_EMULATOR_CHECK contains 'speed'"},
          Row{"LODE_EMULATOR_WORKERS", "two", "LODE_EMULATOR_WORKERS is 'two'"}}) {
        CAPTURE(row.name);
        auto environment = machine_without_gpu();
        environment[row.name] = row.value;
        const auto outcome = lode::test::lode({"variants", "scan", "--json"}, environment);
        CHECK(outcome.exit_code == 2);
        CHECK_FALSE(outcome.complains(said));
        const std::string message = outcome.json()["error"]["message"];
        CHECK_MESSAGE(message.find(row.sentence) != std::string::npos, message);
        CHECK(message.find("while opening lode's software device") != std::string::npos);
    }
}

TEST_CASE("fallback: without emulated devices there is no fallback and no line about it") {
    const auto outcome = lode::test::lode({"variants", "scan"}, machine_without_gpu("none"));
    CHECK(outcome.exit_code == 1);
    CHECK_FALSE(outcome.complains(said));
    auto environment = machine_without_gpu("none");
    environment["LODE_DRIVER"] = "emulator";
    environment["CUDA_VISIBLE_DEVICES"] = "0";
    const auto folder = make_scratch();
    const auto named = lode::test::lode(
        {"run", put(folder.path() / "saxpy.cu", saxpy_source).string(), "saxpy", "--cover", "4"},
        environment);
    CHECK(named.exit_code == 1);
    CHECK(named.complains("CUDA_VISIBLE_DEVICES is '0'; check it and LODE_EMULATOR_DEVICES."));
}

TEST_CASE("fallback: the error says where the emulator was searched for") {
    auto environment = machine_without_gpu();
    environment["LODE_EMULATOR"] = "/nonexistent";
    const auto outcome = lode::test::lode({"variants", "scan"}, environment);
    CHECK(outcome.exit_code == 1);
    CHECK_FALSE(outcome.complains(said));
    CHECK(outcome.complains(" reports no device.") !=
          outcome.complains("/nonexistent (LODE_EMULATOR): no such file"));
}

TEST_CASE("fallback: lode info and lode run use four software devices, each with its own target") {
    const auto environment = machine_without_gpu("sm_75,sm_80,sm_90,sm_120");
    const auto info = lode::test::lode({"info", "--json"}, environment);
    CHECK(info.complains(said));
    CHECK(lines_of(info.err) == 1);
    const auto devices = info.json()["devices"];
    REQUIRE(devices.size() == 4);
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const char* const targets[] = {"sm_75", "sm_80", "sm_90", "sm_120"};
    for (int i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(devices[i]["target"] == targets[i]);
        CHECK(devices[i]["name"] == std::string("lode emulator (CPU) ") + targets[i]);
        const auto run = lode::test::lode(
            {"run", file, "saxpy", "--device", std::to_string(i), "--cover", "1000", "--json", "--",
             "2f", "f32[1000]:iota", "f32[1000]:ones", "1000"},
            environment);
        CHECK(run.complains(said));
        REQUIRE_MESSAGE(run.exit_code == 0, run.err);
        CHECK(run.json()["arguments"][2]["sum"] == 1000000.0);
    }
}

TEST_CASE("fallback: CUDA_VISIBLE_DEVICES hides devices of a software device that is asked for") {
    const auto shown = [](const char* driver, const char* visible) {
        auto environment = machine_without_gpu("sm_75,sm_80,sm_90");
        environment["CUDA_VISIBLE_DEVICES"] = visible;
        if (driver != nullptr) environment["LODE_DRIVER"] = driver;
        const auto info = lode::test::lode({"info", "--json"}, environment);
        std::string targets;
        const auto json = info.json();
        for (const auto& device : json["devices"])
            targets += device["target"].get<std::string>() + " ";
        return targets;
    };
    CHECK(shown("emulator", "") == "");
    CHECK(shown("emulator", "2,0") == "sm_90 sm_75 ");
    CHECK(shown(nullptr, "") == "sm_75 sm_80 sm_90 ");
}

TEST_CASE("fallback: lode compile, link and cache why take the software device's target") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const auto ptx = (folder.path() / "saxpy.ptx").string();
    REQUIRE(lode::test::lode({"compile", file, "--arch", "compute_80", "-o", ptx}).exit_code == 0);
    const std::vector<std::string> lines[] = {
        {"compile", file, "-o", (folder.path() / "made").string()},
        {"link", ptx, "-o", (folder.path() / "linked").string()},
        {"cache", "why", file}};
    for (const auto& line : lines) {
        auto native = line;
        native.insert(native.end(), {"--arch", "native"});
        for (const auto& words : {line, native}) {
            const auto outcome = lode::test::lode(words, machine_without_gpu("sm_80"));
            CHECK(outcome.exit_code == 0);
            const std::string reason = words == line ? "No --arch is given" : "--arch is 'native'";
            CHECK_MESSAGE(outcome.err == "lode: " + reason +
                                             " and no device is visible; the target is sm_80, that "
                                             "of lode's software device.\n",
                          outcome.err);
            CHECK(outcome.says("sm_80"));
        }
        const auto named = lode::test::lode(
            native, {{"LODE_DRIVER", "emulator"}, {"LODE_EMULATOR_DEVICES", "sm_80,sm_80"}});
        CHECK(named.exit_code == 0);
        CHECK(named.err.empty());
    }
    const auto several = lode::test::lode(
        {"compile", file, "--arch", "native", "-o", (folder.path() / "x").string()},
        {{"LODE_DRIVER", "emulator"}, {"LODE_EMULATOR_DEVICES", "sm_90,sm_80,sm_90"}});
    CHECK(several.exit_code == 2);
    CHECK_MESSAGE(several.complains("the results are saxpy.sm_90.cubin, saxpy.sm_80.cubin."),
                  several.err);
}

TEST_CASE("fallback: a driver that is named is the one used") {
    Environment environment = machine_without_gpu();
    environment["LODE_DRIVER"] = "/nonexistent/libcuda.so.1";
    const auto missing = lode::test::lode({"variants", "scan"}, environment);
    CHECK(missing.exit_code == 1);
    CHECK_FALSE(missing.complains(said));
    environment = {{"LODE_DRIVER", "emulator"}};
    const auto named = lode::test::lode({"variants", "scan"}, environment);
    CHECK(named.exit_code == 0);
    CHECK(named.err.empty());
}
