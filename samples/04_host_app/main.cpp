// lode inside a CUDA application: its kernels run between the application's own cuBLAS calls, on
// its stream and its memory, and leave its current device, context and last error unchanged.
//
//     cmake -B build && cmake --build build && build/04_host_app
//     1048576 elements through lode, cuBLAS and lode on …: correct
#include "cuda_host.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <exception>
#include <vector>

#include <lode_embedded/kernels.hpp>

using lode::unwrap;

int main() try {
    const auto runtime = unwrap(lode::Runtime::open());
    const auto device = unwrap(runtime.device(0));

    // The application: its device, stream, memory and cuBLAS, all through the CUDA runtime API.
    constexpr int n = 1 << 20;
    std::vector<float> host(n, 1.0F);
    const std::size_t bytes = n * sizeof(float);
    float* x = nullptr;
    float* y = nullptr;
    cudaStream_t stream = nullptr;
    cublasHandle_t cublas = nullptr;
    check(cudaSetDevice(0));
    check(cudaStreamCreate(&stream));
    check(cublasCreate(&cublas));
    check(cublasSetStream(cublas, stream));
    for (float** memory : {&x, &y}) {
        check(cudaMalloc(memory, bytes));
        check(cudaMemcpyAsync(*memory, host.data(), bytes, cudaMemcpyDefault, stream));
    }
    check(cudaSetDevice(-1) == cudaErrorInvalidDevice, "the application has an error pending");
    const auto before = HostState::now();
    check(before.last_error == cudaErrorInvalidDevice, "the pending error can be seen");

    // lode's part: no call waits; the stream alone keeps the order.
    const auto axpb = unwrap(
        device.load<void(float, float, float*, int)>(lode_embedded::kernels()[0].source(), "axpb"));
    const auto guest = unwrap(device.adopt(stream));
    const float two = 2.0F;
    unwrap(axpb.launch(guest, lode::cover(n), 3.0F, 2.0F, x, n));  // x: 3*1 + 2 = 5
    check(cublasSaxpy(cublas, n, &two, x, 1, y, 1));               // y: 1 + 2*5 = 11
    unwrap(axpb.launch(guest, lode::cover(n), 3.0F, 1.0F, y, n));  // y: 3*11 + 1 = 34
    check(HostState::now() == before, "device, context and last error are unchanged");
    check(unwrap(device.primary_context()) == before.context,
          "application and guest share the primary context");

    check(cudaMemcpyAsync(host.data(), y, bytes, cudaMemcpyDefault, stream));
    check(cudaStreamSynchronize(stream));
    for (const float value : host)
        check(value == 34.0F, "lode and cuBLAS took turns: every element is 34");
    check(cudaFree(x));
    check(cudaFree(y));
    check(cublasDestroy(cublas));
    check(cudaStreamDestroy(stream));
    std::printf("%d elements through lode, cuBLAS and lode on %s: correct\n", n,
                device.name().c_str());
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
