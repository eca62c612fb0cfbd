#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <map>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// Emulated devices, and a separate folder for tuned choices.
class Machine {
public:
    explicit Machine(const std::string& devices) {
        environment_ = {{"LODE_DRIVER", "emulator"},
                        {"LODE_EMULATOR_DEVICES", devices},
                        {"LODE_CACHE", "off"},
                        {"LODE_CACHE_DIR", folder_.path().string()}};
    }
    void set(const std::string& name, const std::string& value) { environment_[name] = value; }

    /// Runs `lode variants` with these arguments.
    [[nodiscard]] Outcome variants(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "variants");
        return ::lode::test::lode(arguments, environment_);
    }
    /// Runs it with --json; it must succeed and leave stderr empty.
    [[nodiscard]] nlohmann::json json(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        const auto outcome = variants(arguments);
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
        CHECK_MESSAGE(outcome.err.empty(), outcome.err);
        const auto json = outcome.json();
        CHECK(json["command"] == "variants");
        CHECK(json["ok"] == true);
        return json;
    }
    [[nodiscard]] std::filesystem::path choices() const { return folder_.path() / "variants"; }

private:
    lode::ScratchFolder folder_ = make_scratch();
    Environment environment_;
};

/// The reason that a step of one decision gives for a row; empty if it has no such step.
std::string reason_of(const nlohmann::json& decision, const std::string& row) {
    for (const auto& step : decision["steps"]) {
        if (step["row"] == row) return step["reason"];
    }
    return {};
}

}  // namespace

TEST_CASE("lode variants: four emulated devices each get their row, with the reasons") {
    const Machine machine("sm_75,sm_80,sm_90,sm_120");
    const auto list = machine.json({})["variants"];
    // Per family, the rows on 7.5, 8.0, 9.0 and 12.0.
    const std::map<std::string, std::vector<std::string>> expected{
        {"gemm", {"wmma", "mma", "wgmma", "mma"}},
        {"gemm_bf16", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_bf16_nn", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_bf16_relu", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_bf16_silu", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_bf16_tn", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_bf16_tt", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_fp8", {"tiled", "tiled", "wgmma", "tiled"}},
        {"gemm_nn", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_tn", {"tiled", "mma", "wgmma", "mma"}},
        {"gemm_tt", {"tiled", "mma", "wgmma", "mma"}},
        {"histogram", {"shared", "shared", "shared", "shared"}},
        {"layer_norm", {"warps", "warps", "warps", "warps"}},
        {"partition", {"small", "small", "small", "small"}},
        {"partition_float", {"small", "small", "small", "small"}},
        {"partition_int64", {"small", "small", "small", "small"}},
        {"reduce", {"shuffle", "redux", "redux", "redux"}},
        {"reduce_float", {"shuffle", "shuffle", "shuffle", "shuffle"}},
        {"reduce_int64", {"shuffle", "shuffle", "shuffle", "shuffle"}},
        {"scan", {"wave_small", "wave_small", "wave_small", "wave_small"}},
        {"scan_float", {"wave_small", "wave_small", "wave_small", "wave_small"}},
        {"scan_int64", {"wave_small", "wave_small", "wave_small", "wave_small"}},
        {"select", {"small", "small", "small", "small"}},
        {"select_float", {"small", "small", "small", "small"}},
        {"select_int64", {"small", "small", "small", "small"}},
        {"softmax", {"warps", "warps", "warps", "warps"}},
        {"sort", {"portable", "small", "small", "small"}},
        {"sort_float", {"portable", "small", "small", "small"}},
        {"sort_int64", {"portable", "small", "small", "small"}},
        {"sort_pairs", {"portable", "small", "small", "small"}},
        {"transpose", {"vec16", "vec16", "vec16", "vec16"}},
        {"vector", {"vec16", "vec16", "vec16", "vec16"}}};
    REQUIRE(list.size() == 4 * expected.size());
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& decision : list) {
        CAPTURE(decision["device"].get<std::string>());
        rows[decision["family"]].push_back(decision["row"]);
        REQUIRE_FALSE(decision["steps"].empty());
        CHECK(decision["steps"].back()["row"] == decision["row"]);
        CHECK(decision["steps"].back()["taken"] == true);
        for (const auto& step : decision["steps"])
            CHECK_FALSE(step["reason"].get<std::string>().empty());
    }
    CHECK(rows == expected);

    const auto reduce = machine.json({"reduce"})["variants"];
    CHECK(reason_of(reduce[0], "redux") == "it needs 8.0 or newer, but the device is 7.5");
    // Rows below the chosen one need no reason.
    CHECK(reason_of(reduce[1], "cluster").empty());
    const auto text = machine.variants({"reduce"});
    CHECK(text.says("reduce on device 0 (lode emulator (CPU) sm_75, 7.5)"));
    CHECK(text.says("not redux    it needs 8.0 or newer, but the device is 7.5"));
}

TEST_CASE("lode variants: a device that isn't in this machine needs no driver") {
    Machine machine("none");
    machine.set("LODE_DRIVER", "/nonexistent/libcuda.so.1");
    const auto list = machine.json({"--cc", "7.5,86", "--cc", "9.0", "gemm"})["variants"];
    REQUIRE(list.size() == 3);
    CHECK(list[0]["row"] == "wmma");
    CHECK(list[1]["row"] == "mma");
    CHECK(list[2]["row"] == "wgmma");
    const auto below = machine.json({"gemm", "--cc", "6.0"})["variants"][0];
    CHECK(below["row"].is_null());
    CHECK(below["error"]["code"] == "unsupported_arch");

    const auto here = machine.variants({"gemm"});
    CHECK(here.exit_code == 1);
    CHECK(here.complains("Pass a compute capability with --cc"));
}

TEST_CASE("lode variants: LODE_FORCE_VARIANT applies to this machine's devices, not to --cc") {
    Machine machine("sm_80");
    machine.set("LODE_FORCE_VARIANT", "reduce:shuffle");
    const auto here = machine.json({"reduce"})["variants"][0];
    CHECK(here["row"] == "shuffle");
    CHECK(reason_of(here, "shuffle") == "it is forced");
    CHECK(machine.json({"reduce", "--cc", "8.0"})["variants"][0]["row"] == "redux");
    machine.set("LODE_FORCE_VARIANT", "no variant");
    CHECK(machine.json({"reduce", "--cc", "8.0"})["variants"][0]["row"] == "redux");
}

TEST_CASE("lode variants: the error for an unusable forced row gives the rows or the reason") {
    Machine machine("sm_80");
    const auto refusal = [&](const char* forced) {
        machine.set("LODE_FORCE_VARIANT", forced);
        const auto decision = machine.json({"reduce"})["variants"][0];
        CHECK(decision["row"].is_null());
        return decision["error"]["message"].get<std::string>();
    };
    CHECK(refusal("reduce:nope").find("Its rows are: redux, cluster, shuffle.") !=
          std::string::npos);
    CHECK(refusal("reduce:cluster").find("it needs 9.0 or newer") != std::string::npos);
    // A value that can't be parsed concerns no particular row or device.
    machine.set("LODE_FORCE_VARIANT", "shuffle");
    const auto unreadable = machine.variants({"reduce"});
    CHECK(unreadable.exit_code == 2);
    CHECK(unreadable.complains("write family:row"));
    CHECK(unreadable.complains("while reading LODE_FORCE_VARIANT"));
}

TEST_CASE("lode variants: the row that was only compiled is taken when forced, and says so") {
    Machine machine("sm_100");
    const auto chosen = machine.json({"gemm"})["variants"][0];
    CHECK(chosen["row"] == "mma");
    CHECK(reason_of(chosen, "tcgen05").find("only been compiled") != std::string::npos);
    machine.set("LODE_FORCE_VARIANT", "gemm:tcgen05");
    const auto forced = machine.json({"gemm"})["variants"][0];
    CHECK(forced["row"] == "tcgen05");
    CHECK(reason_of(forced, "tcgen05").find("it is forced, although it has only been compiled") !=
          std::string::npos);
}

TEST_CASE("lode variants: a problem leaves out the rows that can't handle it") {
    const Machine machine("sm_80");
    const auto decision = machine.json({"gemm", "--problem", "33x7x5"})["variants"][0];
    CHECK(decision["row"] == "tiled");
    CHECK(reason_of(decision, "mma") == "k = 5 isn't a multiple of 8");
    CHECK(reason_of(decision, "wmma") == "k = 5 isn't a multiple of 8");
}

TEST_CASE("lode variants: --tune measures, --choices lists, --clear forgets") {
    const Machine machine("sm_80");
    CHECK(machine.json({"--choices"})["choices"].empty());
    CHECK(machine.variants({"--choices"}).says("No tuned choice is kept in"));

    const auto tuned = machine.json({"reduce", "--tune", "--problem", "4096"})["tuned"];
    REQUIRE(tuned.size() == 1);
    CHECK(tuned[0]["kept"] == true);
    CHECK(tuned[0]["not_kept"].is_null());
    CHECK(tuned[0]["class"] == "4096x1x1");
    std::map<std::string, nlohmann::json> rows;
    for (const auto& row : tuned[0]["rows"])
        rows[row["row"]] = row;
    CHECK(rows["cluster"]["milliseconds"].is_null());
    CHECK(rows["cluster"]["problem"] == "it needs 9.0 or newer, but the device is 8.0");
    for (const char* measured : {"redux", "shuffle"}) {
        CHECK(rows[measured]["milliseconds"] > 0);
        CHECK(rows[measured]["problem"].is_null());
    }
    const std::string winner = tuned[0]["row"];
    CHECK((winner == "redux" || winner == "shuffle"));

    const auto chosen = machine.json({"reduce", "--problem", "4096"})["variants"][0];
    CHECK(chosen["row"] == winner);
    CHECK(reason_of(chosen, winner) == "tuning found it to be the fastest");

    CHECK(machine.json({"scan", "--tune", "--problem", "4096"})["tuned"][0]["kept"] == true);
    const auto choices = machine.json({"--choices"})["choices"];
    REQUIRE(choices.size() == 2);
    CHECK(choices[0]["family"] == "reduce");
    CHECK(choices[0]["device"] == "lode emulator (CPU) sm_80");
    CHECK(choices[0]["class"] == "4096x1x1");
    CHECK(choices[0]["row"] == winner);
    CHECK(choices[0]["milliseconds"] == rows[winner]["milliseconds"]);
    CHECK(machine.variants({"--choices"}).says(winner));
    CHECK(machine.json({"--choices", "scan"})["choices"].size() == 1);

    CHECK(machine.json({"--clear", "reduce"})["removed"] == 1);
    CHECK(machine.json({"--choices"})["choices"].size() == 1);
    CHECK(machine.variants({"--clear"}).says("Removed 1 tuned choice(s)"));
    CHECK(count_entries(machine.choices()) == 0);
}

TEST_CASE("lode variants: --tune says why a row wasn't measured and a choice wasn't kept") {
    Machine machine("sm_80");
    const auto tuned = machine.json({"gemm", "--tune", "--problem", "64x64x64"})["tuned"][0];
    std::size_t left_out = 0;
    for (const auto& row : tuned["rows"]) {
        if (row["row"] != "tcgen05") continue;
        ++left_out;
        CHECK(row["problem"].get<std::string>().find("needs exactly 10.0") != std::string::npos);
    }
    CHECK(left_out == 1);
    // There is a file in place of the folder, so nothing can be stored, even by root.
    const auto scratch = make_scratch();
    machine.set("LODE_CACHE_DIR", put(scratch.path() / "file", "").string());
    const auto lost = machine.json({"scan", "--tune", "--problem", "64"})["tuned"][0];
    CHECK(lost["kept"] == false);
    CHECK(lost["not_kept"].get<std::string>().find((scratch.path() / "file").string()) !=
          std::string::npos);
    CHECK(machine.variants({"scan", "--tune", "--problem", "64"}).says("not kept  "));
}

TEST_CASE("lode variants: without a device it says what to do") {
    const Machine machine("none");
    const auto outcome = machine.variants({"reduce"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("--cc"));
}

TEST_CASE("lode variants: bad usage exits with 2 and says what is wrong") {
    const Machine machine("sm_80");
    const auto is_bad_usage = [&](const std::vector<std::string>& arguments,
                                  std::string_view sentence) {
        const auto outcome = machine.variants(arguments);
        CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        CHECK(outcome.out.empty());
    };
    is_bad_usage({"redcue"}, "The families are: gemm, gemm_bf16, gemm_bf16_nn, gemm_bf16_relu");
    for (const char* cc : {"9", "9.0a", "volta", "1.20", "9.0.0", "."})
        is_bad_usage({"--cc", cc}, "write it as 9.0 or 90");
    for (const char* problem : {"0", "4096x", "1x2x3x4", "-1", "99999999999999999999999", "many"})
        is_bad_usage({"--problem", problem}, "it must be up to three numbers from 1, as in 4096");
    is_bad_usage({"--tune", "--clear"}, "--tune can't be combined with --clear");
    is_bad_usage({"--choices", "--clear"}, "can't be combined with");
    is_bad_usage({"--tune", "--cc", "9.0"}, "can't be combined with");
    is_bad_usage({"--choices", "--cc", "9.0"}, "can't be combined with");
    is_bad_usage({"--clear", "--problem", "64"}, "can't be combined with");
}
