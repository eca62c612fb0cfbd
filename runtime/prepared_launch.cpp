#include "base/message_text.hpp"
#include "runtime/launch.hpp"
#include "runtime/launch_attributes.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/prepared_launch.hpp>

#include <utility>

namespace LODE_NAMESPACE::detail {

namespace {

std::uintptr_t breadcrumb_of(const KernelState& kernel, const LaunchShape& shape) {
    return StreamState::tag(
        kernel.device->intern({shortened(kernel.name), shape.grid, shape.block}));
}

}  // namespace

/// Immutable once prepared.
struct PreparedState : PreparedCall {
    /// The state of all empty prepared launches.
    PreparedState() noexcept : attributes(shape) {
        plain_device = this;
        stream_state = &empty_stream_state();
    }

    PreparedState(UntypedKernel prepared_kernel, StreamRef prepared_stream,
                  const LaunchShape& prepared_shape, void** prepared_arguments)
        : PreparedCall{.plain_device = prepared_kernel.launchable().device,
                       .stream_state = &prepared_stream.state(),
                       .launch = prepared_kernel.launchable().launch,
                       .function = prepared_kernel.launchable().function,
                       .stream = prepared_stream.native(),
                       .arguments = prepared_arguments,
                       .breadcrumb = breadcrumb_of(prepared_kernel.state(), prepared_shape),
                       .shape = prepared_shape},
          has_attributes(prepared_shape.has_attributes()),
          kernel(std::move(prepared_kernel)),
          attributes(shape),
          config(driver_config(shape, stream, attributes)) {
        shape.attributes = nullptr;  // `attributes` has them; the caller's may be gone.
        if (has_attributes) plain_device = this;
    }
    PreparedState(const PreparedState&) = delete;
    PreparedState& operator=(const PreparedState&) = delete;

    bool has_attributes = false;
    UntypedKernel kernel;
    DriverAttributes attributes;
    CUlaunchConfig config{};

    [[nodiscard]] LaunchInputs as_launch() const noexcept {
        return {kernel.state(), stream, *stream_state, shape, arguments, nullptr};
    }
};

namespace {

PreparedState& empty_prepared_state() noexcept {
    static Permanent<PreparedState> state;
    return state.value;
}

const PreparedState& state_of(const PreparedCall& call) noexcept {
    return static_cast<const PreparedState&>(call);
}

}  // namespace

void PreparedStateDeleter::operator()(PreparedCall* state) const noexcept {
    if (state != &empty_prepared_state()) delete static_cast<PreparedState*>(state);
}

PreparedOwner empty_prepared() noexcept {
    return PreparedOwner(&empty_prepared_state());
}

Result<PreparedOwner> prepare_launch(UntypedKernel kernel, StreamRef stream,
                                     const LaunchShape& shape, void** arguments) {
    LODE_TRY(
        check_launch({kernel.state(), stream.native(), stream.state(), shape, arguments, nullptr}));
    return PreparedOwner(new PreparedState(std::move(kernel), stream, shape, arguments));
}

Status launch_prepared_specially(const PreparedCall& call) {
    const PreparedState& prepared = state_of(call);
    if (!prepared.kernel) return fail_empty("prepared launch");
    DeviceState& device = *prepared.kernel.state().device;
    if (device.is_lost()) return tl::unexpected<Error>(device.lost_error());
    return enqueue_launch(prepared.as_launch(),
                          prepared.has_attributes ? &prepared.config : nullptr);
}

Status prepared_launch_failed(const PreparedCall& call, unsigned result) {
    return launch_failed(state_of(call).kernel.launchable(), *call.stream_state, call.shape,
                         result);
}

const UntypedKernel& kernel_of(const PreparedCall& prepared) noexcept {
    return state_of(prepared).kernel;
}

}  // namespace LODE_NAMESPACE::detail
