// Wrong inputs of every command: the errors name the options, never the C++ interface.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::test;

namespace {

struct Mistake {
    std::vector<std::string> words;
    int exit_code;
    const char* sentence;
};

}  // namespace

TEST_CASE("messages: wrong inputs are explained in the words of the command line") {
    const auto folder = make_scratch();
    const auto cu = put(folder.path() / "k.cu", saxpy_source).string();
    const auto tile_ir =
        put(folder.path() / "tileir", std::string("\x7fTileIR\0\x0d\x03\0\0", 12)).string();
    const auto manifest = put(folder.path() / "app.json",
                              R"({"manifest": 1, "requests": [{"file": "k.cu", "arch": "sm80"}]})")
                              .string();
    const std::string at = "sm_90";
    const std::vector<Mistake> mistakes = {
        {{"compile", cu, "--arch", "sm80"}, 2, "reading --arch"},
        {{"compile", cu, "--arch", "SM_80"}, 2, "Did you mean 'sm_80'?"},
        {{"compile", cu, "--arch", "90"}, 2, "Did you mean 'sm_90'?"},
        {{"compile", cu, "--arch", "sm_91"}, 1, "The nearest is sm_90."},
        {{"compile", cu, "--arch", "compute_91"}, 1, "The nearest is compute_90."},
        {{"compile", cu, "--for", "sm_90"}, 2, "Did you mean '9.0'?"},
        {{"compile", cu, "--for", "9.0", "--driver", "x"}, 2, "write it as 12.4"},
        {{"compile", cu, "--for", "9.0", "--suffix", "z"}, 2, "--suffix is 'z'"},
        {{"compile", cu, "--arch", at, "--std", "12"}, 2, "--std is '12'"},
        {{"compile", cu, "--arch", at, "--math", "slow"}, 2, "--math is 'slow'"},
        {{"compile", cu, "--arch", at, "--tile", "all"}, 2, "--tile is 'all'"},
        {{"compile", cu, "--arch", at, "--lto", "--tile", "only"}, 2, "--tile and --lto exclude"},
        {{"compile", cu, "--arch", at, "--max-registers", "300"},
         2,
         "is '300'; it must be a whole number from 0"},
        {{"compile", cu, "--arch", at, "--flag=-rdc=true"}, 2, "use --relocatable"},
        {{"compile", cu, "--arch", at, "--flag=-dlto"}, 2, "use --lto"},
        {{"compile", cu, "--arch", at, "--flag=-DX=1"}, 2, "use --define"},
        {{"compile", cu, "--arch", at, "--flag=-Ix"}, 2, "use --include"},
        {{"compile", cu, "--arch", at, "--flag=--std=c++20"}, 2, "use --std"},
        {{"compile", cu, "--arch", at, "--flag=--fmad=false"}, 2, "use --math"},
        {{"compile", cu, "--arch", at, "--flag=--maxrregcount=3"}, 2, "use --max-registers"},
        {{"compile", cu, "--arch", at, "--flag=-lineinfo"}, 2, "use --line-info"},
        {{"compile", cu, "--arch", at, "--flag=-G"}, 2, "use --debug"},
        {{"compile", cu, "--arch", at, "--flag=--minimal"}, 2, "only manifests"},
        {{"compile", cu, "--arch", at, "--flag=--pre-include=a.h"}, 2, "write #include into"},
        {{"compile", cu, "--arch", at, "--flag=--tile-only"}, 2, "use --tile"},
        {{"compile", cu, "--arch", at, "--flag=-o=x"}, 2, "nvcc writes that file"},
        {{"compile", cu, "--arch", at, "--flag=-Xcompiler=-fPIC"}, 2, "nvcc's host compiler"},
        {{"compile", cu, "--arch", at, "--flag=-lcuda"}, 2, "use `lode link`"},
        {{"compile", cu, "--arch", at, "--flag=-cudadevrt=none"}, 2, "`lode link --device-"},
        {{"compile", cu, "--arch", at, "--flag=-fatbin"}, 2, "only applications can write"},
        {{"compile", cu, "--arch", at, "--flag=-default-stream=null"}, 2, "names its stream"},
        {{"compile", cu, "--arch", at, "--flag=--extended-lamda"}, 2, "mean '--extended-lambda'?"},
        {{"compile", cu, "--arch", at, "-D", "SQ(x=x"}, 2, "between one pair of parentheses"},
        {{"compile", cu, "--arch", at, "-I", "/nonexistent"}, 1, "Include folder '/nonexistent'"},
        {{"compile", cu, "--arch", at, "--name", "nothing"}, 1, "nothing"},
        {{"link", tile_ir, "--arch", at, "-o", "x"}, 1, "Tile"},
        {{"link", cu, "--arch", "SM90", "-o", "x"}, 2, "Did you mean 'sm_90'?"},
        {{"info", tile_ir + "x"}, 1, "doesn't exist"},
        {{"info", "--kernels", cu, "--arch", "sm91"}, 2, "Did you mean 'sm_91'?"},
        {{"info", "--kernels", cu, "--arch", "all"}, 2, "--arch is 'all'"},
        {{"run", cu, "saxpy"}, 2, "exactly one of --grid and --cover"},
        {{"run", cu, "saxpy", "--grid", "0"}, 2, "--grid is '0'"},
        {{"run", cu, "saxpy", "--grid", "1", "--block", "x"}, 2, "--block is 'x'"},
        {{"run", cu, "saxpy", "--grid", "1", "--arch", "sm-90"}, 2, "Did you mean 'sm_90'?"},
        {{"run", cu, "saxpy", "--grid", "1", "--", "f33[2]"}, 2, "isn't an element type"},
        {{"variants", "reduce", "--cc", "sm_80"}, 2, "Did you mean '8.0'?"},
        {{"cache", "why", cu, "--arch", "sm80"}, 2, "Did you mean 'sm_80'?"},
        {{"warm", manifest}, 2, "'sm_80' may be meant"},
        {{"warm", manifest, "--arch", "sm80"}, 2, "Did you mean 'sm_80'?"},
#ifdef LODE_EMULATE_CLIENT
        {{"run", cu, "saxpy", "--grid", "1", "--block", "4096", "--", "1f", "f32[4]", "f32[4]",
          "4"},
         1,
         "4096"},
        {{"run", cu, "saxpy", "--grid", "1", "--device", "7"}, 1, "7"},
        {{"emulate", "--devices", "sm90", "--", "true"}, 2, "Did you mean 'sm_90'?"},
        {{"emulate", "--devices", "sm90", "--", "true"}, 2, "--devices contains"},
        {{"emulate", "--check", "memry", "--", "true"}, 2, "--check"},
#endif
    };
    for (const auto& [words, exit_code, sentence] : mistakes) {
        std::string line;
        for (const auto& word : words)
            line += word + ' ';
        CAPTURE(line);
        const bool is_launch = words.front() == "run" || words.front() == "emulate";
        const Environment environment = {{"LODE_DRIVER", is_launch ? "emulator" : "/nonexistent"},
                                         {"LODE_CACHE", "on"},
                                         {"LODE_CACHE_DIR", (folder.path() / "cache").string()}};
        const auto outcome = lode::test::lode(words, environment);
        CHECK(outcome.exit_code == exit_code);
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
        for (const char* api : {"Options::", "Compile::", "Device::", "Runtime::", "Tile::",
                                "LinkInput::", "LaunchShape::", "Limits::", "LODE_EMULATOR_"})
            CHECK_MESSAGE(!outcome.complains(api), outcome.err);
    }
}
