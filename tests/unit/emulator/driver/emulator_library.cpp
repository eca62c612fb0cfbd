#include "tests/unit/emulator/driver/emulator_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

namespace lode::emulator_test {
namespace {

/// The environment variable LODE_TEST_EMULATOR selects another build's library, to check that a
/// test fails there.
void* library() {
    const char* const other = std::getenv("LODE_TEST_EMULATOR");
    static void* const handle =
        dlopen(other != nullptr ? other : LODE_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(handle != nullptr, dlerror());
    return handle;
}

void append_line(void* user, int, const char* line) {
    auto& text = *static_cast<std::string*>(user);
    text.append(line).push_back('\n');
}

}  // namespace

void* library_symbol(const char* name) {
    void* const address = dlsym(library(), name);
    REQUIRE_MESSAGE(address != nullptr, name);
    return address;
}

void* entry_point(const char* name, int version, cuuint64_t flags) {
    static const auto get =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(library_symbol("cuGetProcAddress_v2"));
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    const CUresult result = get(name, &address, version, flags, &status);
    REQUIRE_MESSAGE(result == CUDA_SUCCESS, name);
    REQUIRE(status == CU_GET_PROC_ADDRESS_SUCCESS);
    REQUIRE(address != nullptr);
    return address;
}

Machine::Machine(const char* devices, bool initialise) {
    control<decltype(lode_emulator_set_log)>("lode_emulator_set_log")(append_line, &log_);
    REQUIRE(control<decltype(lode_emulator_reset)>("lode_emulator_reset")(devices) == 0);
    if (initialise) REQUIRE(CU(cuInit, 2000)(0) == CUDA_SUCCESS);
}

Machine::~Machine() {
    control<decltype(lode_emulator_reset)>("lode_emulator_reset")(nullptr);
    control<decltype(lode_emulator_set_log)>("lode_emulator_set_log")(nullptr, nullptr);
}

std::string Machine::log() const {
    return log_;
}

long Machine::live(lode_emulator_kind kind) const {
    return control<decltype(lode_emulator_live)>("lode_emulator_live")(kind);
}

std::string Machine::take_report() const {
    std::array<char, 4096> text{};
    control<decltype(lode_emulator_take_report)>("lode_emulator_take_report")(text.data(),
                                                                              text.size());
    return text.data();
}

Current::Current(CUdevice device) : device_(device) {
    REQUIRE(CU(cuDevicePrimaryCtxRetain, 7000)(&context_, device) == CUDA_SUCCESS);
    REQUIRE(CU(cuCtxPushCurrent, 4000)(context_) == CUDA_SUCCESS);
}

Current::~Current() {
    CUcontext popped = nullptr;
    CHECK(CU(cuCtxPopCurrent, 4000)(&popped) == CUDA_SUCCESS);
    CHECK(popped == context_);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(device_) == CUDA_SUCCESS);
}

void reset_and_reopen(CUdevice device) {
    CHECK(CU(cuDevicePrimaryCtxReset, 11000)(device) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    CHECK(CU(cuDevicePrimaryCtxRetain, 7000)(&context, device) == CUDA_SUCCESS);
    CHECK(CU(cuDevicePrimaryCtxRelease, 11000)(device) == CUDA_SUCCESS);
}

const char* const store_ptx = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .global .align 16 .b8 table[64];

.visible .entry store(
    .param .u64 store_param_0,
    .param .u32 store_param_1
)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [store_param_0];
    ld.param.u32 %r1, [store_param_1];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

const char* const packing_ptx = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry packing(
    .param .u32 packing_param_0,
    .param .align 16 .b8 packing_param_1[16],
    .param .u8 packing_param_2,
    .param .f32 packing_param_3,
    .param .u64 packing_param_4,
    .param .align 8 .b8 packing_param_5[8]
)
{
    ret;
}
)";

}  // namespace lode::emulator_test
