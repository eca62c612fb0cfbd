// cuCtx…: creation, the stack of current contexts, and properties of contexts.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

using Contexts = Handles<Context, CUcontext>;

/// CU_LIMIT_CIG_ENABLED, which older headers lack: whether a context is shared with a graphics API.
/// It can be read only; cuBLAS does.
constexpr auto cig_enabled = static_cast<CUlimit>(8);

CUresult create(const char* symbol, CUcontext* out, unsigned flags, CUdevice dev) {
    return enter(symbol, [&]() -> CUresult {
        Driver& state = driver();
        Device* device = state.device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        if (out == nullptr || (flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
        auto context = std::make_shared<Context>(*device, state.next_context_id++, false);
        context->flags = flags;
        context->open();
        ++state.created_contexts;
        *out = state.contexts.add(context);
        current::push({std::move(context), nullptr});
        return CUDA_SUCCESS;
    });
}

CUresult destroy(CUcontext handle) {
    Driver& state = driver();
    const auto context = state.contexts.find(handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->is_primary()) return CUDA_ERROR_INVALID_CONTEXT;
    if (state.contexts.remove(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    --state.created_contexts;
    if (current::top() == context.get()) current::pop();
    context->end();
    return CUDA_SUCCESS;
}

CUresult push(const char* symbol, CUcontext handle) {
    return enter(symbol, [&]() -> CUresult {
        if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
        auto use = find_context(handle);
        if (use.context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        current::push(std::move(use));
        return CUDA_SUCCESS;
    });
}

CUresult pop(const char* symbol, CUcontext* out) {
    return enter_release(symbol, [&]() -> CUresult {
        const auto use = current::pop();
        if (use.context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (out != nullptr) *out = use.native();
        return CUDA_SUCCESS;
    });
}

/// The context of a handle; for a null handle, the current context.
CUresult context_or_current(CUcontext handle, std::shared_ptr<Context>& context) {
    if (handle != nullptr) {
        context = find_context(handle).context;
        return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    }
    Context* top = nullptr;
    if (const CUresult state = current::open_context(top); state != CUDA_SUCCESS) return state;
    context = top->shared_from_this();
    return CUDA_SUCCESS;
}

CUresult synchronize(const char* symbol, CUcontext handle) {
    return enter(symbol, [&]() -> CUresult {
        std::shared_ptr<Context> context;
        if (const CUresult state = context_or_current(handle, context); state != CUDA_SUCCESS)
            return state;
        context->drain();
        driver().trim_pools();
        return context->settle();
    });
}

CUresult get_device(const char* symbol, CUdevice* device, CUcontext handle) {
    return enter(symbol, [&]() -> CUresult {
        if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Context> context;
        if (const CUresult state = context_or_current(handle, context); state != CUDA_SUCCESS)
            return state;
        *device = context->device().ordinal;
        return CUDA_SUCCESS;
    });
}

}  // namespace

LODE_ENTRY cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    return create(__func__, pctx, flags, dev);
}

LODE_ENTRY cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam*, int numParams, unsigned int flags,
                          CUdevice dev) {
    if (numParams != 0) return gate::unsupported(__func__);
    return create(__func__, pctx, flags, dev);
}

LODE_ENTRY cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                          CUdevice dev) {
    if (ctxCreateParams != nullptr &&
        (ctxCreateParams->numExecAffinityParams != 0 || ctxCreateParams->cigParams != nullptr))
        return gate::unsupported(__func__);
    return create(__func__, pctx, flags, dev);
}

LODE_ENTRY cuCtxDestroy_v2(CUcontext ctx) {
    return enter_release(__func__, [&] { return destroy(ctx); });
}

LODE_ENTRY cuCtxAttach(CUcontext* pctx, unsigned int flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (pctx == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
        ++context.attached;
        *pctx = Contexts::native_of(context);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxDetach(CUcontext ctx) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto context = driver().contexts.find(ctx);
        if (context == nullptr || context.get() != current::top())
            return CUDA_ERROR_INVALID_CONTEXT;
        int attached = context->attached;
        while (attached > 1)
            if (context->attached.compare_exchange_weak(attached, attached - 1))
                return CUDA_SUCCESS;
        return destroy(ctx);
    });
}

LODE_ENTRY cuCtxPushCurrent_v2(CUcontext ctx) {
    return push(__func__, ctx);
}

LODE_ENTRY cuCtxPopCurrent_v2(CUcontext* pctx) {
    return pop(__func__, pctx);
}

LODE_ENTRY cuCtxSetCurrent(CUcontext ctx) {
    return enter(__func__, [&]() -> CUresult {
        if (ctx == nullptr) {
            current::set({});
            return CUDA_SUCCESS;
        }
        auto use = find_context(ctx);
        if (use.context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        current::set(std::move(use));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetCurrent(CUcontext* pctx) {
    return enter(__func__, [&]() -> CUresult {
        if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *pctx = current::use().native();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetDevice(CUdevice* device) {
    return get_device(__func__, device, nullptr);
}

LODE_ENTRY cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
    return get_device(__func__, device, ctx);
}

LODE_ENTRY cuCtxSynchronize(void) {
    return synchronize(__func__, nullptr);
}

LODE_ENTRY cuCtxSynchronize_v2(CUcontext ctx) {
    return synchronize(__func__, ctx);
}

LODE_ENTRY cuCtxGetFlags(unsigned int* flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *flags = context.flags;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxSetFlags(unsigned int flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
        context.flags = flags;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
    return enter(__func__, [&]() -> CUresult {
        if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Context> context;
        if (const CUresult state = context_or_current(ctx, context); state != CUDA_SUCCESS)
            return state;
        *ctxId = static_cast<unsigned long long>(context->id());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
    return enter(__func__, [&]() -> CUresult {
        if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Context> context;
        if (const CUresult state = context_or_current(ctx, context); state != CUDA_SUCCESS)
            return state;
        *version = static_cast<unsigned>(reported_version());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (limit != cig_enabled && !Context::has_limit(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        *pvalue = limit == cig_enabled ? 0 : context.limit(limit);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxSetLimit(CUlimit limit, size_t value) {
    return enter_context(__func__,
                         [&](Context& context) { return context.set_limit(limit, value); });
}

LODE_ENTRY cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *pconfig = context.cache_config;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxSetCacheConfig(CUfunc_cache config) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
            return CUDA_ERROR_INVALID_VALUE;
        context.cache_config = config;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxSetSharedMemConfig(CUsharedconfig config) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        const bool known = config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                           config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
        return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

LODE_ENTRY cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
    return enter_context(__func__, [&](Context&) -> CUresult {
        if (leastPriority != nullptr) *leastPriority = least_priority;
        if (greatestPriority != nullptr) *greatestPriority = greatest_priority;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuCtxResetPersistingL2Cache(void) {
    return enter_context(__func__, [](Context&) { return CUDA_SUCCESS; });
}

LODE_ENTRY cuCtxGetExecAffinity(CUexecAffinityParam*, CUexecAffinityType) {
    return enter_context(__func__, [](Context&) { return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY; });
}

// All devices share one address space, so peer access only has to be recorded.

LODE_ENTRY cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto peer = find_context(peerContext).context;
        if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
        if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        if (&peer->device() == &context.device()) return CUDA_ERROR_INVALID_DEVICE;
        return context.enable_peer(*peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    });
}

LODE_ENTRY cuCtxDisablePeerAccess(CUcontext peerContext) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto peer = find_context(peerContext).context;
        if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        return context.disable_peer(*peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    });
}

}  // namespace lode::emulator::driver
