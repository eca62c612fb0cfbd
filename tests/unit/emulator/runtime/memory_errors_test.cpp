// Every memory error of a CUDA C++ kernel that the software device detects, as a host of lode sees
// it: the driver's error code, and the message with kernel, source line, allocation and distance.
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/runtime.hpp>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::emulator_test;

namespace {

// The line with a kernel's planted error ends in "// kernel's name".
constexpr const char* text = R"(
struct Four { int v[4]; };

extern "C" __global__ void past_end(int* a, int) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;  // past_end
}
extern "C" __global__ void ahead(int* a, int i) {
    if (threadIdx.x == 5 && blockIdx.x == 1) a[i] = 1;  // ahead
}
extern "C" __global__ void reads(int* a, int i) {
    a[0] = a[i];  // reads
}
extern "C" __global__ void updates(int* a, int i) {
    atomicAdd(a + i, 1);  // updates
}
extern "C" __global__ void misaligned(int* a, int i) {
    *reinterpret_cast<int*>(reinterpret_cast<char*>(a) + i) = 1;  // misaligned
}
__device__ __noinline__ void store_to(int* a, int i) {
    a[i] = 1;  // in_function
}
extern "C" __global__ void in_function(int* a, int i) {
    store_to(a, i);
}
__device__ int table[16];
extern "C" __global__ void variable(int*, int i) {
    table[i] = 1;  // variable
}
extern "C" __global__ void shared_bounds(int* a, int i) {
    __shared__ int words[16];
    words[threadIdx.x & 15] = 1;
    __syncthreads();
    a[0] = words[i];  // shared_bounds
}
extern "C" __global__ void local_bounds(int* a, int i) {
    int own[8];
    for (int k = 0; k < 8; ++k) own[k] = a[k];
    own[i] = 7;  // local_bounds
    for (int k = 0; k < 8; ++k) a[k] = own[(k * i) & 7];
}
extern "C" __global__ void parameter_bounds(int* a, int i, const __grid_constant__ Four four) {
    a[0] = four.v[i];  // parameter_bounds
}
extern "C" __global__ void barrier(int* a, int) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 3, 64;");  // barrier
    }
    __syncthreads();
    a[threadIdx.x] = 1;
}
extern "C" __global__ void shuffle(int* a, int mask) {
    a[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 0);  // shuffle
}
extern "C" __global__ void double_free(int*, int) {
    void* const p = malloc(16);
    free(p);
    free(p);  // double_free
}
extern "C" __global__ void free_inside(int*, int i) {
    char* const p = static_cast<char*>(malloc(16));
    free(p + i);  // free_inside
}
extern "C" __global__ void malloc_sizes(int* a, int) {
    void* const none = malloc(0);
    void* const all = malloc(~0ull);
    if (threadIdx.x == 0) {
        a[0] = (none != nullptr) + 2 * (all != nullptr) + 4 * (none != all);
        a[1] = (malloc(1ull << 63) == nullptr) + 2 * (malloc(~31ull) == nullptr);
    }
    free(none);
    free(all);
}
extern "C" __global__ void write_nothing(int*, int) {
    *static_cast<volatile int*>(malloc(0)) = 1;  // write_nothing
}
extern "C" __global__ void free_foreign(int* a, int) {
    free(a);  // free_foreign
}
extern "C" __global__ void no_window(int* a, int) {
    *reinterpret_cast<volatile int*>(reinterpret_cast<unsigned long long>(a) | (99ull << 48)) = 1;  // no_window
}
)";

/// "errors.cu:12:" for the line that ends in "// name".
std::string place_of(std::string_view name) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line.ends_with(fmt::format("// {}", name))) return fmt::format("errors.cu:{}:", number);
    }
    FAIL("no line is marked ", std::string(name));
    return {};
}

/// A machine with a 400-byte buffer; not usable after a fault.
struct Bench {
    Bench()
        : runtime(open()),
          device(require(runtime.device(0))),
          stream(require(device.create_stream())),
          buffer(require(device.upload(std::vector<int>(100)))) {}

    static Runtime open() {
        setenv("LODE_EMULATOR_DEVICES", "sm_90", 1);
        reset();
        return require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    }

    /// The result of a launch of 2 blocks of 64 threads.
    template <class Signature = void(int*, int), class... Arguments>
    Error error_of(std::string_view name, const Arguments&... arguments) const {
        const auto kernel = require(device.load<Signature>(source(), name));
        const LaunchShape shape{.grid = {2, 1, 1}, .block = {64, 1, 1}};
        auto ended = kernel.launch(stream, shape, arguments...);
        if (ended) ended = stream.sync();
        if (ended) FAIL("kernel ", std::string(name), " ends without an error");
        return ended.error();
    }
    static Source source() { return Source::text(text, "errors.cu"); }

    Runtime runtime;
    Device device;
    Stream stream;
    DeviceBuffer<int> buffer;
};

/// Checks the error code and the message: the kernel's name, the planted line and `parts`.
void check(const Error& error, std::string_view native, std::string_view kernel,
           std::initializer_list<std::string> parts) {
    CAPTURE(error.message);
    CHECK(error.native.name == native);
    CHECK(error.message.starts_with(fmt::format("{} {} ", place_of(kernel), kernel)));
    CHECK(error.message.find("PTX line ") != std::string::npos);
    for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(error.message.find(part) != std::string::npos);
    }
}

struct Four {
    int v[4];
};

constexpr std::string_view illegal_address = "CUDA_ERROR_ILLEGAL_ADDRESS";

}  // namespace

TEST_CASE("memory errors: global accesses out of bounds name the allocation and the distance") {
    struct Row {
        const char* kernel;
        int index;
        const char* what;
        const char* distance;
        const char* thread;
    };
    const Row rows[] = {
        {"past_end", 0, "writes 4 bytes past the end of a 400-byte allocation\n",
         ", 0 bytes past the end\n  allocation: 400 bytes of device memory at 0x",
         "thread: (36,0,0) of block (1,0,0)"},
        {"ahead", -2, "writes 4 bytes before a 400-byte allocation\n",
         ", 8 bytes before it\n  allocation: 400 bytes of device memory at 0x",
         "thread: (5,0,0) of block (1,0,0)"},
        {"reads", 110, "reads 4 bytes past the end of a 400-byte allocation\n",
         ", 40 bytes past the end\n  allocation: 400 bytes", "thread: (0,0,0) of block"},
        {"updates", 101, "updates 4 bytes past the end of a 400-byte allocation\n",
         ", 4 bytes past the end\n", "thread: (0,0,0) of block"},
        {"in_function", 100, "writes 4 bytes past the end of a 400-byte allocation\n",
         ", 0 bytes past the end\n  allocation: 400 bytes of device memory at 0x",
         " in function store_to, "},
        {"variable", 17, "writes 4 bytes past the end of the 64-byte variable table\n",
         ", 4 bytes past the end\n  variable: table, 64 bytes at 0x", "thread: (0,0,0) of block"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.kernel);
        const Bench bench;
        check(bench.error_of(row.kernel, bench.buffer, row.index), illegal_address, row.kernel,
              {row.what, row.distance, row.thread});
        CHECK(bench.device.is_lost());
    }
}

TEST_CASE("memory errors: freed memory, null and host pointers are told apart") {
    {
        Bench bench;
        int* const freed = bench.buffer.data();
        bench.buffer = require(bench.device.alloc<int>(1));
        check(bench.error_of("reads", freed, 3), illegal_address, "reads",
              {"reads 4 bytes of a 400-byte allocation that has been freed\n", ", 12 bytes into it",
               "thread: (0,0,0) of block"});
    }
    {
        const Bench bench;
        check(bench.error_of("reads", static_cast<int*>(nullptr), 0), illegal_address, "reads",
              {"reads 4 bytes through a null pointer\n  address: 0x0\n"});
    }
    {
        const Bench bench;
        std::vector<int> on_host(100);
        check(bench.error_of("reads", on_host.data(), 1), illegal_address, "reads",
              {fmt::format(
                  "outside of all allocations\n  address: 0x{:x}, which may be a host pointer",
                  reinterpret_cast<std::uintptr_t>(&on_host[1]))});
    }
}

TEST_CASE("memory errors: misaligned addresses and addresses outside all windows are told apart") {
    {
        const Bench bench;
        check(bench.error_of("misaligned", bench.buffer, 6), "CUDA_ERROR_MISALIGNED_ADDRESS",
              "misaligned",
              {"writes 4 bytes at an address that isn't a multiple of 4\n", ", 6 bytes into it\n",
               "thread: (0,0,0) of block"});
    }
    const Bench bench;
    check(bench.error_of("no_window", bench.buffer, 0), illegal_address, "no_window",
          {"that isn't in any memory that it may access", "thread: (0,0,0) of block"});
}

TEST_CASE("memory errors: accesses past shared, local and parameter memory are found") {
    {
        const Bench bench;
        check(bench.error_of("shared_bounds", bench.buffer, 16), illegal_address, "shared_bounds",
              {"reads 4 bytes past the end of its 64 bytes of shared memory\n  address: offset 64",
               ",0,0) of block ("});
    }
    {
        const Bench bench;
        check(bench.error_of("local_bounds", bench.buffer, 4096), illegal_address, "local_bounds",
              {"writes 4 bytes past the end of its 32 bytes of local memory\n  address: offset "
               "16384"});
    }
    const Bench bench;
    check(bench.error_of<void(int*, int, Four)>("parameter_bounds", bench.buffer, 6, Four{}),
          illegal_address, "parameter_bounds",
          {"reads 4 bytes past the end of its 28 bytes of parameter memory"});
}

TEST_CASE("memory errors: the report of a barrier that can't complete names the waiting threads") {
    const Bench bench;
    check(bench.error_of("barrier", bench.buffer, 0), "CUDA_ERROR_LAUNCH_TIMEOUT", "barrier",
          {"is deadlocked: it waits", "waits at barrier 3 with 32 of 64 threads",
           "waits at barrier 0 with 32 of 64 threads", "thread (0,0,0) of block (",
           "thread (32,0,0) of block ("});
}

TEST_CASE("memory errors: a shuffle by a lane that isn't in its mask is illegal") {
    const Bench bench;
    check(bench.error_of("shuffle", bench.buffer, 0xffff), "CUDA_ERROR_ILLEGAL_INSTRUCTION",
          "shuffle",
          {"executes a warp operation with a member mask that leaves its own lane out\n",
           "mask: 0x0000ffff of lane 16", "thread: (16,0,0) of block"});
}

TEST_CASE("memory errors: invalid frees in kernels are told apart") {
    {
        const Bench bench;
        check(bench.error_of("double_free", bench.buffer, 0), illegal_address, "double_free",
              {"frees an address ", "that has already been freed"});
    }
    {
        const Bench bench;
        check(bench.error_of("free_inside", bench.buffer, 4), illegal_address, "free_inside",
              {"frees an address ", "inside an allocation"});
    }
    const Bench bench;
    check(bench.error_of("free_foreign", bench.buffer, 0), illegal_address, "free_foreign",
          {"frees an address ", "that wasn't allocated by malloc in a kernel"});
}

TEST_CASE("memory errors: malloc gives places to no bytes and to a size that wraps") {
    const Bench bench;
    const auto kernel =
        require(bench.device.load<void(int*, int)>(Bench::source(), "malloc_sizes"));
    require(kernel.launch(bench.stream, {.grid = {1}, .block = {32}}, bench.buffer, 0));
    require(bench.stream.sync());
    std::vector<int> found(100);
    require(bench.buffer.copy_to(found));
    CHECK(found[0] == 7);
    CHECK(found[1] == 3);
    check(bench.error_of("write_nothing", bench.buffer, 0), illegal_address, "write_nothing",
          {"writes 4 bytes, 3 of them past the end of a 1-byte allocation"});
}
