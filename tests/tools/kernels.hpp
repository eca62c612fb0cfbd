// Kernel sources that the command's tests compile and run.
#pragma once

#include <string_view>

namespace lode::test {

inline constexpr std::string_view saxpy_source = R"(
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
)";

inline constexpr std::string_view templates_source = R"(
namespace math {
template <class T>
__global__ void scale(T* values, T factor) { values[threadIdx.x] *= factor; }
__global__ void reverse(int* values) {
    __shared__ int copy[64];
    copy[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}
}  // namespace math
)";

inline constexpr std::string_view broken_source = R"(extern "C" __global__ void broken(int* x) {
    *x = 1;
    *x = missing_name;
}
)";

inline constexpr std::string_view with_header_source = R"(
#include <value.hpp>
extern "C" __global__ void store(int* x) { *x = VALUE * FACTOR; }
)";

}  // namespace lode::test
