// The command with NVVM IR.
#include "tests/ir/modules.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>

#include <doctest/doctest.h>

using namespace lode::test;

TEST_CASE("lode compile: NVVM IR becomes a cubin and PTX, and is a hit the second time") {
    if (!has_nvvm()) return;
    const auto folder = make_scratch();
    const Environment here = {{"LODE_DRIVER", "/nonexistent/libcuda.so.1"},
                              {"LODE_CACHE_DIR", (folder.path() / "cache").string()}};
    for (const char* tier : {"", "disk"}) {
        const auto outcome =
            ::lode::test::lode({"compile", module_path("scale"), "--arch", "sm_90,compute_75",
                                "--ptx", "--out-dir", folder.path().string(), "--json"},
                               here);
        REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
        for (const auto& image : outcome.json()["images"])
            CHECK(image.dump().find(tier) != std::string::npos);
    }
    for (const char* file :
         {"scale.typed.sm_90.cubin", "scale.typed.sm_90.ptx", "scale.typed.compute_75.ptx"})
        CHECK(std::filesystem::exists(folder.path() / file));
}

TEST_CASE("lode compile: NVVM IR and CUDA C++ are compiled separately") {
    const auto outcome = ::lode::test::lode(
        {"compile", module_path("scale"), LODE_SOURCE_DIR "/tests/ir/clang.cu", "--arch", "sm_90"},
        no_driver);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.complains("clang.cu are in different languages"));
}

TEST_CASE("lode compile: a target that libNVVM lacks is refused with those that it has") {
    if (!has_nvvm()) return;
    const auto outcome =
        ::lode::test::lode({"compile", module_path("scale"), "--arch", "sm_50"}, no_driver);
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.complains("libNVVM"));
}

TEST_CASE("lode run: NVVM IR runs on the software device") {
    if (!has_nvvm()) return;
    const auto outcome = ::lode::test::lode({"run", module_path("reverse"), "reverse", "--grid",
                                             "1", "--block", "64", "--", "i32[64]:iota"},
                                            {{"LODE_DRIVER", "emulator"}});
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.says("63"));
}
