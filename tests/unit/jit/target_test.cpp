#include <lode/jit/target.hpp>

#include <doctest/doctest.h>

using lode::choose_target;
using lode::ComputeCapability;
using lode::SuffixPolicy;

namespace {
constexpr ComputeCapability old_compiler[] = {{7, 5}, {8, 0}, {8, 6}, {9, 0}};
}

TEST_CASE("target: the device's own architecture comes first") {
    CHECK(choose_target({9, 0}, old_compiler)->arch.to_string() == "sm_90");
}

TEST_CASE(
    "target: a lower minor of the same major serves a device that the compiler doesn't know") {
    CHECK(choose_target({8, 9}, old_compiler)->arch.to_string() == "sm_86");
}

TEST_CASE("target: PTX serves a device of a newer major") {
    const auto target = choose_target({12, 0}, old_compiler);
    REQUIRE(target);
    CHECK(target->arch.to_string() == "compute_90");
    CHECK(target->steps.size() == 3);
    CHECK(target->steps.back().taken);
}

TEST_CASE("target: a device below every target is refused with the list") {
    const auto target = choose_target({7, 0}, old_compiler);
    REQUIRE_FALSE(target);
    CHECK(target.error().code == lode::Errc::unsupported_arch);
    CHECK(target.error().message.find("7.0") != std::string::npos);
    CHECK(target.error().message.find("sm_75, sm_80, sm_86, sm_90") != std::string::npos);
}

TEST_CASE("target: the suffix policy is honoured where the suffix exists") {
    CHECK(choose_target({9, 0}, old_compiler, SuffixPolicy::specific)->arch.to_string() ==
          "sm_90a");
    CHECK(choose_target({8, 0}, old_compiler, SuffixPolicy::specific)->arch.to_string() == "sm_80");
    CHECK(choose_target({9, 0}, old_compiler, SuffixPolicy::family)->arch.to_string() == "sm_90");
}
