// Sources that no compiler finishes.
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

/// CUDA C++ that instantiates a million templates: NVRTC takes gigabytes for them.
inline std::string large_code() {
    return "template <int n, int m> struct A {\n"
           "    static constexpr int value = A<n - 1, m * 2>::value + A<n - 1, m * 2 + 1>::value;\n"
           "    char bytes[16];\n"
           "};\n"
           "template <int m> struct A<0, m> { static constexpr int value = m & 1; };\n"
           "__global__ void k(int* x) { *x = A<19, 1>::value; }\n";
}

}  // namespace lode::test
