// Fat binaries: the emulator loads the newest PTX that runs on the device.
#include "tests/support/fat_binary.hpp"

#include "tests/support/variable.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

using namespace lode::emulator_test;
using namespace lode::test;

namespace {

/// PTX for an architecture with an empty kernel.
std::string fat_kernel(int sm, const char* kernel) {
    return fmt::format(
        ".version 8.0\n.target sm_{}\n.address_size 64\n.visible .entry {}() {{ ret; }}\n", sm,
        kernel);
}

/// The name of the first kernel of what an image loads as; the error's number if it doesn't load.
std::string loaded_kernel(const void* image) {
    CUmodule module = nullptr;
    const CUresult result = CU(cuModuleLoadData, 2000)(&module, image);
    if (result != CUDA_SUCCESS) return std::to_string(static_cast<int>(result));
    CUfunction function = nullptr;
    CHECK(CU(cuModuleEnumerateFunctions, 12040)(&function, 1, module) == CUDA_SUCCESS);
    const char* name = nullptr;
    CHECK(CU(cuFuncGetName, 12030)(&name, function) == CUDA_SUCCESS);
    std::string kernel = name;
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    return kernel;
}

}  // namespace

TEST_CASE("emulator fat binary: each device gets the newest PTX that it runs") {
    const std::string image = fat_binary({fat_part(fat_cubin, 90, "\177ELF"),
                                          fat_part(fat_ptx, 75, fat_kernel(75, "old")),
                                          fat_part(fat_ptx, 90, fat_kernel(90, "new_one")),
                                          fat_part(fat_ptx, 80, fat_kernel(80, "between"))});
    const Machine machine("sm_75,sm_86,sm_90,sm_120");
    const char* const expected[] = {"old", "between", "new_one", "new_one"};
    for (int device = 0; device < 4; ++device) {
        CAPTURE(device);
        const Current context(device);
        CHECK(loaded_kernel(image.data()) == expected[device]);
        const FatWrapper wrapper{.data = image.data()};
        CHECK(loaded_kernel(&wrapper) == expected[device]);
    }
}

TEST_CASE("emulator fat binary: the parts that nvlink has linked are linked as PTX") {
    const auto caller = [](int sm, const char* kernel) {
        return fmt::format(
            ".version 8.0\n.target sm_{0}\n.address_size 64\n"
            ".extern .func {1}_callee();\n"
            ".visible .entry {1}() {{ call.uni {1}_callee; ret; }}\n",
            sm, kernel);
    };
    const auto callee = [](int sm, const char* kernel) {
        return fmt::format(
            ".version 8.0\n.target sm_{}\n.address_size 64\n"
            ".visible .func {}_callee() {{ ret; }}\n",
            sm, kernel);
    };
    const std::string linked = fat_binary({fat_part(fat_cubin, 90, "\177ELF")});
    const std::string first =
        fat_binary({fat_part(fat_cubin, 90, "\177ELF"), fat_part(fat_ptx, 75, caller(75, "old")),
                    fat_part(fat_ptx, 90, caller(90, "new_one"))});
    const std::string second = fat_binary(
        {fat_part(fat_ptx, 75, callee(75, "old")), fat_part(fat_ptx, 90, callee(90, "new_one"))});
    const auto load = [&](std::vector<const void*> parts) {
        parts.push_back(nullptr);
        const FatWrapper wrapper{.version = 2, .data = linked.data(), .name = parts.data()};
        return loaded_kernel(&wrapper);
    };
    const Machine machine("sm_75,sm_86,sm_90");
    const char* const expected[] = {"old", "old", "new_one"};
    for (int device = 0; device < 3; ++device) {
        CAPTURE(device);
        const Current context(device);
        CHECK(load({first.data(), second.data()}) == expected[device]);
    }
    const Current context;
    CHECK(load({first.data()}) == std::to_string(CUDA_ERROR_INVALID_PTX));  // No callee.
    CHECK(load({first.data(), linked.data()}) == std::to_string(CUDA_ERROR_NO_BINARY_FOR_GPU));
    CHECK(load({reinterpret_cast<void*>(64)}) == std::to_string(CUDA_ERROR_INVALID_IMAGE));
    CHECK(load({}) == std::to_string(CUDA_ERROR_NO_BINARY_FOR_GPU));
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 0);
}

TEST_CASE("emulator fat binary: a library gives each context the PTX of its device") {
    const std::string image = fat_binary(
        {fat_part(fat_ptx, 75, fat_kernel(75, "k")), fat_part(fat_ptx, 90, fat_kernel(90, "k"))});
    const Machine machine("sm_75,sm_90");
    CUlibrary library = nullptr;
    REQUIRE(CU(cuLibraryLoadData, 12000)(&library, image.data(), nullptr, nullptr, 0, nullptr,
                                         nullptr, 0) == CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    REQUIRE(CU(cuLibraryGetKernel, 12000)(&kernel, library, "k") == CUDA_SUCCESS);
    const int versions[] = {75, 90};
    for (int device = 0; device < 2; ++device) {
        const Current context(device);
        int version = 0;
        CHECK(CU(cuKernelGetAttribute, 12000)(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel,
                                              device) == CUDA_SUCCESS);
        CHECK(version == versions[device]);
    }
    CHECK(CU(cuLibraryUnload, 12000)(library) == CUDA_SUCCESS);
}

TEST_CASE("emulator fat binary: one without PTX for the device is refused, with the reason") {
    const Machine machine("sm_80");
    const Current context;
    const auto refused = [&](const std::string& image, std::string_view why) {
        char log[256] = "";
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};
        CUmodule module = nullptr;
        const CUresult result =
            CU(cuModuleLoadDataEx, 2010)(&module, image.data(), 2, options, values);
        CHECK(std::string_view(log) == why);
        return result;
    };
    CHECK(
        refused(
            fat_binary({fat_part(fat_cubin, 80, "\177ELF")}),
            "The image is a fat binary with machine code and no PTX; the software device runs PTX. "
            "Build it with PTX: nvcc -gencode arch=compute_80,code=compute_80, or lode compile "
            "--ptx.") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(refused(fat_binary({fat_part(fat_ptx, 90, fat_kernel(90, "k"))}),
                  "The image is a fat binary with PTX for compute_90, which doesn't run on sm_80. "
                  "Show such a device (--devices), or build it with -gencode "
                  "arch=compute_80,code=compute_80.") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(refused(fat_binary({"rubbish!"}),
                  "'the image' isn't a fat binary: its part 1 extends beyond its end.") ==
          CUDA_ERROR_INVALID_IMAGE);
    std::string endless = fat_binary({});
    endless.replace(8, 8, 8, '\x7f');
    CHECK(refused(endless,
                  "The fat binary's size (9187201950435737471 bytes) exceeds the memory that "
                  "it lies in.") == CUDA_ERROR_INVALID_IMAGE);
    const FatWrapper nowhere{.data = reinterpret_cast<void*>(64)};
    CHECK(loaded_kernel(&nowhere) == std::to_string(CUDA_ERROR_INVALID_IMAGE));
    const FatWrapper empty;
    CHECK(loaded_kernel(&empty) == std::to_string(CUDA_ERROR_INVALID_IMAGE));
    CHECK(machine.live(LODE_EMULATOR_MODULES) == 0);
}

TEST_CASE("emulator fat binary: one without PTX for the device fails lode emulate") {
    const std::string file =
        fmt::format("{}/fat_binary_{}.json", LODE_TEST_FOLDER, static_cast<int>(getpid()));
    const Variable report("LODE_EMULATOR_REPORT", file.c_str());
    const Machine machine("sm_80");
    const Current context;
    const std::string image = fat_binary({fat_part(fat_ptx, 90, fat_kernel(90, "k"))});
    CUmodule module = nullptr;
    CHECK(CU(cuModuleLoadData, 2000)(&module, image.data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    // Neither do kernels run that launch kernels as before CUDA 12, in one part or in several.
    const char* const launches =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a);\n"
        ".visible .entry k() { .param .b64 a; .param .b32 r;\n"
        "st.param.b64 [a], 0; call.uni (r), cudaLaunchDeviceV2, (a); ret; }\n";
    CHECK(CU(cuModuleLoadData, 2000)(&module, launches) == CUDA_ERROR_INVALID_PTX);
    const std::string part = fat_binary({fat_part(fat_ptx, 80, launches)});
    const void* parts[] = {part.data(), nullptr};
    const FatWrapper linked{.version = 2, .data = part.data(), .name = parts};
    CHECK(CU(cuModuleLoadData, 2000)(&module, &linked) == CUDA_ERROR_INVALID_PTX);
    std::ifstream in(file);
    const std::string lines{std::istreambuf_iterator<char>(in), {}};
    const auto count_of = [](const std::string& text, std::string_view what) {
        std::size_t count = 0;
        for (auto at = text.find(what); at != text.npos; at = text.find(what, at + 1))
            ++count;
        return count;
    };
    CHECK(count_of(lines, "{\"kind\": \"unusable\"") == 3);
    CHECK(count_of(lines, "\"Kernels that launch kernels as before CUDA 12 ") == 2);

    // A file is named, with PTX for another device and without any.
    const std::string named = file + ".fatbin";
    const auto refuses = [&](const std::string& bytes, const std::string& what) {
        std::ofstream(named, std::ios::binary) << bytes;
        CHECK(CU(cuModuleLoad, 2000)(&module, named.c_str()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
        CUlibrary library = nullptr;
        CHECK(CU(cuLibraryLoadFromFile, 12000)(&library, named.c_str(), nullptr, nullptr, 0,
                                               nullptr, nullptr,
                                               0) == CUDA_ERROR_NO_BINARY_FOR_GPU);
        std::ifstream again(file);
        std::size_t count = 0;
        for (std::string line; std::getline(again, line);)
            count += line.find("The image in " + named + " is " + what) != line.npos ? 1 : 0;
        CHECK(count == 2);
    };
    refuses(image, "a fat binary with PTX for compute_90, which doesn't run on sm_80.");
    refuses(fat_binary({fat_part(fat_cubin, 80, "\177ELF")}),
            "a fat binary with machine code and no PTX");
    std::remove(file.c_str());
    std::remove(named.c_str());
}
