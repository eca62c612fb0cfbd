#include "tests/unit/jit/support.hpp"

#include <lode/jit/options.hpp>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::CompileOptions;
using lode::Errc;
using lode::Math;
using lode::Standard;
using lode::test::contains;

namespace {

using Flags = std::vector<std::string>;

std::string refusal(const Flags& flags) {
    const auto options = CompileOptions::parse(flags);
    if (options) FAIL("is taken: " << flags.front());
    CHECK(options.error().code == Errc::invalid_argument);
    return options.error().message;
}

}  // namespace

TEST_CASE("parsed options: the flags of NVRTC and nvcc become members") {
    const auto options = CompileOptions::parse({"-I",
                                                "a dir",
                                                "-Iother",
                                                "--include-path=third",
                                                "-DX=1",
                                                "-D",
                                                "Y",
                                                "--define-macro",
                                                "Z=a=b",
                                                "-std=c++20",
                                                "--use_fast_math",
                                                "--ftz=false",
                                                "-prec-div",
                                                "true",
                                                "--fmad=false",
                                                "--maxrregcount=32",
                                                "-lineinfo",
                                                "-rdc=true",
                                                "-include",
                                                "first.h",
                                                "--pre-include=second.h"});
    REQUIRE_MESSAGE(options, options.error().describe());
    CHECK(*options ==
          CompileOptions{
              .definitions = {{"X", "1"}, {"Y"}, {"Z", "a=b"}},
              .include_folders = {"a dir", "other", "third"},
              .pre_includes = {"first.h", "second.h"},
              .standard = Standard::cxx20,
              .math = {.preset = Math::Preset::fast, .ftz = false, .prec_div = true, .fmad = false},
              .max_registers = 32,
              .line_info = true,
              .relocatable = true});
    CHECK(*CompileOptions::parse({}) == CompileOptions{});
    CHECK(CompileOptions::parse({"-G", "--device-c", "--prec-sqrt=false"}) ==
          CompileOptions{.math = {.prec_sqrt = false}, .debug = true, .relocatable = true});
    for (const char* form : {"-dlto", "--dlink-time-opt"})
        CHECK(CompileOptions::parse({form})->lto);
    CHECK(CompileOptions::parse({"-optix-ir"})->optix_ir);
    for (const char* form : {"-std=c++14", "--std=c++14"})
        CHECK(CompileOptions::parse({form})->standard == Standard::cxx14);
    CHECK(CompileOptions::parse({"-std", "c++11"})->standard == Standard::cxx11);
    CHECK(CompileOptions::parse({"-maxrregcount", "64"})->max_registers == 64);
}

TEST_CASE("parsed options: options that lode doesn't know are passed on with their values") {
    const Flags flags{"--new-flag", "-another", "177", "--a-third=-dlcm=cg"};
    const auto options = CompileOptions::parse(flags);
    REQUIRE_MESSAGE(options, options.error().describe());
    CHECK(options->extra_flags == flags);
}

TEST_CASE("parsed options: the flags from compile_flags() are parsed back to the same options") {
    const CompileOptions options{.definitions = {{"N", "4"}, {"FLAG"}, {"EMPTY", ""}},
                                 .include_folders = {"a folder", "b"},
                                 .pre_includes = {"first.h"},
                                 .standard = Standard::cxx14,
                                 .math = {.preset = Math::Preset::fast, .prec_sqrt = true},
                                 .max_registers = 64,
                                 .line_info = true,
                                 .relocatable = true,
                                 .lto = true,
                                 .minimal = true,
                                 .extra_flags = {"--restrict"}};
    CHECK(CompileOptions::parse(*lode::compile_flags(options)) == options);
    for (const auto tile : {lode::Tile::enabled, lode::Tile::only}) {
        const CompileOptions tiles{.tile = tile};
        CHECK(CompileOptions::parse(*lode::compile_flags(tiles)) == tiles);
    }
    CHECK(CompileOptions::parse({"-tile-only", "-enable-tile"})->tile == lode::Tile::only);
}

TEST_CASE("parsed options: the target and options that lode sets itself are refused") {
    for (const Flags& flags :
         {Flags{"-arch=sm_90"}, Flags{"-arch", "sm_90"}, Flags{"--gpu-architecture=compute_80"},
          Flags{"-gencode", "arch=compute_80,code=sm_80"}})
        CHECK(refusal(flags) ==
              "Option '" + flags[0] +
                  "' can't be given here: the call's arch argument chooses the target.");
    CHECK(contains(refusal({"-lineinfo", "--gen-opt-lto"}),
                   "'--gen-opt-lto' can't be given here: an Image can't hold"));
    CHECK(contains(refusal({"--no-cache"}), "lode always sets it"));
}

TEST_CASE("parsed options: values that are missing or wrong are named") {
    CHECK(refusal({"-I"}) == "Option '-I' needs a value after it.");
    CHECK(refusal({"--std"}) == "Option '--std' needs a value after it.");
    CHECK(refusal({"-std=c++98"}) ==
          "Option '-std=c++98' is 'c++98' but must be c++11, c++14, c++17 or c++20.");
    CHECK(contains(refusal({"--maxrregcount=many"}), "is 'many' but must be a number from 0 to"));
    CHECK(contains(refusal({"--maxrregcount=256"}), "(256) is outside [0, 255]"));
    CHECK(contains(refusal({"--ftz=on"}), "is 'on' but must be true or false"));
    CHECK(contains(refusal({"-D1X"}), "Definition '1X' isn't a macro name"));
    CHECK(contains(refusal({"-D="}), "Definition '' isn't a macro name"));
    CHECK(refusal({"kernel.cu"}) ==
          "Option 'kernel.cu' isn't a compile option: it doesn't begin with a dash and no option "
          "before it takes a value.");
    for (const Flags& flags : {Flags{"-lineinfo", "yes"}, Flags{"--unknown=1", "x"}, Flags{""}})
        CHECK(contains(refusal(flags), "isn't a compile option"));
}
