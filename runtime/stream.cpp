#include "runtime/state/device_state.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>

#include <utility>

namespace LODE_NAMESPACE {
namespace detail {

void StreamTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuStreamDestroy, handle);
}

namespace {

constinit Permanent<StreamState> empty_stream;

/// Fails if the stream is empty.
Status check_stream_present(const StreamState& stream) {
    if (stream.device != nullptr) [[likely]]
        return {};
    return fail_empty("stream");
}

}  // namespace

StreamState& empty_stream_state() noexcept {
    return empty_stream.value;
}

void StreamStateDeleter::operator()(StreamState* state) const noexcept {
    if (state != &empty_stream_state()) delete state;
}

}  // namespace detail

Status StreamRef::sync() const {
    LODE_TRY(detail::check_stream_present(*state_));
    return detail::call_on_stream(*state_, state_->device->table().cuStreamSynchronize, native_);
}

Result<bool> StreamRef::is_idle() const {
    LODE_TRY(detail::check_stream_present(*state_));
    const auto& device = *state_->device;
    auto done = detail::call_on_stream(*state_, device.table().cuStreamQuery, native_);
    if (done) return true;
    if (done.error().code == Errc::not_ready) return false;
    return tl::unexpected<Error>(std::move(done).error());
}

Status StreamRef::wait(const Event& event) const {
    LODE_TRY(detail::check_stream_present(*state_));
    if (!event) return detail::fail_empty("event");
    return detail::call_on_stream(*state_, state_->device->table().cuStreamWaitEvent, native_,
                                  event.native(), 0U);
}

Result<bool> StreamRef::is_capturing() const {
    LODE_TRY(detail::check_stream_present(*state_));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    LODE_TRY(detail::call_on_stream(*state_, state_->device->table().cuStreamIsCapturing, native_,
                                    &status));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Status StreamRef::call_on_host(std::function<void()> function) const {
    if (!function) {
        return fail(Errc::invalid_argument, "A host function on a stream must not be empty.");
    }
    LODE_TRY_ASSIGN(const bool capturing, is_capturing());
    if (capturing) {
        return fail(Errc::capture_active,
                    "A host function can't be captured: it runs once, a graph runs many times.");
    }
    auto& device = *state_->device;
    detail::HostCall* const call = device.host_calls.add(std::move(function));
    auto enqueued = detail::call_on_stream(*state_, device.table().cuLaunchHostFunc, native_,
                                           &detail::HostCall::run, static_cast<void*>(call));
    if (!enqueued) device.host_calls.remove(call);
    return enqueued;
}

Result<StreamPriorities> stream_priorities(const Device& device) {
    auto& state = *device.state();
    StreamPriorities range;
    LODE_TRY(detail::call_in_context(state, state.table().cuCtxGetStreamPriorityRange, &range.least,
                                     &range.greatest));
    return range;
}

Stream::Stream(UniqueHandle<detail::StreamTraits> handle,
               std::unique_ptr<detail::StreamState> state) noexcept
    : handle_(std::move(handle)), state_(state.release()) {}

Stream::Stream() noexcept : state_(&detail::empty_stream_state()) {}
Stream::~Stream() = default;
Stream::Stream(Stream&& other) noexcept : Stream() {
    std::swap(state_, other.state_);
    std::swap(handle_, other.handle_);
}

Stream& Stream::operator=(Stream&& other) noexcept {
    Stream taken(std::move(other));
    std::swap(state_, taken.state_);
    std::swap(handle_, taken.handle_);
    return *this;
}

NativeStream Stream::release() && noexcept {
    Stream emptied(std::move(*this));
    return emptied.handle_.release();
}

}  // namespace LODE_NAMESPACE
