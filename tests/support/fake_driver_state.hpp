// The fake driver's internals: its handles, and one method for every row of symbols.def.
#pragma once

#include "tests/support/fake_driver.hpp"

#include <sys/types.h>

namespace lode::test {

/// The rows of symbols.def as numbers.
enum class Row : std::size_t {
#define X(symbol, version, need) symbol##_row,
#include "runtime/driver/symbols.def"
#undef X
    count
};

struct FakeContext {
    int ordinal = 0;
    int retained = 0;
    bool is_active = false;
    unsigned long long id = 0;
    std::map<CUlimit, std::size_t> limits = {{CU_LIMIT_STACK_SIZE, 1024},
                                             {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
                                             {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
                                             {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
                                             {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
};

struct FakeStream {
    int ordinal = 0;
    unsigned flags = 0;
    int priority = 0;
    bool capturing = false;
    std::map<CUstreamAttrID, CUstreamAttrValue> attributes = {};
};

struct FakeEvent {
    int ordinal = 0;
    int recorded_at = 0;  ///< A tick of the fake's clock; 0 if not recorded.
};

struct FakeLibrary;

struct FakeKernel {
    FakeLibrary* library = nullptr;
    KernelSignature signature;
    std::map<CUfunction_attribute, int> attributes;
};

struct FakeLibrary {
    std::string ptx;
    bool is_cubin = false;
    std::vector<std::unique_ptr<FakeKernel>> kernels;
    std::map<std::string, std::vector<std::byte>> globals;
};

struct Allocation {
    int ordinal = 0;
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
};

struct FakeDriver::State {
    explicit State(Options given, FakeDriver& facade);
    ~State();

    /// Counts the call, then fails it if the script or a fork requires it.
    CUresult enter(Row row, const char* name);

    /// Passes the script's lines about a failed call to the log's callbacks; returns `result`.
    CUresult log_failure(const char* name, CUresult result);

    [[nodiscard]] std::vector<CUcontext>& stack() const;
    [[nodiscard]] FakeContext* current() const;
    CUresult check_current() const;
    CUresult check_stream(CUstream stream) const;
    CUresult check_capture() const;
    [[nodiscard]] FakeContext* context_of(CUcontext context) const;
    [[nodiscard]] bool holds(CUdeviceptr address, std::size_t size) const;
    CUresult copy(void* to, const void* from, std::size_t size) const;
    CUresult launch(FakeLaunch launch, FakeKernel& kernel, void** arguments, void** extra);
    CUresult load(FakeLibrary& library, const void* code, unsigned count, CUjit_option* options,
                  void** values);

    template <class T>
    CUresult fill(CUdeviceptr to, T value, std::size_t count) {
        if (!holds(to, count * sizeof(T))) return CUDA_ERROR_INVALID_VALUE;
        std::fill_n(reinterpret_cast<T*>(to), count, value);
        return CUDA_SUCCESS;
    }

    // One method for every row; the signatures are checked against cudaTypedefs.h.
    CUresult cuGetErrorName(CUresult result, const char** text);
    CUresult cuGetErrorString(CUresult result, const char** text);
    CUresult cuDriverGetVersion(int* version);
    CUresult cuInit(unsigned flags);
    CUresult cuLogsRegisterCallback(CUlogsCallback function, void* data,
                                    CUlogsCallbackHandle* handle);
    CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle);
    CUresult cuDeviceGetCount(int* count);
    CUresult cuDeviceGet(CUdevice* device, int ordinal);
    CUresult cuDeviceGetName(char* name, int size, CUdevice device);
    CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
    CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device);
    CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
    CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device);
    CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
    CUresult cuDevicePrimaryCtxRelease(CUdevice device);
    CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
    CUresult cuCtxGetId(CUcontext context, unsigned long long* id);
    CUresult cuCtxPushCurrent(CUcontext context);
    CUresult cuCtxPopCurrent(CUcontext* context);
    CUresult cuCtxSynchronize();
    CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
    CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit);
    CUresult cuCtxSetLimit(CUlimit limit, std::size_t value);
    CUresult cuCtxResetPersistingL2Cache();
    CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);
    CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
    CUresult cuStreamDestroy(CUstream stream);
    CUresult cuStreamSynchronize(CUstream stream);
    CUresult cuStreamQuery(CUstream stream);
    CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
    CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
    CUresult cuStreamGetCtx(CUstream stream, CUcontext* context);
    CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue* value);
    CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID id,
                                  const CUstreamAttrValue* value);
    CUresult cuStreamCopyAttributes(CUstream to, CUstream from);
    CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data);
    CUresult cuEventCreate(CUevent* event, unsigned flags);
    CUresult cuEventDestroy(CUevent event);
    CUresult cuEventRecord(CUevent event, CUstream stream);
    CUresult cuEventSynchronize(CUevent event);
    CUresult cuEventQuery(CUevent event);
    CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
    CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes);
    CUresult cuMemFree(CUdeviceptr address);
    CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags);
    CUresult cuMemFreeHost(void* address);
    CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);
    CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes);
    CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes);
    CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
    CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                          CUcontext from_context, std::size_t bytes);
    CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes,
                               CUstream stream);
    CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream);
    CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                               CUstream stream);
    CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                               CUcontext from_context, std::size_t bytes, CUstream stream);
    CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count);
    CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, std::size_t count);
    CUresult cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count);
    CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                             CUstream stream);
    CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                              CUstream stream);
    CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream);
    CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options,
                               void** values, unsigned count, CUlibraryOption* library_options,
                               void** library_values, unsigned library_count);
    CUresult cuLibraryUnload(CUlibrary library);
    CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library);
    CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
    CUresult cuLibraryGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library,
                                const char* name);
    CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library);
    CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library);
    CUresult cuKernelGetName(const char** name, CUkernel kernel);
    CUresult cuKernelGetParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                                  std::size_t* size);
    CUresult cuKernelGetParamCount(CUkernel kernel, std::size_t* count);
    CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel);
    CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                                  CUdevice device);
    CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                  CUdevice device);
    CUresult cuFuncLoad(CUfunction function);
    CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, CUstream stream, void** arguments, void** extra);
    CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                              void** extra);
    CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                         int threads, std::size_t shared_bytes);
    CUresult cuOccupancyMaxPotentialBlockSize(int* least_grid, int* block, CUfunction function,
                                              CUoccupancyB2DSize shared_of_block,
                                              std::size_t shared_bytes, int limit);
    CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                          const CUlaunchConfig* config);
    CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function,
                                                const CUlaunchConfig* config);
    CUresult cuOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, CUfunction function,
                                                     int blocks, int threads);

    CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                    void* address, const cuuint64_t* extents,
                                    const cuuint64_t* strides, const cuuint32_t* box,
                                    const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill fill_mode);

    FakeDriver& facade;
    const Options options;
    const pid_t process;
    const std::size_t generation;  ///< Distinguishes this fake's thread state from others'.
    int slot = -1;

    mutable std::recursive_mutex mutex;
    bool initialised = false;
    std::size_t call_count = 0;
    std::map<std::string, std::size_t> calls_by_name;
    std::size_t fail_at = 0;
    CUresult fail_code = CUDA_SUCCESS;
    std::string struck;
    std::map<std::string, CUresult> always;
    std::map<int, CUresult> broken;

    std::vector<std::unique_ptr<FakeContext>> contexts;  ///< By ordinal.
    std::map<CUstream, std::unique_ptr<FakeStream>> streams;
    std::map<CUevent, std::unique_ptr<FakeEvent>> events;
    std::map<CUdeviceptr, Allocation> memory;
    std::map<void*, std::unique_ptr<std::byte[]>> pinned;
    std::map<CUlibrary, std::unique_ptr<FakeLibrary>> libraries;
    struct LogCallback {
        CUlogsCallback function = nullptr;
        void* data = nullptr;
    };
    std::map<CUlogsCallbackHandle, LogCallback> log_callbacks;
    std::uintptr_t last_log_callback = 0;
    std::vector<FakeLaunch> launch_log;
    std::map<CUjit_option, std::uintptr_t> last_jit_options;
    int clock = 0;
    unsigned long long last_context_id = 0;
};

}  // namespace lode::test
