// LODE_EMULATOR_CHECK=init: the entry points that write device memory, and the findings in kernels.
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

using namespace lode::emulator_test;

namespace {

const char* const load_ptx = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 empty[8];
.visible .global .align 4 .u32 full = 7;
.visible .entry load(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    .loc 1 12 7
    ld.global.u8 %r1, [%rd1];
    st.global.u8 [%rd2], %r1;
    ret;
}
.file 1 "reader.cu"
)";

/// Selects checks, and findings that don't stop a kernel, for machines created during its lifetime.
struct Checks {
    explicit Checks(const char* which) {
        setenv("LODE_EMULATOR_CHECK", which, 1);
        setenv("LODE_EMULATOR_FINDINGS", "log", 1);
    }
    ~Checks() {
        unsetenv("LODE_EMULATOR_CHECK");
        unsetenv("LODE_EMULATOR_FINDINGS");
    }
    Checks(const Checks&) = delete;
    Checks& operator=(const Checks&) = delete;
};

/// A machine with checks and a kernel that reads one byte.
struct UnwrittenBench {
    explicit UnwrittenBench(const char* which = "memory,init", const char* devices = "sm_90")
        : checks(which), machine(devices) {
        REQUIRE(CU(cuModuleLoadData, 2000)(&module, load_ptx) == CUDA_SUCCESS);
        REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "load") == CUDA_SUCCESS);
        result = allocate(4);
        REQUIRE(CU(cuMemAllocHost, 3020)(&host, 64) == CUDA_SUCCESS);
    }
    ~UnwrittenBench() { CU(cuModuleUnload, 2000)(module); }
    UnwrittenBench(const UnwrittenBench&) = delete;
    UnwrittenBench& operator=(const UnwrittenBench&) = delete;

    static CUdeviceptr allocate(std::size_t bytes = 16) {
        CUdeviceptr address = 0;
        REQUIRE(CU(cuMemAlloc, 3020)(&address, bytes) == CUDA_SUCCESS);
        return address;
    }
    /// The finding when a kernel reads one byte; empty if there is none.
    [[nodiscard]] std::string reading(CUdeviceptr from) const {
        CUdeviceptr to = result;
        void* arguments[] = {&from, &to};
        REQUIRE(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments,
                                         nullptr) == CUDA_SUCCESS);
        REQUIRE(CU(cuCtxSynchronize, 2000)() == CUDA_SUCCESS);
        return machine.take_report();
    }
    /// Lets a kernel read each byte: '#' for a written byte, '.' for an unwritten one.
    [[nodiscard]] std::string map(CUdeviceptr from, std::size_t bytes = 16) const {
        std::string text;
        for (std::size_t k = 0; k < bytes; ++k)
            text += reading(from + k).empty() ? '#' : '.';
        return text;
    }

    Checks checks;
    Machine machine;
    Current scope;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr result = 0;
    void* host = nullptr;  ///< Page-locked, 64 bytes.
};

}  // namespace

TEST_CASE(
    "emulator unwritten: a kernel's read is reported with line, thread, allocation and offset") {
    const UnwrittenBench bench;
    const CUdeviceptr memory = UnwrittenBench::allocate(100);
    const std::string report = bench.reading(memory + 8);
    CAPTURE(report);
    CHECK(report.starts_with(
        "reader.cu:12: load reads 1 byte of a 100-byte allocation that nothing has written\n"));
    CHECK(report.find(", 8 bytes into it\n  allocation: 100 bytes of device memory at 0x") !=
          std::string::npos);
    CHECK(report.find("(cuMemAlloc, driver call ") != std::string::npos);
    CHECK(report.find("\n  thread: (0,0,0) of block (0,0,0)") != std::string::npos);
    CHECK(report.find("\n  code: ld.global.u8, PTX line ") != std::string::npos);
    CHECK(bench.machine.log().find("that nothing has written") != std::string::npos);
    // The kernel continued after the finding, and its store counts as a write.
    CHECK(bench.map(bench.result, 4) == "#...");
}

TEST_CASE("emulator unwritten: nothing is reported unless init is enabled") {
    for (const char* which : {"memory", "race", "none"}) {
        const UnwrittenBench bench(which);
        CHECK(bench.reading(UnwrittenBench::allocate()).empty());
    }
    const UnwrittenBench bench("init");
    CHECK(!bench.reading(UnwrittenBench::allocate()).empty());
}

TEST_CASE("emulator unwritten: copies from the host count as writes, waiting or not") {
    const UnwrittenBench bench;
    const std::array<char, 16> pageable{};
    CUdeviceptr to = UnwrittenBench::allocate();
    CHECK(bench.map(to) == "................");
    CHECK(CU(cuMemcpyHtoD, 3020)(to + 2, pageable.data(), 3) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "..###...........");
    CHECK(CU(cuMemcpyHtoDAsync, 3020)(to + 8, pageable.data(), 2, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "..###...##......");
    CHECK(CU(cuMemcpyHtoDAsync, 3020)(to + 15, bench.host, 1, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "..###...##.....#");
    CHECK(CU(cuMemcpy, 4000)(to, reinterpret_cast<CUdeviceptr>(bench.host), 2) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "#####...##.....#");
    // A download neither writes device memory nor counts as a read to report.
    std::array<char, 16> back{};
    CHECK(CU(cuMemcpyDtoH, 3020)(back.data(), to, 16) == CUDA_SUCCESS);
    CHECK(bench.machine.take_report().empty());
    CHECK(bench.map(to) == "#####...##.....#");
}

TEST_CASE("emulator unwritten: copies of device memory carry the marks of written bytes along") {
    const UnwrittenBench bench("init", "sm_80,sm_90");
    const CUdeviceptr from = UnwrittenBench::allocate();
    CHECK(CU(cuMemsetD8, 3020)(from + 1, 0, 4) == CUDA_SUCCESS);
    CUdeviceptr to = UnwrittenBench::allocate();
    CHECK(CU(cuMemcpyDtoD, 3020)(to + 4, from, 8) == CUDA_SUCCESS);
    CHECK(bench.map(to) == ".....####.......");
    CHECK(CU(cuMemcpyDtoDAsync, 3020)(to + 5, from, 3, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "......###.......");
    CHECK(CU(cuMemcpyAsync, 4000)(to, from, 2, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == ".#....###.......");

    CUcontext other = nullptr;
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&other, 1) == CUDA_SUCCESS);
    REQUIRE(CU(cuCtxPushCurrent, 4000)(other) == CUDA_SUCCESS);
    const CUdeviceptr there = UnwrittenBench::allocate();
    REQUIRE(CU(cuCtxPopCurrent, 4000)(&other) == CUDA_SUCCESS);
    const CUcontext here = bench.scope.native();
    CHECK(CU(cuMemcpyPeer, 4000)(there, other, to, here, 16) == CUDA_SUCCESS);
    CHECK(bench.map(there) == ".#....###.......");
    CHECK(CU(cuMemcpyPeerAsync, 4000)(there + 8, other, from, here, 8, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(there) == ".#....##.####...");
    REQUIRE(CU(cuDevicePrimaryCtxRelease, 11000)(1) == CUDA_SUCCESS);
}

TEST_CASE("emulator unwritten: copies of rows and planes write only their boxes") {
    const UnwrittenBench bench;
    const CUdeviceptr to = UnwrittenBench::allocate(32);
    CUDA_MEMCPY2D rows{};
    rows.srcMemoryType = CU_MEMORYTYPE_HOST;
    rows.srcHost = bench.host;
    rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.dstDevice = to;
    rows.dstXInBytes = 1;
    rows.dstPitch = 4;
    rows.WidthInBytes = 2;
    rows.Height = 3;
    CHECK(CU(cuMemcpy2D, 3020)(&rows) == CUDA_SUCCESS);
    CHECK(bench.map(to) == ".##..##..##.....");
    CUDA_MEMCPY3D planes{};
    planes.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    planes.srcDevice = to;
    planes.srcPitch = 4;
    planes.srcHeight = 2;
    planes.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    planes.dstDevice = UnwrittenBench::allocate(32);
    planes.dstPitch = 8;
    planes.dstHeight = 2;
    planes.WidthInBytes = 4;
    planes.Height = 2;
    planes.Depth = 2;
    CHECK(CU(cuMemcpy3D, 3020)(&planes) == CUDA_SUCCESS);
    CHECK(bench.map(planes.dstDevice, 32) == ".##......##......##.............");
}

TEST_CASE("emulator unwritten: fills of every width count as writes") {
    const UnwrittenBench bench;
    CUdeviceptr to = UnwrittenBench::allocate();
    CHECK(CU(cuMemsetD8, 3020)(to, 1, 1) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD16, 3020)(to + 2, 1, 2) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD32, 3020)(to + 8, 1, 1) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "#.####..####....");
    to = UnwrittenBench::allocate();
    CHECK(CU(cuMemsetD8Async, 3020)(to, 1, 1, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD16Async, 3020)(to + 2, 1, 2, nullptr) == CUDA_SUCCESS);
    CHECK(CU(cuMemsetD32Async, 3020)(to + 8, 1, 1, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "#.####..####....");
    to = UnwrittenBench::allocate();
    CHECK(CU(cuMemsetD2D8, 3020)(to, 8, 1, 3, 2) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "###.....###.....");
    CHECK(CU(cuMemsetD2D16Async, 3020)(to + 4, 8, 1, 1, 2, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(to) == "###.##..###.##..");
}

TEST_CASE("emulator unwritten: memory that the host or the module writes counts as written") {
    const UnwrittenBench bench;
    CUdeviceptr managed = 0;
    REQUIRE(CU(cuMemAllocManaged, 6000)(&managed, 16, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    CHECK(bench.map(managed) == "################");
    CHECK(bench.map(reinterpret_cast<CUdeviceptr>(bench.host)) == "################");
    alignas(16) static std::array<char, 16> registered{};
    REQUIRE(CU(cuMemHostRegister, 6050)(registered.data(), 16, 0) == CUDA_SUCCESS);
    CHECK(bench.map(reinterpret_cast<CUdeviceptr>(registered.data())) == "################");
    REQUIRE(CU(cuMemHostUnregister, 4000)(registered.data()) == CUDA_SUCCESS);
    for (const char* name : {"empty", "full"}) {
        CUdeviceptr variable = 0;
        std::size_t bytes = 0;
        REQUIRE(CU(cuModuleGetGlobal, 3020)(&variable, &bytes, bench.module, name) == CUDA_SUCCESS);
        CHECK(bench.map(variable, bytes) == std::string(bytes, '#'));
    }
    // Copying unwritten bytes into managed memory leaves it written.
    CHECK(CU(cuMemcpyDtoD, 3020)(managed, UnwrittenBench::allocate(), 16) == CUDA_SUCCESS);
    CHECK(bench.map(managed) == "################");
}

TEST_CASE("emulator unwritten: pool memory and reused memory start unwritten") {
    const UnwrittenBench bench;
    CUdeviceptr pooled = 0;
    REQUIRE(CU(cuMemAllocAsync, 11020)(&pooled, 16, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(pooled) == "................");
    CHECK(CU(cuMemsetD8Async, 3020)(pooled, 0, 16, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(pooled) == "################");
    REQUIRE(CU(cuMemFreeAsync, 11020)(pooled, nullptr) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemAllocAsync, 11020)(&pooled, 16, nullptr) == CUDA_SUCCESS);
    CHECK(bench.map(pooled) == "................");
    CHECK(bench.reading(pooled).find("(cuMemAllocAsync, driver call ") != std::string::npos);
}
