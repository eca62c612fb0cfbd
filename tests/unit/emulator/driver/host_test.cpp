// A program can't crash itself through the software device: exceptions in host functions, kernels
// that need more memory than there is, sizes that overflow 64 bits.
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

using namespace lode::emulator_test;
using lode::test::Variable;

namespace {

std::string module_text(std::string_view before, std::string_view body) {
    return fmt::format(
        ".version 8.0\n.target sm_75\n.address_size 64\n{}\n.visible .entry k()\n{{ .reg .b32 "
        "%r<4>; .reg .b64 %rd<4>;\n{}\nret;\n}}\n",
        before, body);
}

CUresult load(const std::string& text, CUmodule& module) {
    return CU(cuModuleLoadData, 2000)(&module, text.c_str());
}

CUfunction kernel_of(const std::string& text) {
    CUmodule module = nullptr;
    REQUIRE(load(text, module) == CUDA_SUCCESS);
    CUfunction function = nullptr;
    REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "k") == CUDA_SUCCESS);
    return function;
}

CUresult launch(CUfunction function, CUstream stream = nullptr, unsigned threads = 32) {
    return CU(cuLaunchKernel, 4000)(function, 1, 1, 1, threads, 1, 1, 0, stream, nullptr, nullptr);
}

CUresult sync(CUstream stream) {
    return CU(cuStreamSynchronize, 2000)(stream);
}

void count_up(void* user) {
    ++*static_cast<int*>(user);
}

}  // namespace

TEST_CASE(
    "emulator host: an exception in a host function is reported once, and the stream continues") {
    const Machine machine;
    const Current scope;
    const CUhostFn throwing[] = {
        [](void*) { throw std::runtime_error("the host's own words"); },
        [](void*) { throw std::bad_alloc(); },
        [](void*) { throw 42; },
    };
    for (const bool waits_first : {false, true}) {
        for (const CUhostFn function : throwing) {
            CUstream stream = nullptr;
            REQUIRE(CU(cuStreamCreate, 2000)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
            int ran = 0;
            CHECK(CU(cuLaunchHostFunc, 10000)(stream, count_up, &ran) == CUDA_SUCCESS);
            CHECK(CU(cuLaunchHostFunc, 10000)(stream, function, nullptr) == CUDA_SUCCESS);
            if (waits_first) {
                while (CU(cuStreamQuery, 2000)(stream) == CUDA_ERROR_NOT_READY)
                    std::this_thread::yield();
                CHECK(CU(cuStreamQuery, 2000)(stream) == CUDA_ERROR_UNKNOWN);
                CUdeviceptr memory = 0;
                CHECK(CU(cuMemAlloc, 3020)(&memory, 16) == CUDA_ERROR_UNKNOWN);
            }
            CHECK(sync(stream) == CUDA_ERROR_UNKNOWN);
            CHECK(machine.take_report().starts_with(
                "A host function passed to cuLaunchHostFunc threw an exception: "));
            CHECK(sync(stream) == CUDA_SUCCESS);
            CHECK(CU(cuLaunchHostFunc, 10000)(stream, count_up, &ran) == CUDA_SUCCESS);
            CHECK(sync(stream) == CUDA_SUCCESS);
            CHECK(ran == 2);
            CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
        }
    }
    CHECK(machine.log().find("threw an exception: the host's own words.") != std::string::npos);
}

TEST_CASE(
    "emulator host: an exception in a stream callback is reported once, and the stream continues") {
    const Machine machine;
    const Current scope;
    const auto throws = [](CUstream, CUresult, void*) { throw std::runtime_error("called back"); };
    CHECK(CU(cuStreamAddCallback, 5000)(nullptr, throws, nullptr, 0) == CUDA_SUCCESS);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_ERROR_UNKNOWN);
    CHECK(machine.take_report().find("cuStreamAddCallback threw an exception: called back.") !=
          std::string::npos);
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
}

TEST_CASE("emulator host: an exception in an occupancy callback is the call's error") {
    const Machine machine;
    const Current scope;
    const CUfunction function = kernel_of(module_text("", ""));
    int grid = 0;
    int block = 0;
    const auto throws = [](int) -> std::size_t { throw 42; };
    CHECK(CU(cuOccupancyMaxPotentialBlockSize, 6050)(&grid, &block, function, throws, 0, 0) ==
          CUDA_ERROR_UNKNOWN);
}

TEST_CASE(
    "emulator host: a launch with too much local memory is invalid, and the stream survives") {
    const Machine machine;
    const Current scope;
    CUstream stream = nullptr;
    REQUIRE(CU(cuStreamCreate, 2000)(&stream, 0) == CUDA_SUCCESS);
    for (const char* bytes : {"524288", "1000000000", "99999999999"}) {
        CAPTURE(bytes);
        const CUfunction function = kernel_of(module_text(
            "",
            fmt::format(".local .b8 s[{}]; mov.u64 %rd1, s; st.local.u32 [%rd1], %r1;", bytes)));
        CHECK(launch(function, stream) == CUDA_ERROR_INVALID_VALUE);
        CHECK(machine.take_report().find(
                  "bytes of local memory per thread; the limit is 523264.") != std::string::npos);
        CHECK(sync(stream) == CUDA_SUCCESS);
        int local = 0;
        CHECK(CU(cuFuncGetAttribute, 2020)(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) ==
              CUDA_SUCCESS);
        CHECK(local >= 524'288);
    }
    const CUfunction most = kernel_of(
        module_text("", ".local .b8 s[523264]; mov.u64 %rd1, s; st.local.u32 [%rd1], %r1;"));
    CHECK(launch(most, stream, 1024) == CUDA_SUCCESS);
    CHECK(sync(stream) == CUDA_SUCCESS);
    const CUfunction many = kernel_of(module_text("", ".reg .b32 %many<10000000>;"));
    CHECK(launch(many, stream) == CUDA_SUCCESS);
    CHECK(sync(stream) == CUDA_SUCCESS);
    CHECK(CU(cuStreamDestroy, 4000)(stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator host: loading variables that don't fit in device memory fails") {
    const Machine machine;
    const Current scope;
    CUmodule module = nullptr;
    for (const char* bytes : {"1000000000000", "17179869185", "18446744073709551615"}) {
        const std::string text = module_text(fmt::format(".visible .global .b8 g[{}];", bytes), "");
        CHECK(load(text, module) == CUDA_ERROR_OUT_OF_MEMORY);
        CUlibrary library = nullptr;
        CHECK(CU(cuLibraryLoadData, 12000)(&library, text.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    }
    // Globals count as used device memory while their module is loaded.
    std::size_t before = 0;
    std::size_t with = 0;
    std::size_t after = 0;
    CHECK(CU(cuMemGetInfo, 3020)(&before, nullptr) == CUDA_SUCCESS);
    const std::string ten = module_text(".visible .global .b8 g[10737418240];", "");
    REQUIRE(load(ten, module) == CUDA_SUCCESS);
    CHECK(CU(cuMemGetInfo, 3020)(&with, nullptr) == CUDA_SUCCESS);
    CHECK(before - with >= 10'737'418'240);
    CUmodule second = nullptr;
    CHECK(load(ten, second) == CUDA_ERROR_OUT_OF_MEMORY);
    CUdeviceptr memory = 0;
    CHECK(CU(cuMemAlloc, 3020)(&memory, std::size_t{8} << 30) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    CHECK(CU(cuMemGetInfo, 3020)(&after, nullptr) == CUDA_SUCCESS);
    CHECK(after == before);
}

TEST_CASE("emulator host: static shared memory over the limit is invalid PTX at load") {
    const Machine machine;
    const Current scope;
    CUmodule module = nullptr;
    CHECK(load(module_text("", ".shared .b8 s[49153];"), module) == CUDA_ERROR_INVALID_PTX);
    CHECK(machine.take_report().find(
              "The kernel k has 49153 bytes of static shared memory; the limit is 49152.") !=
          std::string::npos);
    CHECK(load(module_text("", ".shared .b8 s[49152];"), module) == CUDA_SUCCESS);
}

TEST_CASE("emulator host: excessive nesting is invalid PTX at load") {
    const Machine machine;
    const Current scope;
    for (const auto& [mark, count] : {std::pair{'!', 32'692}, {'(', 19'371}, {'{', 65'397}}) {
        CUmodule module = nullptr;
        const std::string marks(static_cast<std::size_t>(count), mark);
        CHECK(load(module_text("", mark == '{' ? marks : "mov.b32 %r1, " + marks), module) ==
              CUDA_ERROR_INVALID_PTX);
        CHECK(machine.take_report().starts_with("PTX line 7: "));
    }
}

TEST_CASE("emulator host: sizes that overflow are refused, not wrapped") {
    const Machine machine;
    const Current scope;
    constexpr std::size_t all = ~std::size_t{0};
    constexpr std::size_t half = all / 2 + 1;
    CUdeviceptr memory = 0;
    std::size_t pitch = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, 4096) == CUDA_SUCCESS);
    std::array<char, 4096> host{};
    CUdeviceptr out = 0;
    void* pinned = nullptr;
    for (const std::size_t bytes : {all, all - 1, all - 511, half, std::size_t{1} << 47}) {
        CAPTURE(bytes);
        CHECK(CU(cuMemAlloc, 3020)(&out, bytes) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(CU(cuMemAllocManaged, 6000)(&out, bytes, CU_MEM_ATTACH_GLOBAL) ==
              CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(CU(cuMemHostAlloc, 2020)(&pinned, bytes, 0) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(CU(cuMemAllocPitch, 3020)(&out, &pitch, bytes, 2, 4) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(CU(cuMemAllocPitch, 3020)(&out, &pitch, 2, bytes, 4) == CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(CU(cuMemHostRegister, 6050)(host.data(), bytes, 0) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyHtoD, 3020)(memory, host.data(), bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyDtoH, 3020)(host.data(), memory, bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyDtoD, 3020)(memory, memory, bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemcpyDtoD, 3020)(memory, memory + bytes, 1) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD8, 3020)(memory, 1, bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD32, 3020)(memory, 1, bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD32, 3020)(memory, 1, half / 2 + 1) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD2D8, 3020)(memory, 16, 1, 1, bytes) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD2D8, 3020)(memory, bytes, 1, 1, 3) == CUDA_ERROR_INVALID_VALUE);
        CHECK(CU(cuMemsetD2D32, 3020)(memory, all - 3, 1, bytes, 2) == CUDA_ERROR_INVALID_VALUE);
        // Each size of a box in turn.
        for (std::size_t CUDA_MEMCPY3D::*field :
             {&CUDA_MEMCPY3D::WidthInBytes, &CUDA_MEMCPY3D::Height, &CUDA_MEMCPY3D::Depth,
              &CUDA_MEMCPY3D::srcXInBytes, &CUDA_MEMCPY3D::srcY, &CUDA_MEMCPY3D::srcZ,
              &CUDA_MEMCPY3D::dstXInBytes, &CUDA_MEMCPY3D::dstY, &CUDA_MEMCPY3D::dstZ,
              &CUDA_MEMCPY3D::srcPitch, &CUDA_MEMCPY3D::dstPitch, &CUDA_MEMCPY3D::srcHeight,
              &CUDA_MEMCPY3D::dstHeight}) {
            CUDA_MEMCPY3D box{};
            box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
            box.srcDevice = memory;
            box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
            box.dstDevice = memory + 2048;
            box.WidthInBytes = 4;
            box.Height = 3;
            box.Depth = 3;
            box.*field = bytes;
            const CUresult result = CU(cuMemcpy3D, 3020)(&box);
            CHECK(result == CUDA_ERROR_INVALID_VALUE);
        }
    }
    CHECK(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
}

TEST_CASE("emulator host: host memory that the process doesn't have can't be registered") {
    const Machine machine;
    const Current scope;
    const auto registered = [](std::uintptr_t at, std::size_t bytes) {
        return CU(cuMemHostRegister, 6050)(reinterpret_cast<void*>(at), bytes, 0);
    };
    CHECK(registered(0x1000, 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(registered(0x10de000000001000, 4096) == CUDA_ERROR_INVALID_VALUE);
    CHECK(registered(~std::uintptr_t{0}, 1) == CUDA_ERROR_INVALID_VALUE);
    static const char constant[64] = "read only";
    CHECK(registered(reinterpret_cast<std::uintptr_t>(constant), 64) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuMemHostRegister, 6050)(const_cast<char*>(constant), 64,
                                      CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_SUCCESS);
    CHECK(CU(cuMemHostUnregister, 4000)(const_cast<char*>(constant)) == CUDA_SUCCESS);
    std::array<char, 4096> own{};
    CHECK(CU(cuMemHostRegister, 6050)(own.data(), own.size(), 0) == CUDA_SUCCESS);
    CHECK(CU(cuMemHostUnregister, 4000)(own.data()) == CUDA_SUCCESS);
}

TEST_CASE("emulator host: LODE_EMULATOR_LOG and LODE_EMULATOR_FINDINGS refuse unknown words") {
    for (const auto& [name, sentence] :
         {std::pair{"LODE_EMULATOR_LOG",
                    "LODE_EMULATOR_LOG is 'x'; it must be one of stderr, summary."},
          std::pair{"LODE_EMULATOR_FINDINGS",
                    "LODE_EMULATOR_FINDINGS is 'x'; it must be one of fail, log."}}) {
        const Variable variable(name, "x");
        const Machine machine("sm_90", false);
        CHECK(CU(cuInit, 2000)(0) == CUDA_ERROR_INVALID_VALUE);
        CHECK(machine.log().find(sentence) != std::string::npos);
        CHECK(machine.take_report().find(sentence) != std::string::npos);
    }
    const Variable empty("LODE_EMULATOR_LOG", "");
    const Machine machine;
}

TEST_CASE("emulator host: ld.param and st.param of a local or shared variable never run") {
    const Machine machine;
    const Current scope;
    for (const char* space : {"local", "shared"}) {
        for (const char* access : {"ld.param.u32 %r1, [v];", "st.param.u32 [v], %r1;"}) {
            CAPTURE(access);
            CUmodule module = nullptr;
            const CUresult loaded = load(
                module_text("", fmt::format(".{} .align 8 .b32 v[4]; {}", space, access)), module);
            if (loaded == CUDA_ERROR_INVALID_PTX) continue;  // As in ptxas.
            REQUIRE(loaded == CUDA_SUCCESS);
            CUfunction function = nullptr;
            const CUresult found = CU(cuModuleGetFunction, 2000)(&function, module, "k");
            CHECK(found == CUDA_ERROR_NOT_SUPPORTED);
            if (found != CUDA_SUCCESS) continue;
            CHECK(launch(function) == CUDA_SUCCESS);
            CHECK(CU(cuCtxSynchronize, 2000)() != CUDA_SUCCESS);
        }
    }
}

namespace {

/// What a function of the program gets from calls: waiting, freeing, and a harmless one.
struct Forbidden {
    CUstream stream = nullptr;
    CUresult waited = CUDA_SUCCESS;
    CUresult freed = CUDA_SUCCESS;
    CUresult read = CUDA_ERROR_UNKNOWN;

    static void call(void* user) {
        auto& self = *static_cast<Forbidden*>(user);
        int version = 0;
        self.waited = CU(cuStreamSynchronize, 2000)(self.stream);
        self.freed = CU(cuMemFree, 3020)(0);
        self.read = CU(cuDriverGetVersion, 2020)(&version);
    }
    [[nodiscard]] bool is_refused() const {
        return waited == CUDA_ERROR_NOT_PERMITTED && freed == CUDA_ERROR_NOT_PERMITTED &&
               read == CUDA_SUCCESS;
    }
};

}  // namespace

TEST_CASE("emulator host: a host function may make harmless calls only") {
    const Machine machine;
    const Current scope;
    Forbidden inside;
    REQUIRE(CU(cuStreamCreate, 2000)(&inside.stream, 0) == CUDA_SUCCESS);
    CHECK(CU(cuLaunchHostFunc, 10000)(inside.stream, &Forbidden::call, &inside) == CUDA_SUCCESS);
    CHECK(sync(inside.stream) == CUDA_SUCCESS);
    CHECK(inside.is_refused());
    CHECK(CU(cuMemFree, 3020)(0) == CUDA_SUCCESS);  // Permitted again.
    CHECK(CU(cuStreamDestroy, 4000)(inside.stream) == CUDA_SUCCESS);
}

TEST_CASE("emulator host: a callback of the log isn't called for its own failures") {
    const Machine machine;
    const Current scope;
    Forbidden inside;
    int lines = 0;
    const auto hear = [](void* user, CUlogLevel, char*, std::size_t) {
        const auto& [seen, count] = *static_cast<std::pair<Forbidden*, int*>*>(user);
        ++*count;
        Forbidden::call(seen);
    };
    std::pair<Forbidden*, int*> user{&inside, &lines};
    CUlogsCallbackHandle handle = nullptr;
    REQUIRE(CU(cuLogsRegisterCallback, 12090)(hear, &user, &handle) == CUDA_SUCCESS);
    int* const nowhere = nullptr;
    CHECK(CU(cuDeviceGetCount, 2000)(nowhere) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLogsUnregisterCallback, 12090)(handle) == CUDA_SUCCESS);
    CHECK(lines == 1);
    CHECK(inside.is_refused());
}
