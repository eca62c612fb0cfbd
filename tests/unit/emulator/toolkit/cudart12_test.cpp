// The stand-in for libcudart.so.12: functions and structures that CUDA 13 has changed. They are
// called as the programs of CUDA 12 call them, by symbol and with the sizes of their headers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

namespace {

constexpr std::byte untouched{0xa5};

/// Memory in which only the first `size` bytes may be written.
template <std::size_t size>
struct Guarded {
    Guarded() { bytes.fill(untouched); }
    [[nodiscard]] bool is_intact() const {
        return std::all_of(bytes.begin() + size, bytes.end(),
                           [](std::byte each) { return each == untouched; });
    }
    [[nodiscard]] bool ends_written() const { return bytes[size - 1] != untouched; }
    template <class T>
    [[nodiscard]] T at(std::size_t offset) const {
        T value;
        std::copy_n(bytes.begin() + offset, sizeof(T), reinterpret_cast<std::byte*>(&value));
        return value;
    }
    alignas(16) std::array<std::byte, size + 256> bytes;
};

}  // namespace

extern "C" {
cudaError_t properties_of_12(void*, int) __asm__("cudaGetDeviceProperties_v2");
cudaError_t properties_of_11(void*, int) __asm__("cudaGetDeviceProperties");
cudaError_t attributes_of_12(void*, const void*) __asm__("cudaPointerGetAttributes");
cudaError_t advise_of_12(const void*, size_t, int, int) __asm__("cudaMemAdvise");
cudaError_t prefetch_of_12(const void*, size_t, int, cudaStream_t) __asm__("cudaMemPrefetchAsync");
cudaError_t prefetch_of_13(const void*, size_t, cudaMemLocation, unsigned,
                           cudaStream_t) __asm__("cudaMemPrefetchAsync_v2");
cudaError_t capture_info_of_12(cudaStream_t, int*, unsigned long long*, cudaGraph_t*,
                               const cudaGraphNode_t**,
                               size_t*) __asm__("cudaStreamGetCaptureInfo_v2");
cudaError_t add_dependencies_of_12(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                   size_t) __asm__("cudaGraphAddDependencies");
cudaError_t edges_of_12(cudaGraph_t, cudaGraphNode_t*, cudaGraphNode_t*,
                        size_t*) __asm__("cudaGraphGetEdges");
cudaError_t thread_synchronize() __asm__("cudaThreadSynchronize");
cudaError_t texture_of_12(cudaTextureObject_t*, const void*, const cudaTextureDesc*,
                          const void*) __asm__("cudaCreateTextureObject");
cudaError_t resource_of_12(void*, cudaTextureObject_t) __asm__("cudaGetTextureObjectResourceDesc");
}

TEST_CASE("cudart 12: versions and properties have the layout of CUDA 12") {
    int version = 0;
    REQUIRE(cudaRuntimeGetVersion(&version) == cudaSuccess);
    CHECK(version / 1000 == 12);
    Guarded<1032> properties;
    REQUIRE(properties_of_12(&properties.bytes, 0) == cudaSuccess);
    CHECK(properties.is_intact());
    CHECK(properties.ends_written());
    Guarded<728> old;
    REQUIRE(properties_of_11(&old.bytes, 0) == cudaSuccess);
    CHECK(old.is_intact());
    CHECK(old.ends_written());
    // major, minor, clockRate, multiProcessorCount, memoryClockRate
    CHECK(properties.at<int>(360) == 9);
    CHECK(old.at<int>(360) == 9);
    int clock = 0;
    int memory_clock = 0;
    int multiprocessors = 0;
    REQUIRE(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0) == cudaSuccess);
    REQUIRE(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0) == cudaSuccess);
    REQUIRE(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0) ==
            cudaSuccess);
    CHECK(properties.at<int>(348) == clock);
    CHECK(properties.at<int>(388) == multiprocessors);
    CHECK(properties.at<int>(608) == memory_clock);
}

TEST_CASE("cudart 12: structures aren't written past their end, and not read past it") {
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, 1024) == cudaSuccess);
    Guarded<24> attributes;
    REQUIRE(attributes_of_12(&attributes.bytes, memory) == cudaSuccess);
    CHECK(attributes.is_intact());
    CHECK(attributes.at<int>(0) == cudaMemoryTypeDevice);
    CHECK(attributes.at<void*>(8) == memory);

    // cudaResourceDesc: the kind, then the memory, its format and its size; what follows isn't
    // read.
    Guarded<64> resource;
    const int kind = cudaResourceTypeLinear;
    const auto format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    const size_t bytes = 1024;
    const auto put = [&](std::size_t offset, const auto& value) {
        std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof(value),
                    resource.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    };
    put(0, kind);
    put(8, memory);
    put(16, format);
    put(40, bytes);
    const cudaTextureDesc description{};
    cudaTextureObject_t texture = 0;
    REQUIRE(texture_of_12(&texture, &resource.bytes, &description, nullptr) == cudaSuccess);
    Guarded<64> found;
    REQUIRE(resource_of_12(&found.bytes, texture) == cudaSuccess);
    CHECK(found.is_intact());
    CHECK(found.at<void*>(8) == memory);
    CHECK(found.at<size_t>(40) == bytes);
    CHECK(cudaDestroyTextureObject(texture) == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("cudart 12: the older forms of functions") {
    void* memory = nullptr;
    REQUIRE(cudaMallocManaged(&memory, 4096, cudaMemAttachGlobal) == cudaSuccess);
    CHECK(advise_of_12(memory, 4096, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId) ==
          cudaSuccess);
    int location = 0;
    REQUIRE(cudaMemRangeGetAttribute(&location, sizeof(location),
                                     cudaMemRangeAttributePreferredLocation, memory,
                                     4096) == cudaSuccess);
    CHECK(location == cudaCpuDeviceId);
    CHECK(prefetch_of_12(memory, 4096, 0, nullptr) == cudaSuccess);
    CHECK(prefetch_of_12(memory, 4096, 99, nullptr) == cudaErrorInvalidDevice);
    CHECK(prefetch_of_13(memory, 4096, {cudaMemLocationTypeDevice, 0}, 0, nullptr) == cudaSuccess);
    CHECK(thread_synchronize() == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);

    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    int status = 0;
    unsigned long long id = 0;
    cudaGraph_t capturing = nullptr;
    const cudaGraphNode_t* dependencies = nullptr;
    size_t count = 9;
    CHECK(capture_info_of_12(stream, &status, &id, &capturing, &dependencies, &count) ==
          cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusActive);
    CHECK(capturing != nullptr);
    CHECK(count == 0);
    cudaGraph_t graph = nullptr;
    REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    cudaGraphNode_t first = nullptr;
    cudaGraphNode_t second = nullptr;
    REQUIRE(cudaGraphAddEmptyNode(&first, graph, nullptr, 0) == cudaSuccess);
    REQUIRE(cudaGraphAddEmptyNode(&second, graph, nullptr, 0) == cudaSuccess);
    CHECK(add_dependencies_of_12(graph, &first, &second, 1) == cudaSuccess);
    cudaGraphNode_t from = nullptr;
    cudaGraphNode_t to = nullptr;
    count = 1;
    CHECK(edges_of_12(graph, &from, &to, &count) == cudaSuccess);
    CHECK(count == 1);
    CHECK(from == first);
    CHECK(to == second);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}
