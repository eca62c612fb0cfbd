// Kernels in PTX newer than 9.0, for tests.
#pragma once

#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

namespace lode::emulator_test {

/// A kernel k whose parameter p is in %rd1.
inline std::string newer_ptx(std::string_view body, std::string_view version,
                             std::string_view target) {
    return ".version " + std::string(version) + "\n.target " + std::string(target) +
           "\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
           ".reg .u64 %rd<8>;\n.reg .u32 %r<8>;\n.reg .b32 %b<8>;\n.reg .b16 %h<8>;\n"
           ".reg .b8 %y<8>;\n.reg .f32 %f<8>;\n.reg .pred %p<8>;\nld.param.u64 %rd1, [p];\n" +
           std::string(body) + "\nret;\n}\n";
}

/// The value of a code with `fraction` bits of fraction, and `exponent` of exponent above them.
inline float value_of(unsigned code, int exponent, int fraction, bool has_infinity) {
    const int bias = (1 << (exponent - 1)) - 1;
    const int power = static_cast<int>(code >> fraction) & ((1 << exponent) - 1);
    const unsigned rest = code & ((1U << fraction) - 1);
    const bool is_top = power == (1 << exponent) - 1;
    if (is_top && (has_infinity ? rest != 0 : exponent == 4 && rest == 7)) return NAN;
    const auto whole = static_cast<float>(power == 0 ? rest : rest + (1U << fraction));
    const float size =
        is_top && has_infinity ? INFINITY : std::ldexp(whole, std::max(power, 1) - bias - fraction);
    return (code >> (exponent + fraction) & 1) != 0 ? -size : size;
}

/// Runs a kernel of one warp on 128 words; the result of the call that fails otherwise.
inline CUresult run_newer(const std::string& ptx, std::array<unsigned, 128>& words) {
    const Current scope;
    CUmodule module = nullptr;
    if (const CUresult state = CU(cuModuleLoadData, 2000)(&module, ptx.c_str());
        state != CUDA_SUCCESS)
        return state;
    CUfunction kernel = nullptr;
    CUdeviceptr memory = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, sizeof(words)) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemcpyHtoD, 3020)(memory, words.data(), sizeof(words)) == CUDA_SUCCESS);
    CUresult state = CU(cuModuleGetFunction, 2000)(&kernel, module, "k");
    void* arguments[] = {&memory};
    if (state == CUDA_SUCCESS)
        state = CU(cuLaunchKernel, 4000)(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    if (state == CUDA_SUCCESS) state = CU(cuMemcpyDtoH, 3020)(words.data(), memory, sizeof(words));
    // A fault ends the context, and with it both.
    if (state == CUDA_ERROR_ILLEGAL_ADDRESS || state == CUDA_ERROR_MISALIGNED_ADDRESS) return state;
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    return state;
}

}  // namespace lode::emulator_test
