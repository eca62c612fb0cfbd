// `lode variants` on devices that are assumed, and on four that the software device shows.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <map>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

Environment four_devices() {
    return {{"LODE_DRIVER", "emulator"}, {"LODE_EMULATOR_DEVICES", "sm_75,sm_80,sm_90,sm_120"}};
}

/// What a decision's step says of a row.
std::string reason_of(const nlohmann::json& decision, std::string_view row) {
    for (const auto& step : decision["steps"]) {
        if (step["row"] == row) return step["reason"];
    }
    return "no such step";
}

}  // namespace

TEST_CASE("lode variants: four devices get the rows that suit them, with reasons") {
    const auto json =
        lode::test::lode({"variants", "gemm", "scan", "--json"}, four_devices()).json();
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& decision : json["variants"])
        rows[decision["family"]].push_back(decision["row"]);
    CHECK(rows["gemm"] == std::vector<std::string>{"wmma", "mma", "wgmma", "mma"});
    CHECK(rows["scan"] == std::vector<std::string>{"warp", "warp", "bulk_copy", "warp"});
    const auto& first = json["variants"][0];
    CHECK(first["device"] == "device 0 (lode emulator (CPU) sm_75, 7.5)");
    CHECK(reason_of(first, "mma") == "it needs 8.0 or newer, and the device is 7.5");
    CHECK(reason_of(first, "wmma") == "it is the best row that can run");
}

TEST_CASE("lode variants: assumed devices need no driver, and families may follow --cc") {
    const auto outcome =
        lode::test::lode({"variants", "--cc", "8.6", "--cc", "90", "transpose"}, no_driver);
    REQUIRE(outcome.exit_code == 0);
    CHECK(outcome.says("transpose on a device of 8.6 (assumed)"));
    CHECK(outcome.says("transpose on a device of 9.0 (assumed)"));
    CHECK_FALSE(outcome.says("gemm"));
}

TEST_CASE("lode variants: LODE_FORCE_VARIANT rules assumed devices too") {
    Environment environment = no_driver;
    environment["LODE_FORCE_VARIANT"] = "scan:warp";
    const auto json =
        lode::test::lode({"variants", "scan", "--cc", "9.0", "--json"}, environment).json();
    CHECK(json["variants"][0]["row"] == "warp");
    CHECK(reason_of(json["variants"][0], "warp") == "it is forced");
    environment["LODE_FORCE_VARIANT"] = "scan:gone";
    const auto unknown = lode::test::lode({"variants", "scan", "--cc", "9.0"}, environment);
    CHECK(unknown.says("has no row 'gone'. Its rows are: bulk_copy, warp, serial."));
    environment["LODE_FORCE_VARIANT"] = "scan";
    const auto unreadable = lode::test::lode({"variants", "scan", "--cc", "9.0"}, environment);
    CHECK(unreadable.says("'scan' doesn't force a kernel variant: write family:row"));
}

TEST_CASE("lode variants: tuning keeps the winner, which is listed and forgotten") {
    const auto scratch = make_scratch();
    Environment environment = four_devices();
    environment["LODE_EMULATOR_DEVICES"] = "sm_80";
    environment["LODE_CACHE_DIR"] = scratch.path().string();
    const auto tuned = lode::test::lode(
        {"variants", "vector", "--tune", "--problem", "20000", "--json"}, environment);
    REQUIRE(tuned.exit_code == 0);
    const auto report = tuned.json()["tuned"][0];
    CHECK(report["kept"] == true);
    CHECK(report["class"] == "20000x1x1");
    for (const auto& row : report["rows"]) {
        if (row["row"] == "bulk_copy") {
            CHECK(row["problem"] == "it needs 9.0 or newer, and the device is 8.0");
        } else {
            CHECK(row["milliseconds"] > 0);
        }
    }
    const auto list = lode::test::lode({"variants", "--choices", "--json"}, environment).json();
    REQUIRE(list["choices"].size() == 1);
    CHECK(list["choices"][0]["row"] == report["row"]);
    CHECK(list["choices"][0]["device"] == "lode emulator (CPU) sm_80");
    const auto other = lode::test::lode({"variants", "scan", "--clear"}, environment);
    CHECK(other.says("Forgot 0 tuned choice(s)"));
    CHECK(lode::test::lode({"variants", "--clear"}, environment).says("Forgot 1 tuned choice(s)"));
    CHECK(lode::test::lode({"variants", "--choices"}, environment).says("No tuned choice is kept"));
}

TEST_CASE("lode variants: bad usage is told with what would be right") {
    const auto family = lode::test::lode({"variants", "gone"}, no_driver);
    CHECK(family.exit_code == 2);
    CHECK(family.complains("There is no kernel family 'gone'. The families are: gemm, "));
    const auto problem = lode::test::lode({"variants", "--problem", "12y"}, no_driver);
    CHECK(problem.exit_code == 2);
    CHECK(problem.complains("Problem '12y' isn't readable: write it as 4096 or 64x128x32"));
    const auto capability = lode::test::lode({"variants", "--cc", "ninety"}, no_driver);
    CHECK(capability.exit_code == 2);
    CHECK(capability.complains("Compute capability 'ninety' isn't readable"));
    CHECK(lode::test::lode({"variants", "--tune", "--cc", "9.0"}, no_driver).exit_code == 2);
    const auto none = lode::test::lode({"variants", "scan"}, no_driver);
    CHECK(none.exit_code == 1);
    CHECK(none.complains("Name a capability with --cc to see what a device would get."));
}
