#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace lode::emulator_test;

namespace {

CUlibrary load(const char* ptx) {
    CUlibrary library = nullptr;
    REQUIRE(CU(cuLibraryLoadData, 12000)(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
            CUDA_SUCCESS);
    return library;
}

CUresult try_load(const void* image) {
    CUlibrary library = nullptr;
    return CU(cuLibraryLoadData, 12000)(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

CUkernel kernel_of(CUlibrary library, const char* name) {
    CUkernel kernel = nullptr;
    REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, name) == CUDA_SUCCESS);
    return kernel;
}

}  // namespace

TEST_CASE("emulator library: it loads without a context and names its kernels") {
    const Machine machine;
    const CUlibrary library = load(store_ptx);
    CHECK(machine.live(LODE_EMULATOR_LIBRARIES) == 1);
    unsigned count = 0;
    CHECK(CU(cuLibraryGetKernelCount, 12040)(&count, library) == CUDA_SUCCESS);
    CHECK(count == 1);
    CUkernel listed = nullptr;
    CHECK(CU(cuLibraryEnumerateKernels, 12040)(&listed, 1, library) == CUDA_SUCCESS);
    const CUkernel kernel = kernel_of(library, "store");
    CHECK(listed == kernel);
    const char* name = nullptr;
    CHECK(CU(cuKernelGetName, 12030)(&name, kernel) == CUDA_SUCCESS);
    CHECK(std::string_view(name) == "store");
    CUkernel none = nullptr;
    CHECK(CU(cuLibraryGetKernel, 12000)(&none, library, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_LIBRARIES) == 0);
    CHECK(CU(cuKernelGetName, 12030)(&name, kernel) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(machine.live(LODE_EMULATOR_LEAKS) == 0);
}

TEST_CASE("emulator library: only managed variables are found as managed") {
    const Machine machine;
    const Current scope;
    const CUlibrary library = load(R"(.version 8.0
.target sm_75
.address_size 64
.global .attribute(.managed) .align 4 .b8 shared_by_all[12];
.global .align 4 .b8 plain[8];
.visible .entry k() { ret; }
)");
    CUdeviceptr managed = 0;
    CUdeviceptr global = 0;
    std::size_t bytes = 0;
    const auto find_managed = CU(cuLibraryGetManaged, 12000);
    CHECK(find_managed(&managed, &bytes, library, "shared_by_all") == CUDA_SUCCESS);
    CHECK(bytes == 12);
    CHECK(CU(cuLibraryGetGlobal, 12000)(&global, nullptr, library, "shared_by_all") ==
          CUDA_SUCCESS);
    CHECK(global == managed);
    CHECK(find_managed(&managed, &bytes, library, "plain") == CUDA_ERROR_NOT_FOUND);
    CHECK(find_managed(&managed, &bytes, library, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(find_managed(nullptr, nullptr, library, "plain") == CUDA_ERROR_INVALID_VALUE);
    CHECK(find_managed(&managed, &bytes, nullptr, "plain") == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}

TEST_CASE("emulator library: images that aren't PTX return the driver's codes") {
    const Machine machine;
    const char cubin[64] = "\177ELF\2\1\1";
    CHECK(try_load(cubin) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    const std::uint32_t fatbin[4] = {0xba55ed50, 0x00100001, 0, 0};
    CHECK(try_load(fatbin) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(try_load("") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(try_load("\1\2\3\4\5\6") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(try_load(nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(try_load("this isn't PTX") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(machine.live(LODE_EMULATOR_LIBRARIES) == 0);
}

TEST_CASE("emulator library: the JIT's error log says what is wrong") {
    const Machine machine;
    char error[512] = "untouched";
    char information[512] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {error, reinterpret_cast<void*>(sizeof(error)), information,
                      reinterpret_cast<void*>(sizeof(information))};
    CUlibrary library = nullptr;
    CHECK(CU(cuLibraryLoadData, 12000)(&library, ".version nonsense", options, values, 4, nullptr,
                                       nullptr, 0) == CUDA_ERROR_INVALID_PTX);
    CHECK(std::strlen(error) > 0);
    CHECK(std::string_view(error) != "untouched");
    CHECK(reinterpret_cast<std::size_t>(values[1]) == std::strlen(error));
    CHECK(std::string_view(information).empty());

    values[1] = reinterpret_cast<void*>(std::size_t{4});
    CHECK(CU(cuLibraryLoadData, 12000)(&library, ".version nonsense", options, values, 4, nullptr,
                                       nullptr, 0) == CUDA_ERROR_INVALID_PTX);
    CHECK(std::strlen(error) == 3);

    const auto loads_with = [&](CUjit_option option) {
        values[0] = reinterpret_cast<void*>(std::size_t{2});
        return CU(cuLibraryLoadData, 12000)(&library, store_ptx, &option, values, 1, nullptr,
                                            nullptr, 0);
    };
    CHECK(loads_with(static_cast<CUjit_option>(36)) == CUDA_ERROR_INVALID_VALUE);
    CHECK(loads_with(lode::jit_binary_loader_threads) == CUDA_SUCCESS);
    const auto set_version =
        control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version");
    set_version(13000);
    CHECK(loads_with(lode::jit_binary_loader_threads) == CUDA_ERROR_INVALID_VALUE);
    CHECK(loads_with(CU_JIT_SPLIT_COMPILE) == CUDA_SUCCESS);
    set_version(0);
}

TEST_CASE("emulator library: it loads from a file") {
    const Machine machine;
    const std::string path = std::string(LODE_TEST_FOLDER) + "/emulator_store.ptx";
    std::ofstream(path) << store_ptx;
    CUlibrary library = nullptr;
    CHECK(CU(cuLibraryLoadFromFile, 12000)(&library, path.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0) == CUDA_SUCCESS);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
    std::remove(path.c_str());
    CHECK(CU(cuLibraryLoadFromFile, 12000)(&library, path.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0) == CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_CASE("emulator library: parameters are laid out as the guide says") {
    const Machine machine;
    const CUlibrary library = load(packing_ptx);
    const CUkernel kernel = kernel_of(library, "packing");
    std::size_t any = 0;
    CHECK(CU(cuKernelGetParamInfo, 12040)(kernel, 0, &any, nullptr) == CUDA_ERROR_INVALID_CONTEXT);
    const Current scope;
    constexpr std::size_t offsets[] = {0, 16, 32, 36, 40, 48};
    constexpr std::size_t sizes[] = {4, 16, 1, 4, 8, 8};
    for (std::size_t i = 0; i < std::size(offsets); ++i) {
        std::size_t offset = 999;
        std::size_t size = 999;
        CHECK(CU(cuKernelGetParamInfo, 12040)(kernel, i, &offset, &size) == CUDA_SUCCESS);
        CHECK(offset == offsets[i]);
        CHECK(size == sizes[i]);
    }
    std::size_t offset = 0;
    CHECK(CU(cuKernelGetParamInfo, 12040)(kernel, 6, &offset, nullptr) == CUDA_ERROR_INVALID_VALUE);
    std::size_t count = 0;
    CHECK(CU(cuKernelGetParamCount, 13020)(kernel, &count) == CUDA_SUCCESS);
    CHECK(count == 6);
    CHECK(CU(cuKernelGetParamCount, 13020)(kernel, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CUfunction function = nullptr;
    CHECK(CU(cuKernelGetFunction, 12000)(&function, kernel) == CUDA_SUCCESS);
    CHECK(CU(cuFuncGetParamCount, 13020)(function, &any) == CUDA_SUCCESS);
    CHECK(any == 6);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}

TEST_CASE("emulator library: a variable has one address per device") {
    const Machine machine("sm_80,sm_90");
    const CUlibrary library = load(store_ptx);
    CUdeviceptr addresses[2] = {};
    for (int device = 0; device < 2; ++device) {
        const Current scope(device);
        std::size_t bytes = 0;
        CHECK(CU(cuLibraryGetGlobal, 12000)(&addresses[device], &bytes, library, "table") ==
              CUDA_SUCCESS);
        CHECK(bytes == 64);
        CHECK(CU(cuMemsetD32, 3020)(addresses[device], 7, 16) == CUDA_SUCCESS);
        CHECK(CU(cuLibraryGetGlobal, 12000)(&addresses[device], &bytes, library, "missing") ==
              CUDA_ERROR_NOT_FOUND);
    }
    CHECK(addresses[0] != addresses[1]);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}

TEST_CASE("emulator library: kernel attributes describe the kernel on a device") {
    const Machine machine("sm_80,sm_90");
    const CUlibrary library = load(store_ptx);
    const CUkernel kernel = kernel_of(library, "store");
    const auto read = [&](CUfunction_attribute which, CUdevice device) {
        int value = -1;
        CHECK(CU(cuKernelGetAttribute, 12000)(&value, which, kernel, device) == CUDA_SUCCESS);
        return value;
    };
    CHECK(read(CU_FUNC_ATTRIBUTE_PTX_VERSION, 0) == 75);
    CHECK(read(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 0) == 80);
    CHECK(read(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 1) == 90);
    CHECK(read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1) == 1024);
    CHECK(read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) == 0);
    CHECK(read(CU_FUNC_ATTRIBUTE_NUM_REGS, 1) >= 16);
    CHECK(read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1) == 49152);
    const auto write = [&](int value) {
        return CU(cuKernelSetAttribute, 12000)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               value, kernel, 1);
    };
    CHECK(write(232448) == CUDA_SUCCESS);
    CHECK(write(232449) == CUDA_ERROR_INVALID_VALUE);
    CHECK(write(-1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1) == 232448);
    CHECK(read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0) == 49152);
    int value = 0;
    CHECK(CU(cuKernelGetAttribute, 12000)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 2) ==
          CUDA_ERROR_INVALID_DEVICE);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}

TEST_CASE("emulator module: it loads into the current context and unloads") {
    const Machine machine;
    CUmodule module = nullptr;
    CHECK(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_ERROR_INVALID_CONTEXT);
    const Current scope;
    CHECK(CU(cuModuleLoadData, 2000)(&module, store_ptx) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 1);
    CUfunction function = nullptr;
    CHECK(CU(cuModuleGetFunction, 2000)(&function, module, "store") == CUDA_SUCCESS);
    CUfunction again = nullptr;
    CHECK(CU(cuModuleGetFunction, 2000)(&again, module, "store") == CUDA_SUCCESS);
    CHECK(function == again);
    CHECK(CU(cuModuleGetFunction, 2000)(&again, module, "missing") == CUDA_ERROR_NOT_FOUND);
    CUmodule back = nullptr;
    CHECK(CU(cuFuncGetModule, 11000)(&back, function) == CUDA_SUCCESS);
    CHECK(back == module);
    const char* name = nullptr;
    CHECK(CU(cuFuncGetName, 12030)(&name, function) == CUDA_SUCCESS);
    CHECK(std::string_view(name) == "store");
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CHECK(CU(cuModuleGetGlobal, 3020)(&address, &bytes, module, "table") == CUDA_SUCCESS);
    CHECK(bytes == 64);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 0);
    CHECK(CU(cuFuncGetName, 12030)(&name, function) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(CU(cuMemsetD8, 3020)(address, 0, 1) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("emulator kernel: its function belongs to the current context") {
    const Machine machine;
    const CUlibrary library = load(store_ptx);
    const CUkernel kernel = kernel_of(library, "store");
    CUfunction function = nullptr;
    CHECK(CU(cuKernelGetFunction, 12000)(&function, kernel) == CUDA_ERROR_INVALID_CONTEXT);
    const Current scope;
    CHECK(CU(cuKernelGetFunction, 12000)(&function, kernel) == CUDA_SUCCESS);
    CUmodule module = nullptr;
    CUmodule of_library = nullptr;
    CHECK(CU(cuFuncGetModule, 11000)(&module, function) == CUDA_SUCCESS);
    CHECK(CU(cuLibraryGetModule, 12000)(&of_library, library) == CUDA_SUCCESS);
    CHECK(module == of_library);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 0);
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}
