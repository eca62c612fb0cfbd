#include "runtime/state/device_checks.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/stream.hpp>

namespace LODE_NAMESPACE {
namespace detail {

void EventTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuEventDestroy, handle);
}

}  // namespace detail

Status Event::record(StreamRef stream) const {
    if (!handle_) return detail::fail_empty("event");
    const auto& owner = *handle_.owner();
    LODE_TRY(detail::check_stream_of(owner, stream, "event"));
    return detail::call_on_stream(stream.state(), owner.table().cuEventRecord, native(),
                                  stream.native());
}

Status Event::sync() const {
    if (!handle_) return detail::fail_empty("event");
    return detail::call_in_context(*handle_.owner(), handle_.owner()->table().cuEventSynchronize,
                                   native());
}

Result<bool> Event::is_done() const {
    if (!handle_) return detail::fail_empty("event");
    auto done =
        detail::call_in_context(*handle_.owner(), handle_.owner()->table().cuEventQuery, native());
    if (done) return true;
    if (done.error().code == Errc::not_ready) return false;
    return tl::unexpected<Error>(std::move(done).error());
}

Result<float> Event::elapsed_ms_since(const Event& start) const {
    if (!handle_) return detail::fail_empty("event");
    if (!start) return detail::fail_empty("event at the start");
    float milliseconds = 0;
    LODE_TRY(detail::call_in_context(*handle_.owner(), handle_.owner()->table().cuEventElapsedTime,
                                     &milliseconds, start.native(), native()));
    return milliseconds;
}

}  // namespace LODE_NAMESPACE
