#include "base/suggested_arch.hpp"

#include <utility>

#include <doctest/doctest.h>

using namespace lode;

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
}
