#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstring>
#include <fstream>

using namespace lode::emulator_test;

namespace {

constexpr const char* link_caller = R"(.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) seven();
.visible .entry store_seven(.param .u64 to) {
    .reg .b64 %address;
    .reg .b32 %value;
    ld.param.u64 %address, [to];
    { .param .b32 back; call.uni (back), seven, (); ld.param.b32 %value, [back]; }
    st.global.u32 [%address], %value;
    ret;
})";
constexpr const char* link_callee = R"(.version 8.0
.target sm_80
.address_size 64
.visible .func (.param .b32 r) seven() { st.param.b32 [r], 7; ret; })";

CUlinkState create_link(unsigned count = 0, CUjit_option* options = nullptr,
                        void** values = nullptr) {
    CUlinkState state = nullptr;
    REQUIRE(CU(cuLinkCreate, 6050)(count, options, values, &state) == CUDA_SUCCESS);
    return state;
}

CUresult add_text(CUlinkState state, const char* text, CUjitInputType type = CU_JIT_INPUT_PTX) {
    return CU(cuLinkAddData, 6050)(state, type, const_cast<char*>(text), std::strlen(text) + 1,
                                   "input", 0, nullptr, nullptr);
}

}  // namespace

TEST_CASE("emulator link: two texts become one that loads and runs") {
    const Machine machine;
    const Current context;
    const CUlinkState state = create_link();
    CHECK(machine.live(LODE_EMULATOR_LINKS) == 1);
    CHECK(add_text(state, link_caller) == CUDA_SUCCESS);
    // What the linkers of the software device call a cubin is PTX.
    CHECK(add_text(state, link_callee, CU_JIT_INPUT_CUBIN) == CUDA_SUCCESS);
    void* code = nullptr;
    std::size_t size = 0;
    REQUIRE(CU(cuLinkComplete, 5050)(state, &code, &size) == CUDA_SUCCESS);
    CHECK(size == std::strlen(static_cast<char*>(code)) + 1);
    CUmodule module = nullptr;
    REQUIRE(CU(cuModuleLoadData, 2000)(&module, code) == CUDA_SUCCESS);
    CHECK(CU(cuLinkDestroy, 5050)(state) == CUDA_SUCCESS);
    CHECK(machine.live(LODE_EMULATOR_LINKS) == 0);
    CUfunction function = nullptr;
    REQUIRE(CU(cuModuleGetFunction, 2000)(&function, module, "store_seven") == CUDA_SUCCESS);
    CUdeviceptr to = 0;
    REQUIRE(CU(cuMemAlloc, 3020)(&to, 4) == CUDA_SUCCESS);
    void* arguments[] = {&to};
    CHECK(CU(cuLaunchKernel, 4000)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) ==
          CUDA_SUCCESS);
    int value = 0;
    CHECK(CU(cuMemcpyDtoH, 3020)(&value, to, 4) == CUDA_SUCCESS);
    CHECK(value == 7);
    CHECK(CU(cuMemFree, 3020)(to) == CUDA_SUCCESS);
    CHECK(CU(cuModuleUnload, 2000)(module) == CUDA_SUCCESS);
}

TEST_CASE("emulator link: errors are in the caller's log, and the link goes on") {
    const Machine machine;
    const Current context;
    char error[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {error, reinterpret_cast<void*>(sizeof(error))};
    const CUlinkState state = create_link(2, options, values);
    CHECK(add_text(state, "nonsense") == CUDA_ERROR_INVALID_PTX);
    CHECK(std::string_view(error).starts_with("'input', PTX line 1: "));
    CHECK(add_text(state, "\177ELF", CU_JIT_INPUT_CUBIN) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(std::string_view(error) ==
          "'input' is machine code or a host object; the software device only links PTX.");
    CHECK(add_text(state, link_caller) == CUDA_SUCCESS);
    void* code = nullptr;
    std::size_t size = 0;
    CHECK(CU(cuLinkComplete, 5050)(state, &code, &size) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(std::string_view(error) == "Undefined reference to 'seven' in 'input'");
    CHECK(add_text(state, link_callee) == CUDA_SUCCESS);
    CHECK(CU(cuLinkComplete, 5050)(state, &code, &size) == CUDA_SUCCESS);
    CHECK(add_text(state, link_callee) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLinkDestroy, 5050)(state) == CUDA_SUCCESS);
}

TEST_CASE("emulator link: wrong arguments and dead handles return the driver's codes") {
    const Machine machine;
    CUlinkState state = nullptr;
    CHECK(CU(cuLinkCreate, 6050)(0, nullptr, nullptr, &state) == CUDA_ERROR_INVALID_CONTEXT);
    const Current context;
    CHECK(CU(cuLinkCreate, 6050)(0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLinkCreate, 6050)(1, nullptr, nullptr, &state) == CUDA_ERROR_INVALID_VALUE);
    state = create_link();
    void* code = nullptr;
    std::size_t size = 0;
    CHECK(CU(cuLinkComplete, 5050)(state, &code, &size) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLinkAddData, 6050)(state, CU_JIT_INPUT_PTX, nullptr, 1, "x", 0, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_VALUE);
    CHECK(add_text(state, link_callee, CU_JIT_NUM_INPUT_TYPES) == CUDA_ERROR_INVALID_VALUE);
    CHECK(CU(cuLinkAddFile, 6050)(state, CU_JIT_INPUT_PTX, "/nonexistent.ptx", 0, nullptr,
                                  nullptr) == CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(CU(cuLinkDestroy, 5050)(state) == CUDA_SUCCESS);
    CHECK(CU(cuLinkDestroy, 5050)(state) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(add_text(state, link_callee) == CUDA_ERROR_INVALID_HANDLE);
}
