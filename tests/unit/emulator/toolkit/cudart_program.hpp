// A program's kernels and variables, registered as the code of nvcc does it.
#pragma once

#include "tests/support/fat_binary.hpp"

#include <array>
#include <string>

#include <cuda_runtime_api.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): crt/host_runtime.h has
// them.
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
char __cudaInitModule(void**);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, CUstream_st*);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace lode::test {

inline constexpr const char* program_ptx = R"(.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 factor = 3;
.visible .const .align 4 .b8 table[16];
.visible .global .attribute(.managed) .align 4 .u32 shared_by_all = 5;
.visible .entry scale(.param .u64 p, .param .u32 n) {
    .reg .b64 %p; .reg .b32 %i, %n, %v, %f, %b, %d; .reg .pred %out;
    ld.param.u64 %p, [p];
    ld.param.u32 %n, [n];
    mov.u32 %b, %ctaid.x;
    mov.u32 %d, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %b, %d, %i;
    setp.ge.u32 %out, %i, %n;
    @%out ret;
    mad.wide.u32 %p, %i, 4, %p;
    ld.global.u32 %v, [%p];
    ld.global.u32 %f, [factor];
    mul.lo.u32 %v, %v, %f;
    st.global.u32 [%p], %v;
    ret;
}
.visible .entry outside(.param .u64 p) {
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    st.global.u32 [%p+4096], 1;
    ret;
})";

/// What the program's host code registers. The pointers stand for what they are named after.
class Program {
public:
    Program() {
        wrapper_.data = image_.data();
        handle_ = __cudaRegisterFatBinary(&wrapper_);
        __cudaRegisterFunction(handle_, &scale, nullptr, "scale", -1, nullptr, nullptr, nullptr,
                               nullptr, nullptr);
        __cudaRegisterFunction(handle_, &outside, nullptr, "outside", -1, nullptr, nullptr, nullptr,
                               nullptr, nullptr);
        __cudaRegisterFunction(handle_, &absent, nullptr, "absent", -1, nullptr, nullptr, nullptr,
                               nullptr, nullptr);
        __cudaRegisterVar(handle_, &factor, nullptr, "factor", 0, 4, 0, 0);
        __cudaRegisterVar(handle_, &table, nullptr, "table", 0, 16, 1, 0);
        __cudaRegisterManagedVar(handle_, reinterpret_cast<void**>(&shared_by_all), nullptr,
                                 "shared_by_all", 0, 4, 0, 0);
        __cudaRegisterFatBinaryEnd(handle_);
    }
    ~Program() {
        __cudaUnregisterFatBinary(handle_);
        (void)cudaDeviceReset();
        (void)cudaGetLastError();
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] void** handle() const noexcept { return handle_; }

    char scale = 0, outside = 0, absent = 0, factor = 0, table = 0;
    unsigned* shared_by_all = nullptr;

private:
    std::string image_ = fat_binary({fat_part(fat_ptx, 75, program_ptx)});
    FatWrapper wrapper_;
    void** handle_ = nullptr;
};

}  // namespace lode::test
