// Several files on a command line, and standard input.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::test;

TEST_CASE("inputs: lode compile compiles several files, and one that fails leaves no output") {
    const auto folder = make_scratch();
    const auto saxpy = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const auto math = put(folder.path() / "math.cu", templates_source).string();
    const auto broken = put(folder.path() / "broken.cu", broken_source).string();
    const auto out = folder.path() / "out";
    const std::vector<std::string> targets = {"--arch", "sm_80,sm_90", "--out-dir", out.string(),
                                              "--json"};
    const auto compile = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "compile");
        words.insert(words.end(), targets.begin(), targets.end());
        return lode::test::lode(words, no_driver);
    };
    CHECK(compile({saxpy, broken}).exit_code == 1);
    CHECK_FALSE(std::filesystem::exists(out));

    const auto json = compile({saxpy, math, "--jobs", "2"}).json();
    CHECK(json["sources"] == nlohmann::json({saxpy, math}));
    CHECK_FALSE(json.contains("source"));
    std::string order;
    for (const auto& image : json["images"]) {
        const std::filesystem::path source = image["source"].get<std::string>();
        order += source.stem().string() + '.' + image["arch"].get<std::string>() + ' ';
    }
    CHECK(order == "saxpy.sm_80 saxpy.sm_90 math.sm_80 math.sm_90 ");
    CHECK(count_entries(out) == 4);
    CHECK(std::filesystem::exists(out / "math.sm_80.cubin"));
}

TEST_CASE("inputs: files whose outputs would collide and an output that is a file are refused") {
    const auto folder = make_scratch();
    std::filesystem::create_directory(folder.path() / "b");
    const auto one = put(folder.path() / "k.cu", saxpy_source).string();
    const auto two = put(folder.path() / "b" / "k.cu", saxpy_source).string();
    const auto same = lode::test::lode({"compile", one, two, "--arch", "sm_90"}, no_driver);
    CHECK(same.exit_code == 2);
    CHECK_MESSAGE(same.complains("would have the same output, k.ARCH.cubin"), same.err);
    const auto file =
        lode::test::lode({"compile", one, "--arch", "sm_90", "--out-dir", two}, no_driver);
    CHECK(file.exit_code == 2);
    CHECK_MESSAGE(file.complains("isn't a folder"), file.err);
    const auto twice = lode::test::lode({"info", "-", "-"}, no_driver);
    CHECK(twice.exit_code == 2);
    CHECK(twice.complains("Standard input (-) is named twice"));
}

TEST_CASE("inputs: standard input is compiled, shown and launched") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const auto out = folder.path() / "out";
    const auto compiled =
        lode::test::lode({"compile", "-", "--arch", "sm_90,compute_75", "--out-dir", out.string()},
                         no_driver, {.in = source});
    REQUIRE_MESSAGE(compiled.exit_code == 0, compiled.err);
    CHECK(compiled.out.starts_with("stdin.cu, NVRTC "));
    const auto ptx = (out / "stdin.compute_75.ptx").string();
    const auto shown = lode::test::lode({"info", "-", (out / "stdin.sm_90.cubin").string()},
                                        no_driver, {.in = ptx});
    CHECK(shown.exit_code == 0);
    CHECK(shown.out.starts_with("stdin, PTX, "));
    CHECK(shown.says("\n\nstdin.sm_90.cubin, machine code, "));
    const auto costs =
        lode::test::lode({"info", "--kernels", "-", "--arch", "sm_90"}, no_driver, {.in = source});
    CHECK_MESSAGE(costs.says("blocks per multiprocessor"), costs.err);

    const auto wrong = put(folder.path() / "wrong", "__global__ void k() { nothing; }").string();
    const auto failed =
        lode::test::lode({"compile", "-", "--arch", "sm_90"}, no_driver, {.in = wrong});
    CHECK(failed.exit_code == 1);
    CHECK(failed.complains("stdin.cu(1): error"));
    CHECK(lode::test::lode({"compile", "-", "--arch", "compute_90"}, no_driver, {.in = ptx})
              .complains("stdin.ptx is PTX already"));
    const auto unreadable = lode::test::lode({"info", "-"}, no_driver, {.in = folder.path()});
    CHECK(unreadable.exit_code == 1);
    CHECK(unreadable.complains("reading standard input fails"));

#ifdef LODE_EMULATE_CLIENT
    for (const auto& input : {source, ptx}) {
        const auto ran = lode::test::lode({"run", "-", "saxpy", "--cover", "4", "--json", "--",
                                           "2f", "f32[4]:iota", "f32[4]:ones", "4"},
                                          {{"LODE_DRIVER", "emulator"}}, {.in = input});
        REQUIRE_MESSAGE(ran.exit_code == 0, ran.err);
        CHECK(ran.json()["arguments"][2]["sum"] == 16);
    }
#endif
}
