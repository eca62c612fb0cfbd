#include "tests/gpu/driver_world.hpp"

#include <lode/base/unwrap.hpp>

#include <stdexcept>
#include <string>

namespace lode::test {
namespace {

constexpr const char* source = R"(.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 counter;
.visible .entry k(.param .u64 address, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [address];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
)";

void require(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) {
        throw std::runtime_error(std::string(what) + " failed with " +
                                 std::to_string(static_cast<int>(result)));
    }
}

}  // namespace

DriverWorld::DriverWorld(const Driver& driver, Owner owner)
    : t(driver.state()->table), driver_(driver), owner_(owner) {
    require(t.cuDeviceGet(&device, 0), "cuDeviceGet");
    if (owner == Owner::device) {
        require(t.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        require(t.cuCtxPushCurrent(context), "cuCtxPushCurrent");
    } else {
        const auto create =
            reinterpret_cast<PFN_cuCtxCreate_v3020>(unwrap(driver.resolve("cuCtxCreate", 3020)));
        require(create(&context, 0, device), "cuCtxCreate");
    }
    require(t.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreate");
    require(t.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
    require(t.cuEventCreate(&unrecorded, CU_EVENT_DEFAULT), "cuEventCreate");
    require(t.cuEventCreate(&timeless, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    require(t.cuEventRecord(event, stream), "cuEventRecord");
    require(t.cuEventRecord(timeless, stream), "cuEventRecord");
    require(t.cuMemAlloc(&memory, bytes), "cuMemAlloc");
    require(t.cuMemHostAlloc(&pinned, bytes, 0), "cuMemHostAlloc");
    require(t.cuLibraryLoadData(&library, source, nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cuLibraryLoadData");
    require(t.cuLibraryGetKernel(&kernel, library, "k"), "cuLibraryGetKernel");
    require(t.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
    require(t.cuGraphCreate(&graph, 0), "cuGraphCreate");
    require(t.cuGraphAddEmptyNode(&node, graph, nullptr, 0), "cuGraphAddEmptyNode");
    require(t.cuGraphInstantiateWithFlags(&graph_exec, graph, 0), "cuGraphInstantiate");
    require(t.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

DriverWorld::~DriverWorld() {
    if (context == nullptr) return;  // It is gone, and everything with it.
    t.cuGraphExecDestroy(graph_exec);
    t.cuGraphDestroy(graph);
    t.cuLibraryUnload(library);
    t.cuMemFreeHost(pinned);
    t.cuMemFree(memory);
    for (CUevent one : {event, unrecorded, timeless})
        t.cuEventDestroy(one);
    t.cuStreamDestroy(stream);
    if (owner_ == Owner::program) {
        destroy_context();
        return;
    }
    CUcontext popped = nullptr;
    t.cuCtxPopCurrent(&popped);
    t.cuDevicePrimaryCtxRelease(device);
}

void DriverWorld::destroy_context() {
    const auto destroy =
        reinterpret_cast<PFN_cuCtxDestroy_v4000>(unwrap(driver_.resolve("cuCtxDestroy", 4000)));
    destroy(context);
}

CUresult DriverWorld::without_context(const std::function<CUresult()>& call) const {
    CUcontext popped = nullptr;
    require(t.cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
    const CUresult result = call();
    require(t.cuCtxPushCurrent(popped), "cuCtxPushCurrent");
    return result;
}

CUresult DriverWorld::load(const void* image) const {
    CUlibrary made = nullptr;
    const CUresult result =
        t.cuLibraryLoadData(&made, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) return result;
    // With lazy loading, only this loads the code.
    CUmodule module = nullptr;
    const CUresult loaded = t.cuLibraryGetModule(&module, made);
    t.cuLibraryUnload(made);
    return loaded;
}

CUresult DriverWorld::launch(unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared) const {
    unsigned value = 1;
    CUdeviceptr address = memory;
    void* parameters[] = {&address, &value};
    const CUresult result = t.cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                                             block_z, shared, stream, parameters, nullptr);
    const CUresult done = t.cuStreamSynchronize(stream);
    return result != CUDA_SUCCESS ? result : done;
}

CUresult DriverWorld::launch_with(const CUlaunchAttribute& attribute, unsigned blocks) const {
    CUlaunchAttribute attributes[] = {attribute};
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    config.attrs = attributes;
    config.numAttrs = 1;
    unsigned value = 1;
    CUdeviceptr address = memory;
    void* parameters[] = {&address, &value};
    const CUresult result = t.cuLaunchKernelEx(&config, function, parameters, nullptr);
    const CUresult done = t.cuStreamSynchronize(stream);
    return result != CUDA_SUCCESS ? result : done;
}

}  // namespace lode::test
