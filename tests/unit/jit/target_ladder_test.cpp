// The target ladder for every device with every compiler: decisions, reasons, and unusual pairings.
#include "tests/unit/jit/target_compilers.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

constexpr int versions[] = {12000, 12040, 12080, 12090, 13000, 13050};

struct LadderRow {
    ComputeCapability device;
    const char* chosen[std::size(versions)];
};

constexpr LadderRow rows[] = {
    {{7, 5}, {"sm_75", "sm_75", "sm_75", "sm_75", "sm_75", "sm_75"}},
    {{8, 0}, {"sm_80", "sm_80", "sm_80", "sm_80", "sm_80", "sm_80"}},
    {{8, 6}, {"sm_86", "sm_86", "sm_86", "sm_86", "sm_86", "sm_86"}},
    {{8, 7}, {"sm_87", "sm_87", "sm_87", "sm_87", "sm_87", "sm_87"}},
    {{8, 8}, {"sm_86", "sm_86", "sm_86", "sm_86", "sm_88", "sm_88"}},
    {{8, 9}, {"sm_89", "sm_89", "sm_89", "sm_89", "sm_89", "sm_89"}},
    {{9, 0}, {"sm_90", "sm_90", "sm_90", "sm_90", "sm_90", "sm_90"}},
    {{10, 0}, {"compute_90", "compute_90", "sm_100", "sm_100", "sm_100", "sm_100"}},
    {{10, 1}, {"compute_90", "compute_90", "sm_101", "sm_101", "compute_100", "compute_100"}},
    {{10, 3}, {"compute_90", "compute_90", "sm_100", "sm_103", "sm_103", "sm_103"}},
    {{10, 7}, {"compute_90", "compute_90", "sm_100", "sm_103", "sm_103", "sm_107"}},
    {{11, 0}, {"compute_90", "compute_90", "compute_101", "compute_103", "sm_110", "sm_110"}},
    {{12, 0}, {"compute_90", "compute_90", "sm_120", "sm_120", "sm_120", "sm_120"}},
    {{12, 1}, {"compute_90", "compute_90", "compute_120", "sm_121", "sm_121", "sm_121"}},
};

constexpr LadderRow forced_rows[] = {
    {{7, 5}, {"compute_75", "compute_75", "compute_75", "compute_75", "compute_75", "compute_75"}},
    {{8, 0}, {"compute_80", "compute_80", "compute_80", "compute_80", "compute_80", "compute_80"}},
    {{8, 6}, {"compute_86", "compute_86", "compute_86", "compute_86", "compute_86", "compute_86"}},
    {{8, 7}, {"compute_87", "compute_87", "compute_87", "compute_87", "compute_87", "compute_87"}},
    {{8, 8}, {"compute_87", "compute_87", "compute_87", "compute_87", "compute_88", "compute_88"}},
    {{8, 9}, {"compute_89", "compute_89", "compute_89", "compute_89", "compute_89", "compute_89"}},
    {{9, 0}, {"compute_90", "compute_90", "compute_90", "compute_90", "compute_90", "compute_90"}},
    {{10, 0},
     {"compute_90", "compute_90", "compute_100", "compute_100", "compute_100", "compute_100"}},
    {{10, 1},
     {"compute_90", "compute_90", "compute_101", "compute_101", "compute_100", "compute_100"}},
    {{10, 3},
     {"compute_90", "compute_90", "compute_101", "compute_103", "compute_103", "compute_103"}},
    {{10, 7},
     {"compute_90", "compute_90", "compute_101", "compute_103", "compute_103", "compute_107"}},
    {{11, 0},
     {"compute_90", "compute_90", "compute_101", "compute_103", "compute_110", "compute_110"}},
    {{12, 0},
     {"compute_90", "compute_90", "compute_120", "compute_120", "compute_120", "compute_120"}},
    {{12, 1},
     {"compute_90", "compute_90", "compute_120", "compute_121", "compute_121", "compute_121"}},
};

Result<Target> choose(ComputeCapability device, int version, ToolProperties tools = {}) {
    tools.compiler_version = version;
    return choose_target({.device = device, .supported = compilers().at(version), .tools = tools});
}

std::string message_of(ComputeCapability device, int version, ToolProperties tools = {}) {
    const auto target = choose(device, version, tools);
    REQUIRE_FALSE(target);
    CHECK(target.error().code == Errc::unsupported_arch);
    return target.error().message;
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ladder: every device with every compiler") {
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < std::size(versions); ++i) {
            CAPTURE(row.device.to_string());
            CAPTURE(versions[i]);
            CHECK(decide(row.device, versions[i], {.driver_version = 13050}) == row.chosen[i]);
            CHECK(decide(row.device, versions[i], {}) == row.chosen[i]);
        }
    }
}

TEST_CASE("ladder: every device with every compiler, the reasons") {
    for (const auto& row : rows) {
        const Arch own(row.device);
        for (std::size_t i = 0; i < std::size(versions); ++i) {
            CAPTURE(row.device.to_string());
            CAPTURE(versions[i]);
            const auto target = choose(row.device, versions[i], {.driver_version = 13050});
            REQUIRE(target);
            const auto& steps = target->steps;
            CAPTURE(target->describe());
            REQUIRE(steps.back().taken);
            if (target->arch == own) {
                CHECK(target->route == CodeRoute::machine_code);
                REQUIRE(steps.size() == 1);
                CHECK(steps[0].reason == "it is the device's own architecture");
                continue;
            }
            CHECK(steps[0].rung == own.to_string());
            CHECK(steps[0].reason.starts_with("the compiler doesn't support it; CUDA "));
            if (target->arch.is_real()) {
                REQUIRE(steps.size() == 2);
                CHECK(steps[1].reason ==
                      "it is the newest supported machine code that runs on the device");
                continue;
            }
            CHECK(target->route == CodeRoute::driver_jit);
            REQUIRE(steps.size() == 3);
            const bool doubtful = own == Arch({12, 1}) && versions[i] == 12080;
            CHECK(steps[1].rung ==
                  (doubtful ? "sm_120"
                            : "a lower sm_" + std::to_string(row.device.cc_major()) + "x"));
            CHECK(steps[1].reason ==
                  (doubtful ? "12.1 devices have been seen to refuse it"
                            : "the compiler supports none whose machine code runs on the device"));
            CHECK(steps[2].rung == "PTX " + target->arch.to_string());
            CHECK(steps[2].reason == "it is the newest supported PTX not above the device");
        }
    }
}

TEST_CASE("ladder: every device with every compiler under LODE_FORCE_PTX") {
    for (const auto& row : forced_rows) {
        for (std::size_t i = 0; i < std::size(versions); ++i) {
            CAPTURE(row.device.to_string());
            CAPTURE(versions[i]);
            const auto target =
                choose(row.device, versions[i], {.driver_version = 13050, .force_ptx = true});
            REQUIRE(target);
            CHECK(target->arch.to_string() == row.chosen[i]);
            CHECK(target->route == CodeRoute::driver_jit);
            REQUIRE(target->steps.size() == 2);
            CHECK(target->steps[0].reason == "LODE_FORCE_PTX asks for PTX");
        }
    }
}

TEST_CASE("ladder: an NVRTC older than the GPU") {
    const auto lower = choose({8, 8}, 12040);
    REQUIRE(lower);
    CHECK(lower->steps[0].reason ==
          "the compiler doesn't support it; CUDA 13.0 is the first that does");
    const auto ptx = choose({12, 0}, 12040, {.driver_version = 13000});
    REQUIRE(ptx);
    CHECK(ptx->steps[0].reason ==
          "the compiler doesn't support it; CUDA 12.8 is the first that does");
    // A 12.x driver older than the compiler's PTX has no rung left.
    const auto message = message_of({12, 0}, 12040, {.driver_version = 12020});
    CHECK(
        has(message, "its PTX ISA needs a driver of CUDA 12.4, but this is a driver of CUDA 12.2"));
}

TEST_CASE("ladder: a driver older than the PTX, for every device") {
    for (const auto& row : rows) {
        CAPTURE(row.device.to_string());
        // NVRTC 13.0 with a 12.9 driver: neither its machine code nor its PTX loads.
        if (decide(row.device, 13000, {}) == "refused") continue;
        const auto message = message_of(row.device, 13000, {.driver_version = 12090});
        CAPTURE(message);
        CHECK(has(message,
                  "its PTX ISA needs a driver of CUDA 13.0, but this is a driver of CUDA "
                  "12.9"));
        CHECK(has(message, "no nvJitLink library is available"));
        CHECK(has(message,
                  "Update the driver to CUDA 13.0 or newer, or use code of CUDA 12.9 or "
                  "older."));
    }
}

TEST_CASE("ladder: the driver's CUDA_ERROR_UNSUPPORTED_PTX_VERSION leaves nvJitLink") {
    ToolProperties tools{.driver_version = 13050, .force_ptx = true, .driver_refused_ptx = true};
    const auto message = message_of({9, 0}, 13050, tools);
    CHECK(has(message, "the driver has reported that it doesn't support its PTX version"));
    CHECK(has(message,
              "Update the driver, or use machine code for the device, or install "
              "libnvJitLink.so.13."));
    tools.linker_version = 13050;
    for (const auto& row : forced_rows) {
        CAPTURE(row.device.to_string());
        const auto target = choose(row.device, 13050, tools);
        if (row.device == ComputeCapability{10, 1}) {
            REQUIRE_FALSE(target);  // nvJitLink 13 has no sm_101.
            CHECK(has(target.error().message,
                      "nvJitLink 13.5 is newer than CUDA 12.9, the last "
                      "that makes code for the device"));
            continue;
        }
        REQUIRE(target);
        CHECK(target->route == CodeRoute::linked);
        CHECK(target->steps.back().reason ==
              "nvJitLink makes machine code of the PTX that the driver refuses");
    }
}

TEST_CASE("ladder: sm_101, which CUDA 13 renamed to sm_110") {
    CHECK(decide({10, 1}, 12090, {}) == "sm_101");
    CHECK(decide({10, 1}, 13000, {}) == "compute_100");
    CHECK(choose({10, 1}, 13000)->steps[0].reason ==
          "the compiler doesn't support it; CUDA 12.9 was the last that did");
    CHECK(decide({11, 0}, 12090, {}) == "compute_103");
    CHECK(decide({11, 0}, 13000, {}) == "sm_110");
    // Machine code for 10.0 doesn't run on 10.1, and machine code for 10.1 runs only there.
    const auto images = [](const char* arch) {
        return std::vector<ImageProperties>{
            {.name = arch, .arch = *Arch::parse(arch), .has_cubin = true}};
    };
    CHECK_FALSE(choose_image({10, 1}, images("sm_100")));
    CHECK_FALSE(choose_image({10, 3}, images("sm_101")));
    CHECK_FALSE(choose_image({11, 0}, images("sm_101")));
    CHECK(choose_image({10, 3}, images("sm_100")));
}

TEST_CASE("ladder: devices below NVRTC's floor") {
    for (const int number : {50, 52, 53, 60, 61, 62, 70, 72}) {
        const auto device = ComputeCapability::from_number(number);
        CAPTURE(number);
        CHECK(decide(device, 12090, {}) == Arch(device).to_string());
        const auto message = message_of(device, 13000);
        CAPTURE(message);
        CHECK(has(message, "the compiler doesn't support it; CUDA 12.9 was the last that did"));
        CHECK(has(message, "to 12.9, the releases that support it"));
        CHECK(has(message,
                  "refuses PTX: every target that the compiler supports is above the "
                  "device"));
    }
}
