// A source that no compiler finishes.
#pragma once

#include <string>

#include <fmt/format.h>

namespace lode::test {

/// CUDA C++ that expands to 10^9 words: NVRTC preprocesses it for years, in little memory.
inline std::string endless_code() {
    std::string code = "#define A0 x x x x x x x x x x\n";
    for (int i = 1; i <= 8; ++i) {
        code += fmt::format("#define A{} A{}", i, i - 1);
        for (int n = 1; n < 10; ++n)
            code += fmt::format(" A{}", i - 1);
        code += '\n';
    }
    return code +
           "#define S(...) #__VA_ARGS__\n#define T(...) S(__VA_ARGS__)\n"
           "__device__ const char* s = T(A8);\n";
}

}  // namespace lode::test
