// `lode run` and `lode info` with the scripted driver: everything but the device's arithmetic. The
// scripted driver loads only PTX, hence --arch compute_90.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/scripted.hpp"

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

Outcome run(std::string_view source, std::vector<std::string> arguments) {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "kernel.cu", source).string();
    arguments.insert(arguments.begin(), {"run", file});
    return lode::test::lode(arguments, scripted);
}

Outcome saxpy(std::vector<std::string> options, const std::vector<std::string>& arguments) {
    options.insert(options.begin(), {"saxpy", "--arch", "compute_90"});
    options.emplace_back("--");
    options.insert(options.end(), arguments.begin(), arguments.end());
    return run(saxpy_source, options);
}

const std::vector<std::string> good = {"2", "f32[1000]:iota", "f32[1000]:ones", "1000"};

}  // namespace

TEST_CASE("lode info: shows what the driver reports about its device") {
    const auto outcome = lode::test::lode({"info"}, scripted);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.says("Device 0\n  name                Fake H1\n"));
    CHECK(outcome.says("compiled for        sm_90"));
    const auto json = lode::test::lode({"info", "--json"}, scripted).json();
    CHECK(json["driver"]["found"] == true);
    CHECK(json["driver"]["library"] == LODE_SCRIPTED_DRIVER);
    REQUIRE(json["devices"].size() == 1);
    for (const char* key :
         {"found", "ordinal", "name", "compute_capability", "target", "uuid", "pci_id",
          "compute_mode", "total_memory_bytes", "theoretical_bandwidth", "multiprocessors",
          "max_block", "max_grid", "registers_per_block", "shared_bytes_per_block_optin", "ecc"}) {
        CHECK_MESSAGE(json["devices"][0].contains(key), key);
    }
}

TEST_CASE("lode compile: without --arch it compiles for the visible device") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    for (const bool named : {false, true}) {
        const auto out = scratch.path() / (named ? "native" : "default");
        std::vector<std::string> words = {"compile", file, "--out-dir", out.string()};
        if (named) words.insert(words.end(), {"--arch", "native"});
        const auto outcome = lode::test::lode(words, scripted);
        CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
        CHECK(outcome.err.empty());
        CHECK(std::filesystem::exists(out / "saxpy.sm_90.cubin"));
    }
}

TEST_CASE("lode run: fills buffers, launches, and shows what is in them") {
    const auto outcome = saxpy({"--cover", "1000", "--json"}, good);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto json = outcome.json();
    CHECK(json["lode"] == 1);
    CHECK(json["command"] == "run");
    CHECK(json["ok"] == true);
    CHECK(json["kernel"] == "saxpy");
    CHECK(json["symbol"] == "saxpy");
    CHECK(json["arch"] == "compute_90");
    CHECK(json["device"]["name"] == "Fake H1");
    CHECK(json["grid"] == nlohmann::json::array({4, 1, 1}));
    CHECK(json["block"] == nlohmann::json::array({256, 1, 1}));
    CHECK(json["registers"] == 32);
    CHECK(json["launches"] == 1);
    for (const char* key : {"source", "dynamic_shared_bytes", "static_shared_bytes", "local_bytes",
                            "time_ms", "findings", "log"}) {
        CHECK_MESSAGE(json.contains(key), key);
    }
    REQUIRE(json["arguments"].size() == 4);
    CHECK(json["arguments"][0]["kind"] == "scalar");
    CHECK(json["arguments"][0]["type"] == "f32");
    CHECK(json["arguments"][0]["value"] == 2.0);
    CHECK(json["arguments"][1]["kind"] == "buffer");
    CHECK(json["arguments"][1]["count"] == 1000);
    CHECK(json["arguments"][1]["sum"] == 499500.0);
    CHECK(json["arguments"][2]["text"] == "f32[1000]:ones");
    CHECK(json["arguments"][2]["head"] == nlohmann::json::array({1, 3, 5, 7, 9, 11, 13, 15}));
    CHECK(json["arguments"][2]["sum"] == 1000000.0);
}

TEST_CASE("lode run: the text has the launch, the time, sums and heads") {
    const auto outcome = saxpy({"--grid", "1", "--block", "8,4"}, good);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("device     0 (Fake H1)"));
    CHECK(outcome.says("grid (1, 1, 1), block (8, 4, 1), 0 B dynamic shared memory"));
    CHECK(outcome.says(" ms"));
    CHECK(outcome.says("f32[1000]:ones"));
    CHECK(outcome.says("1 3 5 7 9 11 13 15 ..."));
    CHECK(outcome.says("1992"));  // Only 32 threads: 968 ones, and the odd numbers up to 63.
}

TEST_CASE("lode run: repeated launches show the results of the first") {
    const auto json = saxpy({"--cover", "1000", "--repeat", "5", "--json"}, good).json();
    CHECK(json["launches"] == 5);
    CHECK(json["arguments"][2]["sum"] == 1000000.0);
    CHECK(json["time_ms"]["min"] <= json["time_ms"]["median"]);
}

TEST_CASE("lode run: takes PTX as lode compile writes it") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    const auto folder = scratch.path().string();
    REQUIRE(lode::test::lode({"compile", file, "--arch", "compute_80", "--out-dir", folder})
                .exit_code == 0);
    const auto outcome =
        lode::test::lode({"run", folder + "/saxpy.compute_80.ptx", "saxpy", "--cover", "4",
                          "--json", "--", "2f", "f32[4]:iota", "f32[4]:ones", "4"},
                         scripted);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.json()["arguments"][2]["head"] == nlohmann::json::array({1, 3, 5, 7}));
    CHECK(outcome.json()["arch"] == "compute_80");
}

TEST_CASE("lode run: arguments that don't fit are refused before the launch") {
    const auto fails = [](const std::vector<std::string>& arguments, std::string_view sentence) {
        const auto outcome = saxpy({"--cover", "4", "--json"}, arguments);
        CHECK_MESSAGE(outcome.exit_code == 1, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        return outcome.json()["error"]["code"];
    };
    CHECK(
        fails(
            {"2f"},
            "saxpy takes 4 arguments: f32, pointer/int64, pointer/int64, int32, but 1 is given.") ==
        "signature_mismatch");
    CHECK(fails({"i32:2", "f32[4]", "f32[4]", "4"},
                "Argument 1 ('i32:2') is a number of type i32") == "signature_mismatch");
    CHECK(fails({"2", "f32[4]", "f32[4]", "2.5"},
                "Argument 4 ('2.5') isn't a whole number; saxpy takes int32 there.") ==
          "signature_mismatch");
    CHECK(fails({"2f", "f32[4]", "f32[4]", "4f"}, "Argument 4 ('4f')") == "signature_mismatch");
    CHECK(fails({"2f", "f32[4]", "f32[4]@/nonexistent.bin", "4"}, "/nonexistent.bin") ==
          "not_found");
}

TEST_CASE("lode run: the error for an unknown kernel lists the kernels") {
    const auto outcome = run(saxpy_source, {"saxpi", "--cover", "4", "--arch", "compute_90"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("saxpi"));
    CHECK(outcome.complains("saxpy"));
}

TEST_CASE("lode run: too large a block, an absent device, a foreign target and bad code fail") {
    const auto fails = [](const Outcome& outcome, std::string_view sentence) {
        CHECK_MESSAGE(outcome.exit_code == 1, outcome.err);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        CHECK(outcome.out.empty());
    };
    fails(saxpy({"--grid", "1", "--block", "4096"}, good), "4096");
    fails(saxpy({"--cover", "4", "--device", "7"}, good), "7");
    fails(run(saxpy_source,
              {"saxpy", "--cover", "4", "--arch", "sm_100", "--", "2f", "f32[4]", "f32[4]", "4"}),
          "sm_100");
    fails(run(broken_source, {"broken", "--cover", "4", "--", "i32[1]"}), "kernel.cu:3");
}

TEST_CASE("lode run: of 1,500 kernels the error lists those nearest to the unknown name") {
    std::string source;
    for (int i = 0; i < 1500; ++i)
        source += "extern \"C\" __global__ void kernel_" + std::to_string(i) + "() {}\n";
    const auto outcome =
        run(source, {"kernel_1234x", "--arch", "compute_90", "--grid", "1", "--block", "1"});
    CHECK(outcome.exit_code == 1);
    CHECK_MESSAGE(outcome.complains("Did you mean 'kernel_1234'?"), outcome.err);
    CHECK(outcome.complains("kernel_1234, "));
    CHECK(outcome.complains(" and 1,488 more."));
    CHECK_MESSAGE(outcome.err.size() < 3000, outcome.err);
}

TEST_CASE("lode run: a kernel's name of 6,000 characters runs, and is cut in messages") {
    const std::string name = "begin" + std::string(6000, '_') + "end";
    const std::string source = "extern \"C\" __global__ void " + name + "() {}\n";
    const std::vector<std::string> shape = {"--arch", "compute_90", "--grid", "1", "--block", "1"};
    auto line = shape;
    line.insert(line.begin(), name);
    CHECK(run(source, line).exit_code == 0);
    line.front() += "x";
    const auto outcome = run(source, line);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("'begin___"));
    CHECK(outcome.complains("___endx' doesn't name a kernel"));
    CHECK_MESSAGE(outcome.err.size() < 6000, outcome.err.size());
}
