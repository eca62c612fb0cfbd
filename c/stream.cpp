#include "c/handles.hpp"

using lode::Status;
using lode::c::guarded;
using lode::c::require;

lode_status lode_stream_create(const lode_device* device, int32_t priority, lode_stream** stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"stream", stream}}));
        LODE_TRY_ASSIGN(auto created, device->device.create_stream({.priority = priority}));
        const lode::StreamRef view = created.ref();  // It stays one of the moved stream.
        *stream = new lode_stream{device->device, std::move(created), view};
        return {};
    });
}

lode_status lode_stream_adopt(const lode_device* device, void* native, lode_stream** stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"native", native}, {"stream", stream}}));
        LODE_TRY_ASSIGN(const auto view,
                        device->device.adopt(static_cast<lode::NativeStream>(native)));
        *stream = new lode_stream{device->device, {}, view};
        return {};
    });
}

void lode_stream_free(lode_stream* stream) {
    delete stream;
}

lode_status lode_stream_sync(const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"stream", stream}}));
        return stream->stream.sync();
    });
}

lode_status lode_stream_is_idle(const lode_stream* stream, int32_t* idle) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"stream", stream}, {"idle", idle}}));
        LODE_TRY_ASSIGN(const bool is_idle, stream->stream.is_idle());
        *idle = is_idle ? 1 : 0;
        return {};
    });
}

lode_status lode_stream_wait(const lode_stream* stream, const lode_event* event) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"stream", stream}, {"event", event}}));
        return stream->stream.wait(event->event);
    });
}

void* lode_stream_native(const lode_stream* stream) {
    return stream == nullptr ? nullptr : stream->stream.native();
}

lode_status lode_event_create(const lode_device* device, lode_event** event) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"event", event}}));
        LODE_TRY_ASSIGN(auto created, device->device.create_event());
        *event = new lode_event{std::move(created)};
        return {};
    });
}

void lode_event_free(lode_event* event) {
    delete event;
}

lode_status lode_event_record(const lode_event* event, const lode_stream* stream) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"event", event}, {"stream", stream}}));
        return event->event.record(stream->stream);
    });
}

lode_status lode_event_sync(const lode_event* event) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"event", event}}));
        return event->event.sync();
    });
}

lode_status lode_event_elapsed(const lode_event* start, const lode_event* end,
                               float* milliseconds) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"start", start}, {"end", end}, {"milliseconds", milliseconds}}));
        LODE_TRY_ASSIGN(*milliseconds, end->event.elapsed_ms_since(start->event));
        return {};
    });
}
