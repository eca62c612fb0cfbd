#include "tests/unit/jit/support.hpp"

#include <lode/jit/options.hpp>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::compile_flags;
using lode::CompileOptions;
using lode::Errc;
using lode::Math;
using lode::test::contains;

using Flags = std::vector<std::string>;

TEST_CASE("options: the defaults ask only for C++17") {
    CHECK(*compile_flags({}) == Flags{"--std=c++17"});
}

TEST_CASE("options: every field has its flag, in a fixed order") {
    CompileOptions options;
    options.definitions = {{"N", "4"}, {"FLAG"}, {"EMPTY", ""}, {"TEXT", "\"a b\""}};
    options.include_folders = {"a folder", "b"};
    options.pre_includes = {"first.h"};
    options.standard = lode::Standard::cxx20;
    options.math = {.preset = Math::Preset::fast, .ftz = false, .prec_div = true};
    options.max_registers = 64;
    options.line_info = true;
    options.relocatable = true;
    options.lto = true;
    options.minimal = true;
    options.extra_flags = {"--restrict", "-Xptxas=-O1"};
    CHECK(*compile_flags(options) ==
          Flags{"--std=c++20", "-DN=4", "-DFLAG", "-DEMPTY=", "-DTEXT=\"a b\"", "-Ia folder", "-Ib",
                "--pre-include=first.h", "--use_fast_math", "--ftz=false", "--prec-div=true",
                "--maxrregcount=64", "--generate-line-info", "--relocatable-device-code=true",
                "--dlink-time-opt", "--minimal", "--restrict", "--ptxas-options=-O1"});
}

TEST_CASE("options: the maths presets and the switches that override them") {
    const auto flags = [](const Math& math) {
        CompileOptions options;
        options.math = math;
        auto all = *compile_flags(options);
        all.erase(all.begin());
        return all;
    };
    CHECK(flags({}) == Flags{});
    CHECK(flags({.preset = Math::Preset::fast}) == Flags{"--use_fast_math"});
    CHECK(flags({.preset = Math::Preset::host_comparable}) == Flags{"--fmad=false"});
    CHECK(flags({.preset = Math::Preset::host_comparable, .fmad = true}) == Flags{"--fmad=true"});
    CHECK(flags({.preset = Math::Preset::fast, .prec_sqrt = true, .fmad = false}) ==
          Flags{"--use_fast_math", "--prec-sqrt=true", "--fmad=false"});
}

TEST_CASE("options: tile kernels beside others or alone, and never with LTO") {
    CompileOptions options;
    options.tile = lode::Tile::enabled;
    CHECK(*compile_flags(options) == Flags{"--std=c++17", "--enable-tile"});
    options.lto = true;
    const auto refused = compile_flags(options);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::invalid_argument);
    CHECK(contains(refused.error().message, "CompileOptions::tile and CompileOptions::lto"));
    options.lto = false;
    options.optix_ir = true;
    CHECK(contains(compile_flags(options).error().message, "optix_ir and CompileOptions::tile"));
    options.optix_ir = false;
    options.tile = lode::Tile::only;
    CHECK(*compile_flags(options) == Flags{"--std=c++17", "--tile-only"});
}

TEST_CASE("options: debug contains line information") {
    CompileOptions options;
    options.debug = true;
    options.line_info = true;
    CHECK(*compile_flags(options) == Flags{"--std=c++17", "--device-debug"});
}

TEST_CASE("options: a value outside its range is refused with the value and the limit") {
    struct Row {
        CompileOptions options;
        std::string named;
    };
    std::vector<Row> rows;
    const auto refused = [&](std::string named, auto change) {
        rows.push_back({{}, std::move(named)});
        change(rows.back().options);
    };
    refused("(256) is outside [0, 255]", [](auto& o) { o.max_registers = 256; });
    refused("(-1) is outside [0, 255]", [](auto& o) { o.max_registers = -1; });
    refused("'1x'", [](auto& o) { o.definitions = {{"1x"}}; });
    refused("''", [](auto& o) { o.definitions = {{""}}; });
    refused("'A B'", [](auto& o) { o.definitions = {{"A B", "1"}}; });
    refused("'A=1'", [](auto& o) { o.definitions = {{"A=1"}}; });
    refused("'LINES' spans several lines", [](auto& o) { o.definitions = {{"LINES", "1\n2"}}; });
    refused("include folder", [](auto& o) { o.include_folders = {""}; });
    refused("pre-include", [](auto& o) { o.pre_includes = {""}; });
    refused("header has no name", [](auto& o) { o.headers = {{"", "x"}}; });
    refused("'a.h' is given twice", [](auto& o) {
        o.headers = {{"a.h", "1"}, {"b.h", "2"}, {"a.h", "3"}};
    });
    refused("'a.h' contains a NUL", [](auto& o) { o.headers = {{"a.h", std::string("x\0y", 3)}}; });
    refused("extra flag is empty", [](auto& o) { o.extra_flags = {""}; });
    for (const auto& row : rows) {
        CAPTURE(row.named);
        const auto flags = compile_flags(row.options);
        REQUIRE_FALSE(flags);
        CHECK(flags.error().code == Errc::invalid_argument);
        CHECK_MESSAGE(contains(flags.error().message, row.named), flags.error().message);
    }
}

TEST_CASE("options: a function-like macro is a definition in any form that the compiler takes") {
    for (const char* name :
         {"SQ(x)", "F()", "F( )", "F(a,b)", "F( a , b_2\t)", "F(...)", "F( ... )", "F(a,...)",
          "F(a, rest...)", "F(rest ...)", "F(defined)"}) {
        CAPTURE(name);
        CompileOptions options;
        options.definitions = {{name, "((x)*(x))"}};
        const auto flags = compile_flags(options);
        REQUIRE_MESSAGE(flags, flags.error().message);
        CHECK(flags->back() == "-D" + std::string(name) + "=((x)*(x))");
    }
}

TEST_CASE("options: a wrong function-like macro is refused with what is wrong") {
    const std::pair<std::string, std::string> rows[] = {
        {"SQ(x", "between one pair of parentheses"},
        {"SQ)", "must be an identifier"},
        {"SQ (x)", "directly after it"},
        {"SQ(x) ", "between one pair of parentheses"},
        {"SQ(x)y", "between one pair of parentheses"},
        {"SQ((x))", "between one pair of parentheses"},
        {"SQ(x)(y)", "between one pair of parentheses"},
        {"(x)", "must be an identifier"},
        {"SQ(x,x)", "has the parameter 'x' twice"},
        {"SQ(x,y,x...)", "has the parameter 'x' twice"},
        {"SQ(1)", "parameter '1' isn't an identifier"},
        {"SQ(x y)", "parameter 'x y' isn't an identifier"},
        {"SQ(x,)", "parameter '' isn't an identifier"},
        {"SQ(,x)", "parameter '' isn't an identifier"},
        {"SQ(x\n,y)", "parameter 'x\\n' isn't an identifier"},
        {"SQ(x=1)", "parameter 'x=1' isn't an identifier"},
        {"SQ(__VA_ARGS__)", "parameter '__VA_ARGS__' isn't an identifier"},
        {"SQ(...,x)", "'...' isn't its last parameter"},
        {"SQ(x....)", "parameter 'x.' isn't an identifier"},
        {"defined", "the preprocessor has it itself"},
        {"__VA_ARGS__(x)", "the preprocessor has it itself"}};
    for (const auto& [name, why] : rows) {
        CAPTURE(name);
        CompileOptions options;
        options.definitions = {{name, "1"}};
        const auto flags = compile_flags(options);
        REQUIRE_FALSE(flags);
        CHECK(flags.error().code == Errc::invalid_argument);
        CHECK_MESSAGE(contains(flags.error().message, why), flags.error().message);
        const auto shown = name.substr(0, name.find('\n'));
        CHECK(flags.error().message.starts_with("Definition '" + shown));
    }
}
