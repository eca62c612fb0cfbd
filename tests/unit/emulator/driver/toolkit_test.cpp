// The stand-ins for nvJitLink and ptxas: what they call a cubin loads on the emulator.
#include "base/file.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <nvJitLink.h>

using namespace lode::emulator_test;

namespace {

constexpr const char* toolkit_caller = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) seven();
.visible .entry uses_seven() {
    { .param .b32 back; call.uni (back), seven, (); }
    ret;
})";
constexpr const char* toolkit_callee = R"(.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) seven() { st.param.b32 [r], 7; ret; })";

/// A stand-in's functions, by the names of a release: nvJitLink 12.4 has __nvJitLinkCreate_12_4.
struct JitLink {
    explicit JitLink(const char* library, std::string its_release)
        : handle(::dlopen(library, RTLD_NOW | RTLD_LOCAL)), release(std::move(its_release)) {
        REQUIRE(handle != nullptr);
    }
    template <class... Arguments>
    int call(const std::string& name, Arguments... arguments) const {
        const auto symbol = release.empty() ? name : "__" + name + "_" + release;
        void* const function = ::dlsym(handle, symbol.c_str());
        REQUIRE_MESSAGE(function != nullptr, symbol);
        return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }
    [[nodiscard]] nvJitLinkHandle create(std::vector<const char*> options) const {
        nvJitLinkHandle link = nullptr;
        const auto count = static_cast<std::uint32_t>(options.size());
        REQUIRE(call("nvJitLinkCreate", &link, count, options.data()) == NVJITLINK_SUCCESS);
        return link;
    }
    [[nodiscard]] int add(nvJitLinkHandle link, const std::string& bytes,
                          nvJitLinkInputType type = NVJITLINK_INPUT_PTX) const {
        return call("nvJitLinkAddData", link, type, static_cast<const void*>(bytes.data()),
                    bytes.size(), "input");
    }
    [[nodiscard]] std::string log(nvJitLinkHandle link) const {
        std::size_t size = 0;
        REQUIRE(call("nvJitLinkGetErrorLogSize", link, &size) == NVJITLINK_SUCCESS);
        std::string text(size, 'x');
        REQUIRE(call("nvJitLinkGetErrorLog", link, text.data()) == NVJITLINK_SUCCESS);
        REQUIRE(text.back() == '\0');
        text.pop_back();
        return text;
    }
    void destroy(nvJitLinkHandle link) const {
        CHECK(call("nvJitLinkDestroy", &link) == NVJITLINK_SUCCESS);
        CHECK(link == nullptr);
    }
    void* handle;
    std::string release;
};

CUresult load_result(const void* image) {
    CUmodule module = nullptr;
    const CUresult result = CU(cuModuleLoadData, 2000)(&module, image);
    if (result == CUDA_SUCCESS) CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    return result;
}

int ptxas(const std::string& arguments) {
    const int status = std::system((LODE_PTXAS " " + arguments).c_str());
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("emulator toolkit: nvJitLink links PTX, and its cubin loads") {
    const Machine machine("sm_90");
    const Current context;
    const JitLink linkers[] = {JitLink(LODE_NVJITLINK_13, ""), JitLink(LODE_NVJITLINK_13, "13_0"),
                               JitLink(LODE_NVJITLINK_12, "12_0"),
                               JitLink(LODE_NVJITLINK_12, "12_9")};
    for (const JitLink& linker : linkers) {
        CAPTURE(linker.release);
        const auto link = linker.create({"-arch=sm_90", "-O3", "-lineinfo"});
        std::size_t size = 0;
        CHECK(linker.call("nvJitLinkGetLinkedCubinSize", link, &size) ==
              NVJITLINK_ERROR_INVALID_INPUT);
        CHECK(linker.add(link, toolkit_caller) == NVJITLINK_SUCCESS);
        CHECK(linker.call("nvJitLinkComplete", link) == NVJITLINK_ERROR_PTX_COMPILE);
        CHECK(linker.log(link) == "Undefined reference to 'seven' in 'input'\n");
        CHECK(linker.add(link, toolkit_callee, NVJITLINK_INPUT_ANY) == NVJITLINK_SUCCESS);
        CHECK(linker.call("nvJitLinkComplete", link) == NVJITLINK_SUCCESS);
        REQUIRE(linker.call("nvJitLinkGetLinkedCubinSize", link, &size) == NVJITLINK_SUCCESS);
        std::string cubin(size, 'x');
        CHECK(linker.call("nvJitLinkGetLinkedCubin", link, static_cast<void*>(cubin.data())) ==
              NVJITLINK_SUCCESS);
        CHECK(load_result(cubin.data()) == CUDA_SUCCESS);
        CHECK(linker.call("nvJitLinkGetLinkedPtxSize", link, &size) ==
              NVJITLINK_ERROR_INVALID_INPUT);
        linker.destroy(link);
    }
}

TEST_CASE("emulator toolkit: nvJitLink refuses wrong options and inputs, and says why") {
    const JitLink linker(LODE_NVJITLINK_13, "");
    nvJitLinkHandle link = nullptr;
    const auto create = [&](std::vector<const char*> options) {
        return linker.call("nvJitLinkCreate", &link, static_cast<std::uint32_t>(options.size()),
                           options.data());
    };
    CHECK(create({}) == NVJITLINK_ERROR_MISSING_ARCH);
    CHECK(create({"-arch=sm_90", "-bogus"}) == NVJITLINK_ERROR_UNRECOGNIZED_OPTION);
    CHECK(create({"-arch=rubbish"}) == NVJITLINK_ERROR_UNRECOGNIZED_OPTION);
    CHECK(create({"-arch=sm_XX"}) == NVJITLINK_ERROR_UNRECOGNIZED_OPTION);
    CHECK(create({"-arch=sm_0"}) == NVJITLINK_ERROR_UNRECOGNIZED_ARCH);
    CHECK(link == nullptr);
    CHECK(linker.call("nvJitLinkComplete", link) == NVJITLINK_ERROR_NULL_INPUT);
    const auto made = linker.create({"-arch=sm_75"});
    CHECK(linker.add(made, "nonsense") == NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
    CHECK(linker.add(made, "\177ELF", NVJITLINK_INPUT_CUBIN) == NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
    CHECK(linker.add(made, "!<arch>\n", NVJITLINK_INPUT_LIBRARY) ==
          NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
    CHECK(linker.add(made, toolkit_callee) == NVJITLINK_ERROR_PTX_COMPILE);
    CHECK(linker.log(made) ==
          "'input' is of an unknown format; the software device only links PTX.\n"
          "'input' is machine code or a host object; the software device only links PTX.\n"
          "'input' is an archive; the software device only links PTX.\n"
          "'input' is for compute_80, which doesn't run on sm_75.\n");
    linker.destroy(made);
}

TEST_CASE("emulator toolkit: a link of nothing is a program without kernels") {
    const Machine machine("sm_120");
    const Current context;
    const JitLink linker(LODE_NVJITLINK_13, "");
    for (const char* arch : {"-arch=sm_75", "-arch=sm_90a", "-arch=sm_120"}) {
        CAPTURE(arch);
        const auto link = linker.create({arch});
        REQUIRE(linker.call("nvJitLinkComplete", link) == NVJITLINK_SUCCESS);
        std::size_t size = 0;
        REQUIRE(linker.call("nvJitLinkGetLinkedCubinSize", link, &size) == NVJITLINK_SUCCESS);
        std::string cubin(size, 'x');
        REQUIRE(linker.call("nvJitLinkGetLinkedCubin", link, static_cast<void*>(cubin.data())) ==
                NVJITLINK_SUCCESS);
        CHECK(load_result(cubin.data()) == CUDA_SUCCESS);
        linker.destroy(link);
    }
}

TEST_CASE("emulator toolkit: the grid barrier of libcudadevrt, in a cooperative launch") {
    constexpr const char* waits = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 flags);
.visible .entry count_twice(.param .u64 p) {
    .reg .b64 %p, %h; .reg .b32 %n, %i, %one, %zero; .reg .pred %first;
    ld.param.u64 %p, [p];
    mov.u32 %one, 1;
    mov.u32 %zero, 0;
    { .param .b32 s; .param .b64 h; st.param.b32 [s], %one;
      call.uni (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %h, [h]; }
    mov.u32 %i, 0;
AGAIN:
    atom.global.add.u32 %n, [%p], 1;
    { .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %h; st.param.b32 [f], %zero;
      call.uni (e), cudaCGSynchronize, (h, f); }
    ld.volatile.global.u32 %n, [%p];
    atom.global.max.u32 %zero, [%p+4], %n;
    mov.u32 %zero, 0;
    { .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %h; st.param.b32 [f], %zero;
      call.uni (e), cudaCGSynchronize, (h, f); }
    // Between the two barriers no thread counts: all have read the same number.
    atom.global.min.u32 %zero, [%p+8], %n;
    mov.u32 %zero, 0;
    add.u32 %i, %i, 1;
    setp.lt.u32 %first, %i, 2;
    @%first bra AGAIN;
    ret;
})";
    const Machine machine("sm_90");
    const Current context;
    const JitLink linker(LODE_NVJITLINK_13, "");
    const auto link = linker.create({"-arch=sm_90"});
    REQUIRE(linker.add(link, waits) == NVJITLINK_SUCCESS);
    const std::string archive = "!<arch>\n";
    for (int i = 0; i < 2; ++i)
        CHECK(linker.call("nvJitLinkAddData", link, NVJITLINK_INPUT_LIBRARY,
                          static_cast<const void*>(archive.data()), archive.size(),
                          "libcudadevrt.a") == NVJITLINK_SUCCESS);
    REQUIRE_MESSAGE(linker.call("nvJitLinkComplete", link) == NVJITLINK_SUCCESS, linker.log(link));
    std::size_t size = 0;
    REQUIRE(linker.call("nvJitLinkGetLinkedCubinSize", link, &size) == NVJITLINK_SUCCESS);
    std::string cubin(size, 'x');
    REQUIRE(linker.call("nvJitLinkGetLinkedCubin", link, static_cast<void*>(cubin.data())) ==
            NVJITLINK_SUCCESS);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, cubin.data()) == CUDA_SUCCESS);
    REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "count_twice") == CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    const unsigned start[] = {0, 0, 10000};
    REQUIRE(CU(cuMemAlloc, 3020)(&memory, sizeof(start)) == CUDA_SUCCESS);
    REQUIRE(CU(cuMemcpyHtoD, 3020)(memory, start, sizeof(start)) == CUDA_SUCCESS);
    void* arguments[] = {&memory};
    REQUIRE(CU(cuLaunchCooperativeKernel, 9000)(function, 4, 2, 1, 16, 4, 1, 0, nullptr,
                                                arguments) == CUDA_SUCCESS);
    unsigned values[3] = {};
    CHECK(CU(cuMemcpyDtoH, 3020)(values, memory, sizeof(values)) == CUDA_SUCCESS);
    constexpr unsigned threads = 8 * 64;
    CHECK(values[0] == 2 * threads);
    CHECK(values[1] == 2 * threads);
    CHECK(values[2] == threads);
    linker.destroy(link);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
    CHECK(CU(cuMemFree, 3020)(memory) == CUDA_SUCCESS);
}

TEST_CASE("emulator toolkit: ptxas keeps PTX that loads, and refuses what is wrong") {
    const Machine machine("sm_90");
    const Current context;
    const auto scratch = lode::test::make_scratch();
    const auto input = lode::test::put(scratch.path() / "a.ptx", toolkit_callee).string();
    const auto output = (scratch.path() / "a.cubin").string();
    const auto error = (scratch.path() / "error").string();
    CHECK(ptxas("-v -lineinfo --gpu-name=sm_90a " + input + " -o " + output) == 0);
    CHECK(load_result(lode::read_text(output).value().c_str()) == CUDA_SUCCESS);
    CHECK(ptxas("-arch sm_80 -O 3 --fmad false " + input + " --output-file " + output) == 0);
    CHECK(ptxas("-arch=sm_75 " + input + " -o " + output + " 2>" + error) == 255);
    CHECK(lode::read_text(error).value() ==
          "lode-ptxas: '" + input + "' is for compute_80, which doesn't run on sm_75.\n");
    const auto broken =
        lode::test::put(scratch.path() / "b.ptx", ".version 8.0\nnonsense").string();
    CHECK(ptxas("-arch=sm_90 " + broken + " -o " + output + " 2>" + error) == 255);
    CHECK(lode::read_text(error).value().starts_with("lode-ptxas: '" + broken + "', PTX line "));
    CHECK(ptxas("-arch=sm_90 /nonexistent.ptx 2>" + error) == 255);
    CHECK(ptxas("-arch=rubbish " + input + " 2>" + error) == 255);
    CHECK(ptxas("2>" + error) == 255);
    CHECK(ptxas("--version | grep -q 'release 13.0, V13.0'") == 0);
}
