// cuEvent…
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/stream/shared_event.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <utility>

namespace lode::emulator::driver {
namespace {

/// enter() with an event: body(const std::shared_ptr<Event>&).
template <class Body>
CUresult enter_event(const char* symbol, CUevent handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto event = driver().events.find(handle);
        return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(event);
    });
}

CUresult record(const char* symbol, CUevent handle, CUstream stream, DefaultStream null_means,
                unsigned flags) {
    return enter_event(symbol, handle, [&](const std::shared_ptr<Event>& event) -> CUresult {
        if ((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
        StreamUse use;
        if (const CUresult state = resolve_stream(stream, null_means, use); state != CUDA_SUCCESS)
            return state;
        if (use.context.get() != &event->context()) return CUDA_ERROR_INVALID_HANDLE;
        if (const auto captured = driver().graph_tables.captures.record(
                use, event, (flags & CU_EVENT_RECORD_EXTERNAL) != 0))
            return *captured;
        event->record(use.stream);
        return CUDA_SUCCESS;
    });
}

/// The time at which a recorded event with timing was reached.
CUresult time_of(CUevent handle, std::int64_t& nanoseconds) {
    const auto event = driver().events.find(handle);
    if (event == nullptr || (event->flags() & CU_EVENT_DISABLE_TIMING) != 0)
        return CUDA_ERROR_INVALID_HANDLE;
    const auto recording = event->last();
    if (recording == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!recording->point.reached()) return CUDA_ERROR_NOT_READY;
    recording->point.know();
    nanoseconds = recording->nanoseconds;
    return event->context().error();
}

CUresult elapsed(const char* symbol, float* milliseconds, CUevent start, CUevent end) {
    return enter(symbol, [&]() -> CUresult {
        if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        std::int64_t from = 0;
        std::int64_t to = 0;
        if (const CUresult state = time_of(start, from); state != CUDA_SUCCESS) return state;
        if (const CUresult state = time_of(end, to); state != CUDA_SUCCESS) return state;
        *milliseconds = static_cast<float>(static_cast<double>(to - from) * 1e-6);
        return CUDA_SUCCESS;
    });
}

}  // namespace

LODE_ENTRY cuEventCreate(CUevent* phEvent, unsigned int Flags) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
        if (phEvent == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const bool interprocess = (Flags & CU_EVENT_INTERPROCESS) != 0;
        if ((Flags & ~(known | CU_EVENT_INTERPROCESS)) != 0 ||
            (interprocess && (Flags & CU_EVENT_DISABLE_TIMING) == 0))
            return CUDA_ERROR_INVALID_VALUE;
        auto shared = interprocess ? SharedEvent::create() : nullptr;
        if (interprocess && shared == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
        *phEvent = driver().events.add(
            std::make_shared<Event>(context.shared_from_this(), Flags, std::move(shared)));
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuEventDestroy_v2(CUevent hEvent) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto event = driver().events.remove(hEvent);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        driver().graph_tables.captures.forget(*event);
        return event->context().error();
    });
}

LODE_ENTRY_TWINS(cuEventRecord, _ptsz, (CUevent hEvent, CUstream hStream),
                 { return record(__func__, hEvent, hStream, default_stream, 0); })

LODE_ENTRY_TWINS(cuEventRecordWithFlags, _ptsz,
                 (CUevent hEvent, CUstream hStream, unsigned int flags),
                 { return record(__func__, hEvent, hStream, default_stream, flags); })

LODE_ENTRY cuEventQuery(CUevent hEvent) {
    return enter_event(__func__, hEvent, [](const std::shared_ptr<Event>& event) -> CUresult {
        if (const CUresult state = driver().graph_tables.captures.check_event(*event);
            state != CUDA_SUCCESS)
            return state;
        const auto recording = event->last();
        if (recording == nullptr) return event->context().error();
        if (!recording->point.reached()) return CUDA_ERROR_NOT_READY;
        recording->point.know();
        return event->context().error();
    });
}

LODE_ENTRY cuEventSynchronize(CUevent hEvent) {
    return enter_event(__func__, hEvent, [](const std::shared_ptr<Event>& event) -> CUresult {
        if (const CUresult state = driver().graph_tables.captures.check_event(*event);
            state != CUDA_SUCCESS)
            return state;
        if (const auto recording = event->last(); recording != nullptr) {
            recording->point.wait();
            recording->point.know();
        }
        driver().trim_pools();
        return event->context().settle();
    });
}

LODE_ENTRY cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
    return elapsed(__func__, pMilliseconds, hStart, hEnd);
}

LODE_ENTRY cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
    return elapsed(__func__, pMilliseconds, hStart, hEnd);
}

}  // namespace lode::emulator::driver
