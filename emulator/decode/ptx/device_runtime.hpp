// The functions of libcudadevrt.a that cooperative grids need, as PTX: they wait for all blocks of
// the grid. cuda_device_runtime_api.h declares them. The device provides the others.
#pragma once

namespace lode::emulator::ptx {

// Blocks count themselves in; the last one resets the count and starts the next generation. A
// cooperative launch runs all blocks at once, so that those that wait don't keep others out.
inline constexpr const char* device_runtime_ptx = R"(.version 6.0
.target sm_60
.address_size 64
.global .align 4 .u32 lode_grid_arrived;
.global .align 4 .u32 lode_grid_generation;
.visible .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
    .reg .b32 %scope;
    .reg .b64 %handle;
    ld.param.u32 %scope, [scope];
    cvt.u64.u32 %handle, %scope;
    st.param.b64 [result], %handle;
    ret;
}
.visible .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
    .reg .b32 %x, %y, %z, %blocks, %before, %generation;
    .reg .pred %others, %last, %same;
    bar.sync 0;
    mov.u32 %x, %tid.x;
    mov.u32 %y, %tid.y;
    mov.u32 %z, %tid.z;
    or.b32 %x, %x, %y;
    or.b32 %x, %x, %z;
    setp.ne.u32 %others, %x, 0;
    @%others bra DONE;
    mov.u32 %x, %nctaid.x;
    mov.u32 %y, %nctaid.y;
    mov.u32 %z, %nctaid.z;
    mul.lo.u32 %blocks, %x, %y;
    mul.lo.u32 %blocks, %blocks, %z;
    sub.u32 %blocks, %blocks, 1;
    membar.gl;
    ld.volatile.global.u32 %generation, [lode_grid_generation];
    atom.global.add.u32 %before, [lode_grid_arrived], 1;
    setp.eq.u32 %last, %before, %blocks;
    @%last bra RELEASE;
WAIT:
    atom.global.add.u32 %before, [lode_grid_generation], 0;
    setp.eq.u32 %same, %before, %generation;
    @%same bra WAIT;
    bra SEEN;
RELEASE:
    atom.global.exch.b32 %before, [lode_grid_arrived], 0;
    membar.gl;
    atom.global.add.u32 %before, [lode_grid_generation], 1;
SEEN:
    membar.gl;
DONE:
    bar.sync 0;
    mov.u32 %x, 0;
    st.param.b32 [result], %x;
    ret;
}
)";

}  // namespace lode::emulator::ptx
