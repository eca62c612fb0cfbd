#include "runtime/device_state.hpp"

#include <lode/runtime/stream.hpp>

#include <exception>
#include <utility>

namespace lode {
namespace detail {

void StreamTraits::destroy(Handle handle, const Owner& owner) noexcept {
    destroy_in_context(*owner, owner->table().cuStreamDestroy, handle);
}

namespace {

/// A host function on its way through a stream. The driver runs it once or, after a device error,
/// never: it stays allocated then, in a process that has to be restarted anyway.
struct HostCall {
    std::function<void()> function;
    Log log;

    static void CUDA_CB run(void* argument) noexcept {
        const std::unique_ptr<HostCall> call(static_cast<HostCall*>(argument));
        try {
            call->function();
        } catch (const std::exception& thrown) {
            call->log.write(LogLevel::error,
                            std::string("A host function on a stream throws: ") + thrown.what());
        } catch (...) {
            call->log.write(LogLevel::error, "A host function on a stream throws.");
        }
    }
};

}  // namespace
}  // namespace detail

Status StreamRef::sync() const {
    return detail::call_on_stream(*state_, state_->device->table().cuStreamSynchronize, native_);
}

Result<bool> StreamRef::is_idle() const {
    const auto& device = *state_->device;
    auto done = detail::call_on_stream(*state_, device.table().cuStreamQuery, native_);
    if (done) return true;
    if (done.error().code == Errc::not_ready) return false;
    return tl::unexpected<Error>(std::move(done).error());
}

Status StreamRef::wait(const Event& event) const {
    return detail::call_on_stream(*state_, state_->device->table().cuStreamWaitEvent, native_,
                                  event.native(), 0U);
}

Result<bool> StreamRef::is_capturing() const {
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
    const auto& device = *state_->device;
    auto call = std::make_unique<detail::HostCall>(
        detail::HostCall{std::move(function), device.driver->log});
    LODE_TRY(detail::call_on_stream(*state_, device.table().cuLaunchHostFunc, native_,
                                    &detail::HostCall::run, static_cast<void*>(call.get())));
    (void)call.release();  // The driver hands it to run().
    return {};
}

Stream::Stream(UniqueHandle<detail::StreamTraits> handle,
               std::unique_ptr<detail::StreamState> state) noexcept
    : handle_(std::move(handle)), state_(std::move(state)) {}

Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
    state_ = std::move(other.state_);
    handle_ = std::move(other.handle_);
    return *this;
}

}  // namespace lode
