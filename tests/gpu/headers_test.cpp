// Headers that kernel source includes: what they declare also works when it runs.
#include "tests/gpu/support.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

TEST_CASE("headers: std::mutex excludes the threads of a device, and call_once calls once") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, R"(
#include <mutex>
__device__ std::mutex guard;
__device__ std::mutex other;
__device__ std::once_flag once;
extern "C" __global__ void k(int* out) {
    std::call_once(once, [&](int by) { out[1] += by; }, 3);
    {
        std::lock_guard<std::mutex> lock(guard);
        out[0] = out[0] + 1;
    }
    {
        std::scoped_lock both(other, guard);
        out[2] = out[2] + 1;
    }
    std::unique_lock<std::mutex> tried(guard, std::try_to_lock);
    if (tried) out[3] = 1;
})");
    const auto out = require(device.upload(std::vector<int>(4, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{4, 1, 1}, {64, 1, 1}}, out));
    REQUIRE(stream.sync());
    CHECK(require(out.to_vector()) == std::vector<int>{256, 3, 256, 1});
}

TEST_CASE("headers: times of <ctime> are those of the global timer, which counts from 1970") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(long long*)>(device, R"(
#include <ctime>
extern "C" __global__ void k(long long* out) {
    std::timespec now;
    out[0] = std::timespec_get(&now, TIME_UTC) == TIME_UTC && std::timespec_get(&now, 77) == 0;
    out[1] = std::time(nullptr) - now.tv_sec;
    out[2] = now.tv_sec;
    out[3] = now.tv_nsec;
    out[4] = std::clock() - std::clock() <= 0;
})");
    const auto out = require(device.upload(std::vector<long long>(5, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, out));
    REQUIRE(stream.sync());
    const auto values = require(out.to_vector());
    CHECK(values[0] == 1);
    CHECK(values[1] >= 0);
    CHECK(values[1] <= 1);
    // The device's timer may run apart from the host's clock, but it is the same day.
    CHECK(std::abs(values[2] - static_cast<long long>(std::time(nullptr))) < 24LL * 3600);
    CHECK(values[3] >= 0);
    CHECK(values[3] < 1'000'000'000);
    CHECK(values[4] == 1);
}

TEST_CASE("headers: std::string_view searches and compares") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(const char*, int*)>(device, R"(
#include <string_view>
using namespace std::string_view_literals;
extern "C" __global__ void k(const char* text, int* out) {
    std::string_view view(text);
    out[0] = view.size();
    out[1] = view.find("cd"sv);
    out[2] = view.find('x') == std::string_view::npos;
    out[3] = view.rfind('a');
    out[4] = view.substr(2, 3) == "cda"sv && view < "abd"sv && view.compare("abc"sv) > 0;
    view.remove_prefix(1);
    out[5] = view.front() == 'b' && view.back() == 'b' && view.find_first_of("dc"sv) == 1;
})");
    const std::string text = "abcdab";
    const auto in = require(device.upload(std::vector<char>(text.c_str(), text.c_str() + 7)));
    const auto out = require(device.upload(std::vector<int>(6, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, in, out));
    REQUIRE(stream.sync());
    CHECK(require(out.to_vector()) == std::vector<int>{6, 2, 1, 4, 1, 1});
}

namespace {

/// The folder of the toolkit's headers that holds `header`; false if none does.
bool is_installed(const char* header) {
    const auto info = machine()->compiler().info();
    return info && std::ranges::any_of(info->include_folders, [&](const auto& folder) {
               return std::filesystem::exists(folder / header);
           });
}

}  // namespace

TEST_CASE("headers: <cuda.h> and <cuda_runtime.h> give kernels the types and constants") {
    LODE_NEEDS_DEVICE(device, 0);
    for (const bool driver_first : {true, false}) {
        CAPTURE(driver_first);
        const std::string includes = driver_first
                                         ? "#include <cuda.h>\n#include <cuda_runtime.h>\n"
                                         : "#include <cuda_runtime.h>\n#include \"cuda.h\"\n";
        const auto kernel = load<void(int*)>(device, includes + R"(
extern "C" __global__ void k(int* out) {
    const dim3 shape(2, 3);
    out[0] = sizeof(CUtensorMap);
    out[1] = CUDA_ERROR_INVALID_VALUE;
    out[2] = cudaErrorMemoryAllocation;
    out[3] = sizeof(CUdeviceptr);
    out[4] = shape.x * shape.y * shape.z;
    out[5] = make_float4(1, 2, 3, 4).w;
})");
        const auto out = require(device.upload(std::vector<int>(6, 0)));
        const auto stream = require(device.create_stream());
        REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, out));
        REQUIRE(stream.sync());
        CHECK(require(out.to_vector()) == std::vector<int>{sizeof(CUtensorMap), 1, 2, 8, 6, 4});
    }
    // A driver's function is declared, and nothing defines it on a device.
    const auto wrong = device.compile(Source::text(
        "#include <cuda.h>\nextern \"C\" __global__ void k(int* out) { *out = cuInit(0); }\n",
        "init.cu"));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find("cuInit") != std::string::npos);
}

TEST_CASE("headers: <cooperative_groups.h>, <cuda_fp16.h> and <cuda_bf16.h>") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(float*)>(device, R"(
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(float* out) {
    const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
    const __half half = __hadd(__float2half(1.5f), __float2half(2.0f));
    const __nv_bfloat16 bf = __float2bfloat16(0.5f);
    const float sum = warp.shfl(__half2float(half), 3) + __bfloat162float(bf);
    if (warp.thread_rank() == 0) out[0] = sum;
})");
    const auto out = require(device.upload(std::vector<float>(1, 0.0F)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {32, 1, 1}}, out));
    REQUIRE(stream.sync());
    CHECK(require(out.to_vector())[0] == 4.0F);
}

TEST_CASE("headers: cuRAND's generators, whose Philox has the published values") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(is_installed("curand_kernel.h"), "cuRAND's headers aren't installed");
    const auto kernel = load<void(unsigned*, float*)>(device, R"(
#include <curand_kernel.h>
extern "C" __global__ void k(unsigned* out, float* reals) {
    const uint4 zeros = curand_Philox4x32_10(make_uint4(0, 0, 0, 0), make_uint2(0, 0));
    out[0] = zeros.x;
    out[1] = zeros.w;
    curandStatePhilox4_32_10_t philox;
    curand_init(1234, 5, 0, &philox);
    curandState xorwow;
    curand_init(7, 1, 0, &xorwow);
    curandStateMRG32k3a mrg;
    curand_init(7, 1, 0, &mrg);
    reals[0] = curand_uniform(&philox);
    reals[1] = curand_uniform(&xorwow);
    reals[2] = curand_uniform(&mrg);
    reals[3] = curand_normal(&philox);
})");
    const auto out = require(device.upload(std::vector<unsigned>(2, 0)));
    const auto reals = require(device.upload(std::vector<float>(4, -9.0F)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, out, reals));
    REQUIRE(stream.sync());
    // Random123's known answer for counter 0 and key 0.
    CHECK(require(out.to_vector()) == std::vector<unsigned>{0x6627E8D5U, 0x9B00DBD8U});
    const auto values = require(reals.to_vector());
    for (int i = 0; i < 3; ++i) {
        CHECK(values[i] > 0.0F);
        CHECK(values[i] <= 1.0F);
    }
    CHECK(std::abs(values[3]) < 7.0F);
}

TEST_CASE("headers: Thrust's types and, after <lode/thrust.h>, its algorithms in a thread") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(machine()->compiler().info()->version_major >= 13,
               "this NVRTC is older than 13.0, whose Thrust <lode/thrust.h> needs");
    LODE_NEEDS(is_installed("thrust/sort.h"), "Thrust isn't installed");
    const std::string types = R"(
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>
extern "C" __global__ void k(int* out) {
    const auto pair = thrust::make_pair(1, 2);
    const auto tuple = thrust::make_tuple(1, 2.5f, 3);
    out[16] = thrust::plus<int>()(pair.second, thrust::get<2>(tuple));
    out[17] = *(thrust::make_counting_iterator(5) + 2);
})";
    const std::string algorithms = R"(
#include <lode/thrust.h>
#include <thrust/complex.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
extern "C" __global__ void k(int* out) {
    thrust::sort(thrust::seq, out, out + 16, thrust::greater<int>());
    out[16] = thrust::reduce(thrust::seq, out, out + 16, 0, thrust::plus<int>());
    thrust::complex<float> square(1, 2);
    square *= square;
    out[17] = static_cast<int>(square.imag());
    thrust::inclusive_scan(thrust::device, out, out + 16, out);
})";
    std::vector<int> in(18);
    std::iota(in.begin(), in.begin() + 16, 0);
    for (const bool runs_algorithms : {false, true}) {
        CAPTURE(runs_algorithms);
        KernelOptions options;
        if (runs_algorithms) options.compile.extra_flags = {"-default-device"};
        const auto kernel = load<void(int*)>(device, runs_algorithms ? algorithms : types, options);
        const auto out = require(device.upload(in));
        const auto stream = require(device.create_stream());
        REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, out));
        REQUIRE(stream.sync());
        auto want = in;
        want[16] = 5;
        want[17] = 7;
        if (runs_algorithms) {
            std::ranges::sort(want.begin(), want.begin() + 16, std::greater<>());
            std::partial_sum(want.begin(), want.begin() + 16, want.begin());
            want[16] = 120;
            want[17] = 4;
        }
        CHECK(require(out.to_vector()) == want);
    }
}

TEST_CASE("headers: a CUTLASS GEMM and a CuTe GEMM compute a product") {
    LODE_NEEDS_DEVICE(device, 0);
    const char* const folder = std::getenv("CUTLASS_DIR");
    LODE_NEEDS(folder != nullptr,
               "CUTLASS_DIR isn't set; set it to a checkout of CUTLASS, whose headers are in "
               "its folder include");
    const std::string cutlass = R"(
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/gemm/device/default_gemm_configuration.h>
#include <cutlass/gemm/kernel/default_gemm.h>
#include <cutlass/gemm/threadblock/threadblock_swizzle.h>
using namespace cutlass;
using Simt = arch::OpClassSimt;
using Configuration =
    gemm::device::DefaultGemmConfiguration<Simt, arch::Sm50, float, float, float, float>;
using Gemm = gemm::kernel::DefaultGemm<
    float, layout::ColumnMajor, 1, float, layout::ColumnMajor, 1, float, layout::RowMajor,
    float, Simt, arch::Sm50, gemm::GemmShape<32, 32, 8>, gemm::GemmShape<32, 32, 8>,
    Configuration::InstructionShape, Configuration::EpilogueOutputOp,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 2, false, arch::OpMultiplyAdd>::GemmKernel;
extern "C" __global__ void k(float* a, float* b, float* c) {
    __shared__ Gemm::SharedStorage storage;
    const Gemm::Params params({16, 16, 8}, {1, 1, 1}, {a, 16}, {b, 8}, {c, 16}, {c, 16},
                              {1.0f, 0.0f});
    Gemm()(params, storage);
})";
    const std::string cute = R"(
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void k(float* a, float* b, float* c) {
    const auto A = make_tensor(make_gmem_ptr(a), Shape<_16, _8>{}, Stride<_1, _16>{});
    const auto B = make_tensor(make_gmem_ptr(b), Shape<_16, _8>{}, Stride<_8, _1>{});
    auto C = make_tensor(make_gmem_ptr(c), Shape<_16, _16>{}, Stride<_16, _1>{});
    const auto mma = make_tiled_mma(UniversalFMA<float, float, float>{}, Layout<Shape<_8, _4, _1>>{});
    const auto mine = mma.get_slice(threadIdx.x);
    auto result = mine.partition_C(C);
    auto sum = mine.make_fragment_C(result);
    const auto all_a = mine.partition_A(A);
    const auto all_b = mine.partition_B(B);
    auto own_a = mine.make_fragment_A(all_a);
    auto own_b = mine.make_fragment_B(all_b);
    copy(all_a, own_a);
    copy(all_b, own_b);
    clear(sum);
    gemm(mma, own_a, own_b, sum);
    copy(sum, result);
})";
    std::vector<float> a(16 * 8);
    std::vector<float> b(8 * 16);
    std::iota(a.begin(), a.end(), -60.0F);
    std::iota(b.begin(), b.end(), -70.0F);
    std::vector<float> want(16 * 16, 0.0F);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            for (int k = 0; k < 8; ++k)
                want[16 * i + j] += a[i + 16 * k] * b[k + 8 * j];
        }
    }
    KernelOptions options;
    options.compile.include_folders = {std::filesystem::path(folder) / "include"};
    options.compile.extra_flags = {"-default-device"};
    for (const auto& source : {cutlass, cute}) {
        CAPTURE(source);
        const auto kernel = load<void(float*, float*, float*)>(device, source, options);
        const auto left = require(device.upload(a));
        const auto right = require(device.upload(b));
        const auto out = require(device.upload(std::vector<float>(16 * 16, -1.0F)));
        const auto stream = require(device.create_stream());
        REQUIRE(kernel.launch(stream, {{1, 1, 1}, {32, 1, 1}}, left, right, out));
        REQUIRE(stream.sync());
        CHECK(require(out.to_vector()) == want);
    }
}
