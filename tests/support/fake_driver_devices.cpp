// The fake driver's errors, devices, contexts, streams and events.
#include "tests/support/fake_driver_state.hpp"

#include <algorithm>
#include <cstdio>

namespace lode::test {
namespace {

/// The attributes of a small sm_90; all others are 0.
const std::map<CUdevice_attribute, int>& default_attributes() {
    static const std::map<CUdevice_attribute, int> values = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2619000},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 5120},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 52428800},
        {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
        {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
        {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
        {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
        {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 1 << 20},
        {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 1 << 24},
        {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
    };
    return values;
}

/// This thread's capture mode, shared by all fakes: each thread starts with the driver's default.
CUstreamCaptureMode& capture_mode() {
    thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

template <class Handle, class Value>
Handle handle_of(const std::unique_ptr<Value>& value) {
    return reinterpret_cast<Handle>(value.get());
}

}  // namespace

using State = FakeDriver::State;

CUresult State::check_capture() const {
    const bool any =
        std::ranges::any_of(streams, [](const auto& stream) { return stream.second->capturing; });
    return any && capture_mode() != CU_STREAM_CAPTURE_MODE_RELAXED
               ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
               : CUDA_SUCCESS;
}

CUresult State::cuGetErrorName(CUresult result, const char** text) {
    static const std::map<CUresult, const char*> names = {
        {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {CUDA_ERROR_TIMEOUT, "CUDA_ERROR_TIMEOUT"},
    };
    const auto found = names.find(result);
    if (found == names.end()) return CUDA_ERROR_INVALID_VALUE;
    *text = found->second;
    return CUDA_SUCCESS;
}

CUresult State::cuGetErrorString(CUresult result, const char** text) {
    if (result != CUDA_ERROR_TIMEOUT) return CUDA_ERROR_INVALID_VALUE;
    *text = "wait operation timed out";
    return CUDA_SUCCESS;
}

CUresult State::cuDriverGetVersion(int* version) {
    *version = options.version;
    return CUDA_SUCCESS;
}

CUresult State::cuInit(unsigned) {
    initialised = options.init == CUDA_SUCCESS;
    return options.init;
}

CUresult State::cuDeviceGetCount(int* count) {
    *count = static_cast<int>(options.devices.size());
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceGet(CUdevice* device, int ordinal) {
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= options.devices.size())
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetName(char* name, int size, CUdevice device) {
    std::snprintf(name, static_cast<std::size_t>(size), "%s",
                  options.devices.at(static_cast<std::size_t>(device)).name.c_str());
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    for (std::size_t i = 0; i < sizeof(uuid->bytes); ++i)
        uuid->bytes[i] = static_cast<char>(0xf0 + static_cast<int>(i) - device);
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
    std::snprintf(text, static_cast<std::size_t>(size), "0000:3B:%02X.0", device);
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    const auto& fake = options.devices.at(static_cast<std::size_t>(device));
    *value = 0;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = fake.cc.cc_major();
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) *value = fake.cc.cc_minor();
    for (const auto* table : {&default_attributes(), &fake.attributes}) {
        if (const auto found = table->find(attribute); found != table->end())
            *value = found->second;
    }
    return CUDA_SUCCESS;
}

CUresult State::cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
    *bytes = options.devices.at(static_cast<std::size_t>(device)).memory_bytes;
    return CUDA_SUCCESS;
}

CUresult State::cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    auto& own = contexts.at(static_cast<std::size_t>(device));
    ++own->retained;
    if (!std::exchange(own->is_active, true)) own->id = ++last_context_id;
    *context = handle_of<CUcontext>(own);
    return CUDA_SUCCESS;
}

CUresult State::cuDevicePrimaryCtxRelease(CUdevice device) {
    auto& own = contexts.at(static_cast<std::size_t>(device));
    if (own->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--own->retained == 0) own->is_active = false;
    return CUDA_SUCCESS;
}

CUresult State::cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    *flags = 0;
    *active = contexts.at(static_cast<std::size_t>(device))->is_active ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult State::cuCtxGetId(CUcontext context, unsigned long long* id) {
    const auto* known = context_of(context);
    if (known == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!known->is_active) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *id = known->id;
    return CUDA_SUCCESS;
}

CUresult State::cuCtxPushCurrent(CUcontext context) {
    if (context_of(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    stack().push_back(context);
    return CUDA_SUCCESS;
}

CUresult State::cuCtxPopCurrent(CUcontext* context) {
    if (stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack().back();
    stack().pop_back();
    return CUDA_SUCCESS;
}

CUresult State::cuCtxSynchronize() {
    return check_current();
}

CUresult State::cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    constexpr int most_urgent = -5;
    *least = 0;
    *greatest = most_urgent;
    return check_current();
}

CUresult State::cuCtxGetLimit(std::size_t* value, CUlimit limit) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    const auto found = current()->limits.find(limit);
    if (found == current()->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = found->second;
    return CUDA_SUCCESS;
}

/// Rounds up to 16 bytes, so that the value set and the value read differ.
CUresult State::cuCtxSetLimit(CUlimit limit, std::size_t value) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    const auto found = current()->limits.find(limit);
    if (found == current()->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    constexpr std::size_t unit = 16;
    found->second = (value + unit - 1) / unit * unit;
    return CUDA_SUCCESS;
}

CUresult State::cuCtxResetPersistingL2Cache() {
    return check_current();
}

CUresult State::cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    std::swap(capture_mode(), *mode);
    return CUDA_SUCCESS;
}

CUresult State::cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    auto made = std::make_unique<FakeStream>(FakeStream{current()->ordinal, flags, priority});
    *stream = handle_of<CUstream>(made);
    streams.emplace(*stream, std::move(made));
    return CUDA_SUCCESS;
}

CUresult State::cuStreamDestroy(CUstream stream) {
    return streams.erase(stream) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuStreamSynchronize(CUstream stream) {
    return check_stream(stream);
}

CUresult State::cuStreamQuery(CUstream stream) {
    return check_stream(stream);
}

CUresult State::cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
    return events.contains(event) ? check_stream(stream) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    const auto found = streams.find(stream);
    *status = found != streams.end() && found->second->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
    return check_stream(stream);
}

CUresult State::cuStreamGetCtx(CUstream stream, CUcontext* context) {
    const auto found = streams.find(stream);
    if (found == streams.end()) return CUDA_ERROR_INVALID_HANDLE;
    *context = handle_of<CUcontext>(contexts.at(static_cast<std::size_t>(found->second->ordinal)));
    return CUDA_SUCCESS;
}

CUresult State::cuStreamGetAttribute(CUstream stream, CUstreamAttrID id, CUstreamAttrValue* value) {
    if (const CUresult bad = check_stream(stream); bad != CUDA_SUCCESS) return bad;
    *value = streams.at(stream)->attributes[id];
    return CUDA_SUCCESS;
}

CUresult State::cuStreamSetAttribute(CUstream stream, CUstreamAttrID id,
                                     const CUstreamAttrValue* value) {
    if (const CUresult bad = check_stream(stream); bad != CUDA_SUCCESS) return bad;
    streams.at(stream)->attributes[id] = *value;
    return CUDA_SUCCESS;
}

CUresult State::cuStreamCopyAttributes(CUstream to, CUstream from) {
    if (const CUresult bad = check_stream(to); bad != CUDA_SUCCESS) return bad;
    streams.at(to)->attributes = streams.at(from)->attributes;
    return CUDA_SUCCESS;
}

CUresult State::cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    if (const CUresult bad = check_stream(stream); bad != CUDA_SUCCESS) return bad;
    function(data);
    return CUDA_SUCCESS;
}

CUresult State::cuEventCreate(CUevent* event, unsigned) {
    if (const CUresult bad = check_current(); bad != CUDA_SUCCESS) return bad;
    auto made = std::make_unique<FakeEvent>(FakeEvent{current()->ordinal});
    *event = handle_of<CUevent>(made);
    events.emplace(*event, std::move(made));
    return CUDA_SUCCESS;
}

CUresult State::cuEventDestroy(CUevent event) {
    return events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuEventRecord(CUevent event, CUstream stream) {
    const auto found = events.find(event);
    if (found == events.end()) return CUDA_ERROR_INVALID_HANDLE;
    found->second->recorded_at = ++clock;
    return check_stream(stream);
}

CUresult State::cuEventSynchronize(CUevent event) {
    return events.contains(event) ? check_current() : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuEventQuery(CUevent event) {
    return events.contains(event) ? check_current() : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    const int from = events.at(start)->recorded_at;
    const int to = events.at(end)->recorded_at;
    if (from == 0 || to == 0) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(to - from);
    return CUDA_SUCCESS;
}

}  // namespace lode::test
