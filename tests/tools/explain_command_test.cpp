// `lode compile --explain`: the arch ladder as users see it.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// Runs `lode compile` on one file with these options.
Outcome compile(std::vector<std::string> options, const Environment& environment = no_driver) {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    options.insert(options.begin(),
                   {"compile", file, "--out-dir", (scratch.path() / "out").string()});
    return ::lode::test::lode(options, environment);
}

/// The environment `no_driver` with LODE_FORCE_PTX.
Environment forced_ptx() {
    Environment environment = no_driver;
    environment["LODE_FORCE_PTX"] = "1";
    return environment;
}

int major_of_compiler() {
    const std::string version =
        ::lode::test::lode({"info", "--json"}, no_driver).json()["compiler"]["version"];
    return std::stoi(version);
}

}  // namespace

TEST_CASE("lode compile --explain: shows the rung that is taken and those that aren't") {
    const auto own = compile({"--for", "9.0", "--explain"});
    CHECK_MESSAGE(own.exit_code == 0, own.err);
    CHECK(
        own.out.starts_with("sm_90 as machine code\n"
                            "  takes sm_90: it is the device's own architecture\n"));
    CHECK(own.says("saxpy.sm_90.cubin"));

    const auto specific = compile({"--for", "9.0", "--suffix", "a", "--explain"});
    CHECK(specific.says("takes sm_90a: the kernel asks for every feature of this very device"));
    const auto missing = compile({"--for", "8.0", "--suffix", "a", "--explain"});
    CHECK(missing.says("refuses sm_80a: this suffix doesn't exist for the device"));
    CHECK(missing.says("takes sm_80: "));

    const auto future = compile({"--for", "99.0", "--explain"});
    CHECK_MESSAGE(future.exit_code == 0, future.err);
    CHECK(future.says("refuses sm_990: the compiler doesn't support it"));
    CHECK(future.says("takes PTX compute_"));
}

TEST_CASE("lode compile --explain: JSON has the decision") {
    const auto outcome = compile({"--for", "9.0", "--explain", "--json"}, forced_ptx());
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.err.empty());
    const auto target = outcome.json()["target"];
    CHECK(target["arch"] == "compute_90");
    CHECK(target["route"] == "PTX for the driver");
    REQUIRE(target["steps"].size() == 2);
    CHECK(target["steps"][0]["taken"] == false);
    CHECK(target["steps"][0]["reason"] == "LODE_FORCE_PTX asks for PTX");
    CHECK(target["steps"][1]["rung"] == "PTX compute_90");
    CHECK(target["steps"][1]["taken"] == true);
    CHECK_FALSE(compile({"--for", "9.0", "--json"}).json().contains("target"));
}

TEST_CASE("lode compile --explain: without a possible target it gives every reason and the cure") {
    const auto below = compile({"--for", "3.5", "--explain"});
    CHECK(below.exit_code == 1);
    CHECK(below.out.empty());
    CHECK(below.complains("serves a device of compute capability 3.5"));
    CHECK(below.complains("refuses sm_35: the compiler doesn't support it"));
    CHECK(below.complains("refuses PTX: every target that the compiler supports is above"));

    const auto old_driver = compile({"--for", "9.0", "--driver", "11.8", "--explain", "--json"});
    CHECK(old_driver.exit_code == 1);
    CHECK(old_driver.complains("driver of CUDA 11.8 doesn't load machine code made by CUDA"));
    CHECK(old_driver.complains("refuses PTX compute_90: its PTX ISA needs a driver of CUDA"));
    CHECK(old_driver.complains("Update the driver to CUDA"));
    CHECK(old_driver.json()["error"]["code"] == "unsupported_arch");
}

TEST_CASE("lode compile --explain: sm_101 is PTX for CUDA 13, which renamed it") {
    if (major_of_compiler() < 13) {
        MESSAGE("skipped: NVRTC 12 still has sm_101");
        return;
    }
    const auto outcome = compile({"--for", "10.1", "--explain"});
    CHECK(
        outcome.says("refuses sm_101: the compiler doesn't support it; CUDA 12.9 was the last "
                     "that did"));
    CHECK(outcome.says("takes PTX compute_100: "));
}

TEST_CASE("lode compile --explain: bad usage exits with 2 and says what is wrong") {
    const auto is_bad_usage = [](const std::vector<std::string>& options,
                                 std::string_view sentence) {
        const auto outcome = compile(options);
        CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        CHECK(outcome.out.empty());
    };
    is_bad_usage({"--explain"}, "there is no device to take it from");
    is_bad_usage({"--explain", "--arch", "sm_90"}, "Leave out --arch");
    is_bad_usage({"--for", "9.0", "--arch", "sm_90"}, "Leave out --arch");
    is_bad_usage({"--for", "nine"}, "write it as 9.0 or 90");
    is_bad_usage({"--for", "9.0", "--suffix", "b"}, "must be one of a, f, none");
    for (const char* version : {"12", "12.", "12.40", "x.1", "-1.0", "0.1"})
        is_bad_usage({"--for", "9.0", "--driver", version}, "write it as 12.4");
    is_bad_usage({"--driver", "12.4"}, "name it with --for");
}
