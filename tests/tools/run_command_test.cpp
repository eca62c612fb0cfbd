// `lode run` on a machine without a driver.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// Runs `lode run`; "a.cu" stands for a file that exists.
Outcome run(std::vector<std::string> arguments) {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "a.cu", saxpy_source).string();
    std::ranges::replace(arguments, "a.cu", file);
    arguments.insert(arguments.begin(), "run");
    return lode::test::lode(arguments, no_driver);
}

void check_bad_usage(const Outcome& outcome, std::string_view sentence) {
    CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
    CHECK(outcome.err.starts_with("lode: "));
    CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
}

}  // namespace

TEST_CASE("lode run: without a driver it fails with a clear error") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    const auto outcome = run(
        {file, "saxpy", "--cover", "4", "--json", "--", "2.5f", "f32[4]:iota", "f32[4]:ones", "4"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.starts_with("lode: "));
    CHECK(outcome.complains("/nonexistent/libcuda.so.1"));
    const auto json = outcome.json();
    CHECK(json["command"] == "run");
    CHECK(json["ok"] == false);
    CHECK(json["error"]["code"] == "driver_missing");
}

TEST_CASE("lode run: a malformed argument is bad usage, before any driver is looked for") {
    const std::vector<std::string> start = {"a.cu", "k", "--cover", "4", "--"};
    const auto with = [&](const std::vector<std::string>& arguments) {
        auto all = start;
        all.insert(all.end(), arguments.begin(), arguments.end());
        return run(all);
    };
    check_bad_usage(with({"1", "f32[x]"}), "Argument 2 ('f32[x]') can't be read at character 5");
    check_bad_usage(with({"-3x"}), "Argument 1 ('-3x')");
    check_bad_usage(with({"--json"}), "Argument 1 ('--json')");
    CHECK(with({"-3", "-2.5f", "i64:-7"}).exit_code == 1);
}

TEST_CASE("lode run: the shape is checked before any driver is looked for") {
    check_bad_usage(run({"-", "k"}), "Pass exactly one of --grid and --cover");
    for (const std::string argument : {"2.5f", "f32[4]:iota", "-1"})
        check_bad_usage(run({"a.cu", "--grid", "1", "--", argument}),
                        "KERNEL is '" + argument + "', which isn't a kernel's name.");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--cover", "4"}),
                    "Pass exactly one of --grid and --cover");
    check_bad_usage(run({"a.cu", "k", "--grid", "0"}), "--grid is '0'");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--block", "8,x"}), "--block is '8,x'");
    check_bad_usage(run({"a.cu", "k", "--cover", "9", "--block", "8,8"}), "one dimension");
    check_bad_usage(run({"a.cu", "k", "--cover", "many"}), "--cover");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--shared", "-1"}), "--shared");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--repeat", "0"}), "--repeat");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--device", "-1"}), "--device");
    check_bad_usage(run({"a.cu", "k", "--grid", "1", "--arch", "x"}), "x");
    check_bad_usage(run({"a.cu", "--grid", "1"}), "KERNEL");
}
