#include "tools/lode/options.hpp"

#include "tests/support/text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::tool;
using lode::Arch;
using lode::ComputeCapability;
using lode::Dim3;
using lode::Errc;
using lode::test::contains;

}  // namespace

TEST_CASE("options: extents are one to three positive numbers") {
    CHECK(parse_dim3("--grid", "7").value() == Dim3{7, 1, 1});
    CHECK(parse_dim3("--grid", "7,8").value() == Dim3{7, 8, 1});
    CHECK(parse_dim3("--grid", "7,8,4294967295").value() == Dim3{7, 8, 4294967295U});
    for (const std::string_view text :
         {"", "0", "-1", "7,", ",7", "7,0", "1,2,3,4", "1,2,3,", "x", "1x", "4294967296", "1;2"}) {
        const auto extents = parse_dim3("--block", text);
        REQUIRE_FALSE(extents.has_value());
        CHECK(extents.error().code == Errc::invalid_argument);
        CHECK(contains(extents.error().message, "--block is '" + std::string(text) + "'"));
    }
}

TEST_CASE("options: each architecture is listed once, and 'all' is remembered") {
    const std::vector<std::string> names = {"sm_90a", "compute_80", "sm_90a", "all"};
    const auto list = parse_arch_list(names).value();
    CHECK(list.all);
    REQUIRE(list.archs.size() == 2);
    CHECK(list.archs[0].to_string() == "sm_90a");
    CHECK(list.archs[1].to_string() == "compute_80");

    const std::vector<std::string> wrong = {"sm_90", "volta"};
    const auto refused = parse_arch_list(wrong);
    REQUIRE_FALSE(refused.has_value());
    CHECK(contains(refused.error().message, "volta"));
}

TEST_CASE("options: dialects and maths presets are chosen by name") {
    CHECK(parse_standard("20").value() == lode::Standard::cxx20);
    CHECK(parse_standard("c++11").value() == lode::Standard::cxx11);
    CHECK(parse_standard("c++23").error().message ==
          "--std is 'c++23' but must be one of 11, 14, 17, 20.");
    CHECK(parse_math("host_comparable").value() == lode::Math::Preset::host_comparable);
    CHECK(parse_math("quick").error().message ==
          "--math is 'quick' but must be one of ieee, fast, host_comparable.");
}

TEST_CASE("options: flags become compile options") {
    CompileFlags flags;
    flags.definitions = {"N=4", "DEBUG", "EMPTY=", "EQ=a=b"};
    flags.include_folders = {"include"};
    flags.standard = "20";
    flags.fast_math = true;
    flags.line_info = true;
    flags.max_registers = 64;
    const auto options = to_compile_options(flags).value();
    CHECK(options.definitions ==
          std::vector<lode::Definition>{{"N", "4"}, {"DEBUG"}, {"EMPTY", ""}, {"EQ", "a=b"}});
    CHECK(options.include_folders == std::vector<std::filesystem::path>{"include"});
    CHECK(options.standard == lode::Standard::cxx20);
    CHECK(options.math.preset == lode::Math::Preset::fast);
    flags.tile = "only";
    CHECK(to_compile_options(flags)->tile == lode::Tile::only);
    flags.tile = "some";
    CHECK(to_compile_options(flags).error().message ==
          "--tile is 'some' but must be one of none, enabled, only.");
    CHECK(options.line_info);
    CHECK_FALSE(options.debug);
    CHECK(options.max_registers == 64);
    CHECK(to_compile_options({}).value() == lode::CompileOptions{});
}

TEST_CASE("options: contradictions and what the library refuses are errors") {
    CompileFlags both;
    both.fast_math = true;
    both.math = "ieee";
    CHECK(to_compile_options(both).error().message ==
          "--fast-math and --math ieee contradict each other.");
    both.math = "fast";
    CHECK(to_compile_options(both).has_value());

    CompileFlags registers;
    registers.max_registers = 300;
    CHECK(to_compile_options(registers).error().code == Errc::invalid_argument);
    CompileFlags definition;
    definition.definitions = {"=4"};
    CHECK(to_compile_options(definition).error().code == Errc::invalid_argument);
}
