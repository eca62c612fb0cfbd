// `lode bench` with programs that stand in for benchmarks.
#include "base/file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;

/// A folder with a program that writes one figure, or fails.
class Benches {
public:
    explicit Benches(bool fails = false) {
        const auto program = put(folder_.path() / "lode_bench_cache", fails ? R"(#!/bin/sh
echo there is no driver
exit 1
)"
                                                                            : R"(#!/bin/sh
while [ "$1" != --json ]; do shift; done
echo '{"bench": "cache", "command": "", "figures": [{"group": "cache", "series": "a hit",
"unit": "us", "value": 2, "low": 1.9, "high": 2.1, "better": "less"}]}' >"$2"
)");
        fs::permissions(program, fs::perms::owner_all);
    }
    [[nodiscard]] fs::path path(const std::string& name = "") const {
        return folder_.path() / name;
    }
    [[nodiscard]] Outcome bench(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"bench", "--programs", path().string()});
        return ::lode::test::lode(arguments, {{"LODE_DRIVER", "emulator"}});
    }

private:
    lode::ScratchFolder folder_ = make_scratch();
};

}  // namespace

TEST_CASE("lode bench: --list says what would be measured and measures nothing") {
    const Benches benches;
    const auto outcome = benches.bench({"--list"});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("cache"));
    CHECK(outcome.says("lode_bench_cache"));
}

TEST_CASE("lode bench: the figures and the page are written") {
    const Benches benches;
    const auto json = benches.path("figures.json").string();
    const auto page = benches.path("page.html").string();
    const auto outcome = benches.bench({"--json=" + json, "--html", page, "--short", "cache"});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.complains("[ 1/1] cache"));
    const auto run = nlohmann::json::parse(lode::read_text(json).value());
    CHECK(run["lode_report"] == 1);
    CHECK(run["command"] == "scripts/report --short cache");
    CHECK(run["results"][0]["data"]["figures"][0]["series"] == "a hit");
    CHECK(lode::read_text(page).value().find("<svg class=\"plot\"") != std::string::npos);

    // Compared with itself nothing has changed.
    const auto again = benches.bench({"--compare", json, "cache"});
    CHECK_MESSAGE(again.exit_code == 0, again.err);
}

TEST_CASE("lode bench: a program that fails fails the command") {
    const Benches benches(true);
    const auto outcome = benches.bench({"cache"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("there is no driver"));
}

TEST_CASE("lode bench: bad usage and missing programs are told") {
    CHECK(lode::test::lode({"bench", "--limit", "-1"}).exit_code == 2);
    const auto empty = make_scratch();
    const auto outcome = lode::test::lode({"bench", "--programs", empty.path().string()},
                                          {{"LODE_DRIVER", "emulator"}});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("lode_benches"));
}
