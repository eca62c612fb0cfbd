// cuStream…, cuLaunchHostFunc.
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

using Streams = Handles<Stream, CUstream>;

CUresult create(const char* symbol, CUstream* out, unsigned flags, int priority) {
    return enter_context(symbol, [&](Context& context) -> CUresult {
        if (out == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0)
            return CUDA_ERROR_INVALID_VALUE;
        const auto kind = (flags & CU_STREAM_NON_BLOCKING) != 0 ? Stream::Kind::non_blocking
                                                                : Stream::Kind::blocking;
        const auto green = current::use().green;
        *out = driver().streams.add(
            green != nullptr ? create_stream(*green, kind, priority)
                             : context.create_stream(
                                   kind, std::clamp(priority, greatest_priority, least_priority)));
        return CUDA_SUCCESS;
    });
}

/// Runs a host function on a stream. An exception becomes a context error that is reported once, as
/// the device itself isn't affected.
template <class Function>
void run_foreign(Context& context, std::string_view entry_point, Function&& function) noexcept {
    std::string what = "its type is unknown";
    if (driver().order != nullptr) driver().order->tell_host();  // The function may.
    try {
        const gate::HostFunction scope;
        return function();
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {  // Only a std::exception has a message.
    }
    log::report(
        fmt::format("A host function passed to {} threw an exception: {}. The stream continues, "
                    "and the next call that waits returns CUDA_ERROR_UNKNOWN.",
                    entry_point, what));
    context.fail_once(CUDA_ERROR_UNKNOWN);
}

/// Stores a property of the stream in `out`.
template <class Value, class Get>
CUresult get(const char* symbol, CUstream handle, DefaultStream null_means, Value* out,
             Get&& read) {
    return enter_stream(symbol, handle, null_means, [&](const StreamUse& use) -> CUresult {
        if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *out = read(use);
        return CUDA_SUCCESS;
    });
}

CUresult wait_event(const char* symbol, CUstream handle, DefaultStream null_means, CUevent event,
                    unsigned flags) {
    return enter_stream(symbol, handle, null_means, [&](const StreamUse& use) -> CUresult {
        if ((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
        const auto target = driver().events.find(event);
        if (target == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (const auto captured = driver().graph_tables.captures.wait(
                use, target, (flags & CU_EVENT_WAIT_EXTERNAL) != 0))
            return *captured;
        const auto recording = target->last();
        if (recording == nullptr || recording->point.is_past()) return CUDA_SUCCESS;
        use.context->submit(*use.stream, [] {}, {recording->point});
        return CUDA_SUCCESS;
    });
}

CUresult launch_host(const char* symbol, CUstream stream, DefaultStream default_stream, CUhostFn fn,
                     void* user_data) {
    return enter_stream(symbol, stream, default_stream, [&](const StreamUse& use) -> CUresult {
        if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (const auto captured = driver().graph_tables.captures.add(use, [&] {
                return HostWork{fn, user_data};
            }))
            return *captured;
        use.submit([&context = *use.context, fn, user_data] {
            run_foreign(context, "cuLaunchHostFunc", [&] { fn(user_data); });
        });
        return CUDA_SUCCESS;
    });
}

}  // namespace

void call_host_function(Context& context, std::string_view entry_point, CUhostFn function,
                        void* user) noexcept {
    run_foreign(context, entry_point, [&] { function(user); });
}

CUresult StreamUse::wait_if_blocking() const {
    if (!driver().settings.launches_wait) return CUDA_SUCCESS;
    stream->drain();
    return context->settle();
}

CUresult find_stream(CUstream handle, DefaultStream null_means, StreamUse& use) {
    if (handle == CU_STREAM_LEGACY) null_means = DefaultStream::legacy;
    if (handle == CU_STREAM_PER_THREAD) null_means = DefaultStream::per_thread;
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        Context* top = nullptr;
        if (const CUresult state = current::open_context(top); state != CUDA_SUCCESS) return state;
        use.stream = top->default_stream(null_means);
        use.context = top->shared_from_this();
    } else {
        use.stream = driver().streams.find(handle);
        if (use.stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        use.context = use.stream->shared_context();
        if (use.context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return CUDA_SUCCESS;
}

CUresult resolve_stream(CUstream handle, DefaultStream null_means, StreamUse& use) {
    const CUresult state = find_stream(handle, null_means, use);
    return state == CUDA_SUCCESS ? use.context->error() : state;
}

LODE_ENTRY cuStreamCreate(CUstream* phStream, unsigned int Flags) {
    return create(__func__, phStream, Flags, least_priority);
}

LODE_ENTRY cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
    return create(__func__, phStream, flags, priority);
}

LODE_ENTRY cuStreamDestroy_v2(CUstream hStream) {
    return enter_release(__func__, [&]() -> CUresult {
        if (hStream == nullptr || hStream == CU_STREAM_LEGACY || hStream == CU_STREAM_PER_THREAD)
            return CUDA_ERROR_INVALID_HANDLE;
        const auto stream = driver().streams.remove(hStream);
        if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const auto context = stream->shared_context();
        driver().graph_tables.captures.forget(*stream);
        stream->close(CUDA_ERROR_INVALID_HANDLE);
        return context == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : context->error();
    });
}

LODE_ENTRY_TWINS(cuStreamSynchronize, _ptsz, (CUstream hStream), {
    return enter(__func__, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = find_stream(hStream, default_stream, use); state != CUDA_SUCCESS)
            return state;
        if (const CUresult state = allowed_on(use, "cuStreamSynchronize"); state != CUDA_SUCCESS)
            return state;
        const bool is_legacy = use.stream->kind() == Stream::Kind::legacy;
        // The order of the legacy stream includes all earlier work of blocking streams.
        const CUresult result = is_legacy ? use.context->run(*use.stream, [] {}) : CUDA_SUCCESS;
        use.stream->drain();
        driver().trim_pools();
        return is_legacy ? result : use.context->settle();
    });
})

LODE_ENTRY_TWINS(cuStreamQuery, _ptsz, (CUstream hStream), {
    return enter_stream(__func__, hStream, default_stream, [](const StreamUse& use) -> CUresult {
        const Point end = use.stream->submitted();
        if (!end.reached()) return CUDA_ERROR_NOT_READY;
        end.know();
        return use.context->error();
    });
})

LODE_ENTRY_TWINS(cuStreamWaitEvent, _ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags),
                 { return wait_event(__func__, hStream, default_stream, hEvent, Flags); })

LODE_ENTRY_TWINS(cuStreamGetFlags, _ptsz, (CUstream hStream, unsigned int* flags), {
    return get(__func__, hStream, default_stream, flags, [](const StreamUse& use) -> unsigned {
        return use.stream->kind() == Stream::Kind::non_blocking ? CU_STREAM_NON_BLOCKING
                                                                : CU_STREAM_DEFAULT;
    });
})

LODE_ENTRY_TWINS(cuStreamGetPriority, _ptsz, (CUstream hStream, int* priority), {
    return get(__func__, hStream, default_stream, priority,
               [](const StreamUse& use) { return use.stream->priority(); });
})

LODE_ENTRY_TWINS(cuStreamGetId, _ptsz, (CUstream hStream, unsigned long long* streamId), {
    return get(__func__, hStream, default_stream, streamId,
               [](const StreamUse& use) -> unsigned long long { return use.stream->id(); });
})

LODE_ENTRY_TWINS(cuStreamGetCtx, _ptsz, (CUstream hStream, CUcontext* pctx), {
    return get(__func__, hStream, default_stream, pctx, [](const StreamUse& use) {
        return Handles<Context, CUcontext>::native_of(*use.context);
    });
})

LODE_ENTRY_TWINS(cuStreamGetCtx_v2, _ptsz, (CUstream hStream, CUcontext* pctx, CUgreenCtx* pGreen),
                 {
                     if (pGreen != nullptr) *pGreen = nullptr;
                     return get(__func__, hStream, default_stream, pctx, [&](const StreamUse& use) {
                         if (pGreen != nullptr) *pGreen = green_context_of(*use.stream);
                         return Handles<Context, CUcontext>::native_of(*use.context);
                     });
                 })

LODE_ENTRY_TWINS(cuStreamGetDevice, _ptsz, (CUstream hStream, CUdevice* device), {
    return get(__func__, hStream, default_stream, device,
               [](const StreamUse& use) { return use.context->device().ordinal; });
})

LODE_ENTRY_TWINS(cuLaunchHostFunc, _ptsz, (CUstream hStream, CUhostFn fn, void* userData),
                 { return launch_host(__func__, hStream, default_stream, fn, userData); })

// The mode says how the device waits for the function, which it doesn't.
LODE_ENTRY_TWINS(cuLaunchHostFunc_v2, _ptsz,
                 (CUstream hStream, CUhostFn fn, void* userData, unsigned int syncMode), {
                     constexpr unsigned spins = 1;  // CU_HOST_TASK_SPINWAIT
                     return syncMode > spins
                                ? CUDA_ERROR_INVALID_VALUE
                                : launch_host(__func__, hStream, default_stream, fn, userData);
                 })

LODE_ENTRY_TWINS(cuStreamAddCallback, _ptsz,
                 (CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags),
                 {
                     return enter_stream(
                         __func__, hStream, default_stream, [&](const StreamUse& use) -> CUresult {
                             if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
                             if (const auto refused = driver().graph_tables.captures.refuse(use))
                                 return *refused;
                             Context& context = *use.context;
                             // Unlike a host function, it also runs after an error and receives it.
                             context.submit(*use.stream, [&context, hStream, callback, userData] {
                                 run_foreign(context, "cuStreamAddCallback",
                                             [&] { callback(hStream, context.error(), userData); });
                             });
                             return CUDA_SUCCESS;
                         });
                 })

}  // namespace lode::emulator::driver
