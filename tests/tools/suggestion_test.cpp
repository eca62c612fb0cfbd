#include "tools/lode/suggestion.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace lode::tool;

TEST_CASE("suggestion: the nearest name, if any is near") {
    const std::vector<std::string> names = {"--arch", "--name", "--ptx", "--report",
                                            "--max-registers"};
    CHECK(closest("--arhc", names) == "--arch");
    CHECK(closest("--Arch", names) == "--arch");
    CHECK(closest("--ptxx", names) == "--ptx");
    CHECK(closest("--max_registers", names) == "--max-registers");
    CHECK(closest("--max-regs", names).empty());  // Five letters are missing.
    CHECK(closest("--quick", names).empty());
    CHECK(closest("", names).empty());
    CHECK(closest(std::string(100'000, 'x'), names).empty());
    CHECK(closest("--arch", {}).empty());
}

TEST_CASE("suggestion: other spellings of architectures") {
    const std::pair<const char*, const char*> spellings[] = {{"sm80", "sm_80"},
                                                             {"80", "sm_80"},
                                                             {"8.0", "sm_80"},
                                                             {"SM_90A", "sm_90a"},
                                                             {"sm-100f", "sm_100f"},
                                                             {"compute90", "compute_90"},
                                                             {"ptx_75", "compute_75"},
                                                             {"sm 12.0", "sm_120"},
                                                             {"volta", ""},
                                                             {"", ""},
                                                             {"sm_", ""},
                                                             {"sm_80b", ""}};
    for (const auto& [text, arch] : spellings) {
        CAPTURE(text);
        CHECK(suggested_arch(text) == arch);
    }
    CHECK(did_you_mean("sm_80") == " Did you mean 'sm_80'?");
    CHECK(did_you_mean("").empty());
}
