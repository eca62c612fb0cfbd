#include "tests/unit/jit/target_compilers.hpp"

#include <doctest/doctest.h>

using lode::choose_target;
using lode::CodeRoute;
using lode::ComputeCapability;
using lode::SuffixPolicy;
using lode::TargetInputs;
using lode::ToolProperties;
using lode::test::compilers;
using lode::test::decide;

namespace {

constexpr ComputeCapability old_compiler[] = {{7, 5}, {8, 0}, {8, 6}, {9, 0}};

}  // namespace

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
    CHECK(target->route == CodeRoute::driver_jit);
    CHECK(target->steps.size() == 3);
    CHECK(target->steps.back().taken);
}

TEST_CASE("target: a device below every target is refused with the list") {
    const auto target = choose_target({7, 0}, old_compiler);
    REQUIRE_FALSE(target);
    CHECK(target.error().code == lode::Errc::unsupported_arch);
    CHECK(target.error().message.find("7.0") != std::string::npos);
    CHECK(target.error().message.find("sm_75, sm_80, sm_86, sm_90") != std::string::npos);
    CHECK(target.error().message.find("NVRTC of CUDA 9.0 to 12.9") != std::string::npos);
}

TEST_CASE("target: the suffix policy is honoured where the suffix exists") {
    CHECK(choose_target({9, 0}, old_compiler, SuffixPolicy::specific)->arch.to_string() ==
          "sm_90a");
    CHECK(choose_target({8, 0}, old_compiler, SuffixPolicy::specific)->arch.to_string() == "sm_80");
    CHECK(choose_target({9, 0}, old_compiler, SuffixPolicy::family)->arch.to_string() == "sm_90");
}

TEST_CASE("target: LODE_FORCE_PTX keeps the suffix that is asked for") {
    CHECK(decide({9, 0}, 13000, {.force_ptx = true}, SuffixPolicy::specific) == "compute_90a");
    CHECK(decide({10, 3}, 13000, {.force_ptx = true}, SuffixPolicy::family) == "compute_103f");
}

TEST_CASE("target: suffixes by device and compiler") {
    struct Row {
        ComputeCapability device;
        int compiler;
        const char* specific;
        const char* family;
    };
    constexpr Row rows[] = {
        {{8, 9}, 12000, "sm_89", "sm_89"},
        {{9, 0}, 12000, "sm_90a", "sm_90"},
        {{10, 0}, 12080, "sm_100a", "sm_100"},
        {{10, 0}, 12090, "sm_100a", "sm_100f"},
        {{10, 3}, 12080, "sm_100", "sm_100"},
        {{10, 3}, 12090, "sm_103a", "sm_103f"},
        {{11, 0}, 12090, "compute_103", "compute_103"},
        {{11, 0}, 13000, "sm_110a", "sm_110f"},
        {{12, 1}, 12040, "compute_90", "compute_90"},
        {{12, 1}, 13000, "sm_121a", "sm_121f"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.device.to_string());
        CAPTURE(row.compiler);
        CHECK(decide(row.device, row.compiler, {}, SuffixPolicy::specific) == row.specific);
        CHECK(decide(row.device, row.compiler, {}, SuffixPolicy::family) == row.family);
    }
}

TEST_CASE("target: a family member serves a newer device of its family") {
    const ComputeCapability supported[] = {{9, 0}, {10, 0}, {12, 0}};
    CHECK(choose_target({10, 3}, supported, SuffixPolicy::family)->arch.to_string() == "sm_100f");
    CHECK(choose_target({10, 3}, supported, SuffixPolicy::specific)->arch.to_string() == "sm_100f");
    CHECK(choose_target({11, 0}, supported, SuffixPolicy::family)->arch.to_string() ==
          "compute_100");
}

TEST_CASE("target: an older driver of the same major loads machine code, not PTX") {
    const ToolProperties old_driver{.driver_version = 12020};
    CHECK(decide({8, 9}, 12090, old_driver) == "sm_89");
    CHECK(decide({12, 0}, 12040, old_driver) == "refused");
    CHECK(decide({12, 0}, 12040, {.driver_version = 12080}) == "compute_90");
}

TEST_CASE("target: nvJitLink takes PTX past a driver of its own major version") {
    ToolProperties tools{.driver_version = 12040, .force_ptx = true};
    CHECK(decide({9, 0}, 12090, tools) == "refused");
    tools.linker_version = 12090;
    CHECK(decide({9, 0}, 12090, tools) == "compute_90 linked");
    tools.linker_version = 12080;  // Older than the PTX.
    CHECK(decide({9, 0}, 12090, tools) == "refused");
    tools.linker_version = 13000;  // Its machine code is too new for the driver.
    CHECK(decide({9, 0}, 12090, tools) == "refused");
}

TEST_CASE("target: the driver's own refusal of PTX closes its rung") {
    const ToolProperties tools{
        .driver_version = 13000, .linker_version = 13000, .driver_refused_ptx = true};
    CHECK(decide({12, 0}, 12040, tools) == "compute_90 linked");
}

TEST_CASE("target: the error names NVRTC, PTX ISA, driver, device and the cure") {
    const auto target =
        choose_target({.device = {9, 0},
                       .supported = compilers().at(13000),
                       .tools = {.compiler_version = 13000, .driver_version = 12080}});
    REQUIRE_FALSE(target);
    const auto& message = target.error().message;
    CAPTURE(message);
    for (const char* part : {"NVRTC 13.0", "PTX ISA 9.0", "driver of CUDA 12.8", "capability 9.0",
                             "Update the driver to CUDA 13.0",
                             "refuses sm_90:", "refuses PTX compute_90:", "nvJitLink"}) {
        CAPTURE(part);
        CHECK(message.find(part) != std::string::npos);
    }
}

TEST_CASE("target: a plain sm_120 serves 12.1 only when nothing else does") {
    const ComputeCapability supported[] = {{9, 0}, {12, 0}};
    const TargetInputs inputs{.device = {12, 1},
                              .supported = supported,
                              .tools = {.driver_version = 13000, .driver_refused_ptx = true}};
    const auto target = choose_target(inputs);
    REQUIRE(target);
    CHECK(target->arch.to_string() == "sm_120");
    CHECK(target->steps.back().reason.find("may fail") != std::string::npos);
}

TEST_CASE("target: every refused step says why") {
    for (const auto& [version, supported] : compilers()) {
        for (const int number :
             {70, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121}) {
            for (const int driver : {0, 12000, 12040, 12080, 13000}) {
                const auto target = choose_target(
                    {.device = ComputeCapability::from_number(number),
                     .supported = supported,
                     .suffix = SuffixPolicy::specific,
                     .tools = {.compiler_version = version, .driver_version = driver}});
                if (!target) {
                    CHECK(target.error().message.find("refuses") != std::string::npos);
                    continue;
                }
                CHECK(target->steps.back().taken);
                CHECK(target->arch.runs_on(ComputeCapability::from_number(number)));
                for (const auto& step : target->steps)
                    CHECK_FALSE(step.reason.empty());
            }
        }
    }
}

TEST_CASE("target: PTX versions and CUDA releases") {
    CHECK(lode::ptx_version_of_cuda(12000) == lode::PtxVersion{8, 0});
    CHECK(lode::ptx_version_of_cuda(12060) == lode::PtxVersion{8, 5});
    CHECK(lode::ptx_version_of_cuda(13000) == lode::PtxVersion{9, 0});
    CHECK(lode::ptx_version_of_cuda(13059) == lode::PtxVersion{9, 5});
    CHECK(lode::ptx_version_of_cuda(13500) == std::nullopt);
    CHECK(lode::ptx_version_of_cuda(0) == std::nullopt);
    CHECK(lode::cuda_version_of_ptx({8, 5}) == 12050);
    CHECK(lode::cuda_version_of_ptx({9, 0}) == 13000);
    CHECK(lode::cuda_version_of_ptx({9, 4}) == 13040);
    CHECK(lode::cuda_version_of_ptx({6, 3}) == 11000);
    CHECK(lode::cuda_version_of_ptx({99, 0}) == 0);
    CHECK(lode::cuda_version_text(12040) == "12.4");
}
