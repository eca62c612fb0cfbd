#include <lode/base/arch.hpp>

#include <doctest/doctest.h>

using lode::Arch;
using lode::ComputeCapability;

TEST_CASE("arch: text round-trips") {
    for (const char* text : {"sm_75", "sm_90", "sm_90a", "sm_100f", "compute_80", "compute_121a"}) {
        CAPTURE(text);
        const auto arch = Arch::parse(text);
        REQUIRE(arch);
        CHECK(arch->to_string() == text);
    }
}

TEST_CASE("arch: the error names an invalid text") {
    for (const char* text :
         {"", "90", "sm_", "sm_x", "sm_90b", "sm_80a", "sm_90f", "sm_9", "sm_9000"}) {
        CAPTURE(text);
        const auto arch = Arch::parse(text);
        REQUIRE_FALSE(arch);
        CHECK(arch.error().code == lode::Errc::invalid_argument);
        CHECK(arch.error().message.find(std::string("'") + text + "'") != std::string::npos);
    }
}

TEST_CASE("arch: runs_on follows the binary compatibility rules") {
    struct Row {
        const char* arch;
        ComputeCapability device;
        bool runs;
    };
    constexpr Row rows[] = {
        {"sm_80", {8, 0}, true},          {"sm_80", {8, 6}, true},
        {"sm_86", {8, 0}, false},         {"sm_80", {8, 9}, true},
        {"sm_80", {9, 0}, false},         {"sm_75", {8, 0}, false},
        {"sm_86", {8, 7}, false},         {"sm_87", {8, 7}, true},
        {"sm_87", {8, 9}, false},         {"sm_90a", {9, 0}, true},
        {"sm_90a", {10, 0}, false},       {"sm_100f", {10, 0}, true},
        {"sm_100f", {10, 3}, true},       {"sm_103f", {10, 0}, false},
        {"sm_100f", {11, 0}, false},      {"sm_120f", {12, 1}, true},
        {"sm_100a", {10, 3}, false},      {"compute_80", {12, 0}, true},
        {"compute_80", {7, 5}, false},    {"compute_90a", {9, 0}, true},
        {"compute_90a", {10, 0}, false},  {"compute_100f", {10, 3}, true},
        {"compute_100f", {12, 0}, false}, {"compute_86", {8, 7}, true},
        {"sm_101", {10, 3}, false},       {"sm_100", {10, 1}, false},
        {"sm_100f", {10, 1}, false},      {"sm_101", {10, 1}, true},
        {"compute_101", {11, 0}, true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.arch);
        CAPTURE(row.device.to_string());
        CHECK(Arch::parse(row.arch)->runs_on(row.device) == row.runs);
    }
}
