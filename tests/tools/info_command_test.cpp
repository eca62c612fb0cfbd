#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <sstream>
#include <string>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

}  // namespace

TEST_CASE("lode info: works without a driver and says why there is none") {
    const auto outcome = lode::test::lode({"info"}, no_driver);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.says("Driver\n  not available"));
    CHECK(outcome.says("/nonexistent/libcuda.so.1"));
    CHECK(outcome.says("Compiler\n  version"));
    CHECK(outcome.says("LODE_DRIVER"));
}

TEST_CASE("lode info: the default is short, and --all adds the rest") {
    const Environment environment = {{"LODE_DRIVER", LODE_SCRIPTED_DRIVER},
                                     {"LODE_CACHE_PACKS", "a.pack"},
                                     {"CUDA_VISIBLE_DEVICES", ""},
                                     {"LODE_JIT", ""}};
    const auto brief = lode::test::lode({"info"}, environment);
    CHECK(brief.exit_code == 0);
    CHECK(brief.says("  LODE_CACHE_PACKS "));
    CHECK(brief.says("  a.pack\n"));
    CHECK(brief.says("  CUDA_VISIBLE_DEVICES  (empty)\n"));
    CHECK(brief.says("\nDevice 0\n"));
    std::istringstream lines(brief.out);
    for (std::string line; std::getline(lines, line);)
        if (line.find('/') == std::string::npos) CHECK_MESSAGE(line.size() <= 80, line);
    const auto whole = lode::test::lode({"info", "--all"}, environment);
    for (const char* rest : {"not set", "LODE_JIT", "\n  searched ", "Attributes of device 0"}) {
        CAPTURE(rest);
        CHECK_FALSE(brief.says(rest));
        CHECK(whole.says(rest));
    }
}

TEST_CASE("lode info: JSON has the documented keys, without a driver") {
    const auto json = lode::test::lode({"info", "--json"}, no_driver).json();
    CHECK(json["lode"] == 1);
    CHECK(json["command"] == "info");
    CHECK(json["ok"] == true);
    CHECK(json["version"].is_string());
    CHECK(json["driver"]["found"] == false);
    CHECK(json["driver"]["error"]["code"] == "driver_missing");
    CHECK(json["devices"].empty());
    CHECK(json["compiler"]["found"] == true);
    CHECK(json["compiler"]["architectures"].size() > 3);
    CHECK(json["compiler"]["include_folders"].is_array());
    CHECK(json["compiler"]["search"].size() > 0);
    CHECK(json["compiler"]["library"].get<std::string>().find("libnvrtc") != std::string::npos);
    bool has_driver_row = false;
    for (const auto& variable : json["environment"]) {
        CHECK(variable["meaning"].is_string());
        CHECK(variable["default"].is_string());
        if (variable["name"] != "LODE_DRIVER") continue;
        has_driver_row = true;
        CHECK(variable["value"] == "/nonexistent/libcuda.so.1");
    }
    CHECK(has_driver_row);
}

TEST_CASE("lode info: works without NVRTC and says where it looked") {
    Environment environment = no_driver;
    environment["LODE_NVRTC"] = "/nonexistent/nvrtc";
    const auto outcome = lode::test::lode({"info"}, environment);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.says("Compiler\n  not available"));
    CHECK(outcome.says("/nonexistent/nvrtc"));
    const auto json = lode::test::lode({"info", "--json"}, environment).json();
    CHECK(json["compiler"]["found"] == false);
    CHECK(json["compiler"]["error"]["code"] == "compiler_missing");
}

TEST_CASE("lode info: a file that doesn't exist or holds no device code is an error") {
    const auto outcome = lode::test::lode({"info", "/nonexistent/x.fatbin"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("/nonexistent/x.fatbin"));
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "text.txt", "hello").string();
    const auto refused = lode::test::lode({"info", file});
    CHECK(refused.exit_code == 1);
    CHECK(refused.complains("'text.txt' (5 bytes) is neither PTX nor a cubin"));
    CHECK(lode::test::lode({"info", "--all", file}).exit_code == 2);
    CHECK(lode::test::lode({"info", file, "more"}).exit_code == 1);
}

TEST_CASE("lode info: a file's parts and kernels are listed, whatever it is called") {
    const auto scratch = make_scratch();
    const auto source = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    const auto compiled = lode::test::lode(
        {"compile", source, "--arch", "sm_90", "--ptx", "--out-dir", scratch.path().string()},
        no_driver);
    REQUIRE_MESSAGE(compiled.exit_code == 0, compiled.err);
    const auto cubin = scratch.path() / "code";
    std::filesystem::rename(scratch.path() / "saxpy.sm_90.cubin", cubin);
    const auto outcome = lode::test::lode({"info", cubin.string()}, no_driver);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("code, machine code, "));
    CHECK(outcome.says("sm_90"));
    CHECK(outcome.says("saxpy"));
    const auto ptx = (scratch.path() / "saxpy.sm_90.ptx").string();
    const auto json = lode::test::lode({"info", ptx, "--json"}, no_driver).json();
    CHECK(json["format"] == "PTX");
    REQUIRE(json["parts"].size() == 1);
    CHECK(json["parts"][0]["kind"] == "PTX");
    CHECK(json["parts"][0]["arch"] == "compute_90");
    CHECK(json["parts"][0]["compression"] == "none");
    CHECK(json["parts"][0]["stored_bytes"] == std::filesystem::file_size(ptx));
    REQUIRE(json["parts"][0]["kernels"].size() == 1);
    CHECK(json["parts"][0]["kernels"][0].get<std::string>().find("saxpy") != std::string::npos);
}

TEST_CASE("lode info: Tile IR is recognised, with its version") {
    const auto scratch = make_scratch();
    const auto file =
        put(scratch.path() / "k.tileir", std::string_view("\x7fTileIR\0\r\5\0\0", 12)).string();
    const auto outcome = lode::test::lode({"info", file});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("k.tileir, Tile IR 13.5, 12 bytes"));
    const auto json = lode::test::lode({"info", file, "--json"}).json();
    CHECK(json["format"] == "Tile IR");
    CHECK(json["parts"][0]["arch"].is_null());
}

TEST_CASE("lode info: OptiX IR is told from LTO-IR, and neither is source") {
    const auto scratch = make_scratch();
    const auto source = put(scratch.path() / "k.cu", saxpy_source).string();
    for (const auto& [option, end, format] : {std::array{"--optix-ir", "optixir", "OptiX IR"},
                                              std::array{"--lto", "ltoir", "LTO-IR"}}) {
        const auto file = (scratch.path() / end).string();
        const auto compiled =
            lode::test::lode({"compile", source, "--arch", "sm_90", option, "-o", file}, no_driver);
        REQUIRE_MESSAGE(compiled.exit_code == 0, compiled.err);
        CHECK(lode::test::lode({"info", file, "--json"}).json()["format"] == format);
        const auto again = lode::test::lode({"compile", file, "--arch", "sm_90"}, no_driver);
        CHECK(again.exit_code == 2);
        CHECK_CONTAINS(again.err,
                       fmt::format("' is {}, compiled already. Pass the CUDA C++", format));
    }
    const auto file = (scratch.path() / "optixir").string();
    CHECK_CONTAINS(lode::test::lode({"link", file, "--arch", "sm_90", "-o", file + ".out"}).err,
                   "' is OptiX IR, which only OptiX takes (optixModuleCreate).");
}

TEST_CASE("lode info: --kernels shows what a file's kernels cost and their occupancy") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "saxpy.cu", saxpy_source).string();
    const auto outcome =
        lode::test::lode({"info", "--kernels", file, "--arch", "sm_80,sm_90a"}, no_driver);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("saxpy.cu, sm_80"));
    CHECK(outcome.says("saxpy.cu, sm_90a"));
    CHECK(outcome.says("limited by"));

    const auto json =
        lode::test::lode({"info", "--kernels", file, "--arch", "sm_89", "--json"}, no_driver)
            .json();
    REQUIRE(json["images"].size() == 1);
    CHECK(json["images"][0]["arch"] == "sm_89");
    const auto& kernel = json["images"][0]["kernels"][0];
    CHECK(kernel["symbol"] == "saxpy");
    CHECK(kernel["registers"].get<int>() > 0);
    CHECK(kernel["best_block_size"] == 768);
    REQUIRE(kernel["block_sizes"].size() == 6);
    CHECK(kernel["block_sizes"][0]["threads"] == 32);
    CHECK(kernel["block_sizes"][0]["blocks"] == 24);
    CHECK(kernel["block_sizes"][0]["occupancy"] == 0.5);
    CHECK(kernel["block_sizes"][0]["limited_by"][0] == "blocks");
}

TEST_CASE("lode info: --kernels refuses targets without registers") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "any.cu", saxpy_source).string();
    const auto virtual_target =
        lode::test::lode({"info", "--kernels", source, "--arch", "compute_90"}, no_driver);
    CHECK(virtual_target.exit_code == 2);
    CHECK(virtual_target.complains("sm_90"));
    CHECK(lode::test::lode({"info", "--kernels", source, "--arch", "all"}).exit_code == 2);
    CHECK(lode::test::lode({"info", "--arch", "sm_90"}).complains("--kernels"));
}

TEST_CASE("lode info: shows the driver's variables that choose the devices") {
    Environment environment = no_driver;
    environment["CUDA_VISIBLE_DEVICES"] = "1,0";
    const auto outcome = lode::test::lode({"info"}, environment);
    CHECK(outcome.says("Environment of the driver"));
    const auto json = lode::test::lode({"info", "--json"}, environment).json();
    REQUIRE(json["driver_environment"].size() == 4);
    CHECK(json["driver_environment"][0]["name"] == "CUDA_VISIBLE_DEVICES");
    CHECK(json["driver_environment"][0]["value"] == "1,0");
    CHECK(json["driver_environment"][1]["meaning"].is_string());
}

TEST_CASE("lode info: --all lists every attribute of each device with its unit") {
    const Environment emulator = {{"LODE_DRIVER", "emulator"}};
    const auto outcome = lode::test::lode({"info", "--all"}, emulator);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("Attributes of device 0"));
    CHECK(outcome.says("max_shared_memory_per_block"));
    const auto json = lode::test::lode({"info", "--all", "--json"}, emulator).json();
    const auto& attributes = json["devices"][0]["attributes"];
    CHECK(attributes.size() >= 147);
    CHECK(attributes["warp_size"]["value"] == 32);
    CHECK(attributes["warp_size"]["unit"] == "count");
    CHECK(attributes["max_shared_memory_per_block"]["unit"] == "bytes");
}

TEST_CASE("lode: help and version go to stdout and exit with 0") {
    CHECK(lode::test::lode({"--version"}).out.starts_with("lode "));
    for (const char* command : {"info", "compile", "run"}) {
        const auto outcome = lode::test::lode({command, "--help"});
        CHECK(outcome.exit_code == 0);
        CHECK(outcome.says("--json"));
        CHECK(outcome.err.empty());
    }
    CHECK(lode::test::lode({"run", "--help"}).says("f32[1024]:random(1)"));
}

TEST_CASE("lode: output that can't be written is a failure") {
    if (!std::filesystem::exists("/dev/full")) return;
    const auto outcome = lode::test::lode({"info"}, no_driver, {.out = Stream::full});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.complains("can't be written to stdout"));
}
