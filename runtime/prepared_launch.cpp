#include "runtime/empty.hpp"
#include "runtime/launch.hpp"
#include "runtime/launch_attributes.hpp"

#include <lode/runtime/prepared_launch.hpp>

#include <utility>

namespace lode::detail {

/// Immutable once prepared. Fields read by every launch come first.
struct PreparedState {
    /// The state of all empty prepared launches: no stream's device is this object.
    PreparedState() noexcept
        : plain_device(this), stream_state(&empty_stream_state()), attributes(shape) {}

    PreparedState(UntypedKernel prepared_kernel, StreamRef prepared_stream,
                  const LaunchShape& prepared_shape, void** prepared_arguments) noexcept
        : plain_device(prepared_kernel.state().device),
          stream_state(&prepared_stream.state()),
          launch(prepared_kernel.state().launch),
          function(prepared_kernel.state().function),
          stream(prepared_stream.native()),
          arguments(prepared_arguments),
          breadcrumb(prepared_kernel.state().breadcrumb),
          shape(prepared_shape),
          has_attributes(prepared_shape.has_attributes()),
          kernel(std::move(prepared_kernel)),
          attributes(shape),
          config(driver_config(shape, stream, attributes)) {
        shape.attributes = nullptr;  // `attributes` has them; the caller's may be gone.
    }
    PreparedState(const PreparedState&) = delete;
    PreparedState& operator=(const PreparedState&) = delete;

    const void* plain_device;  ///< What StreamState::plain_device is if one call is enough.
    StreamState* stream_state;
    PFN_cuLaunchKernel_v4000 launch = nullptr;
    CUfunction function = nullptr;
    CUstream stream = nullptr;
    void** arguments = nullptr;
    const std::string* breadcrumb = nullptr;
    LaunchShape shape;
    bool has_attributes = false;
    UntypedKernel kernel;
    DriverAttributes attributes;
    CUlaunchConfig config{};

    [[nodiscard]] Launch as_launch() const noexcept {
        return {kernel.state(), stream, *stream_state, shape, arguments, nullptr};
    }
};

namespace {

PreparedState& empty_prepared_state() noexcept {
    static Permanent<PreparedState> state;
    return state.value;
}

/// The default stream, a lost device, launches that wait, and empty objects.
[[gnu::noinline]] Status launch_prepared_specially(const PreparedState& prepared) {
    if (!prepared.kernel) return fail_empty("prepared launch");
    DeviceState& device = *prepared.kernel.state().device;
    if (device.is_lost()) return tl::unexpected<Error>(device.lost_error());
    return enqueue_launch(prepared.as_launch(),
                          prepared.has_attributes ? &prepared.config : nullptr);
}

}  // namespace

void PreparedStateDeleter::operator()(PreparedState* state) const noexcept {
    if (state != &empty_prepared_state()) delete state;
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

Status launch_prepared(const PreparedState& prepared) {
    StreamState& stream = *prepared.stream_state;
    if (stream.plain_device.load(std::memory_order_relaxed) != prepared.plain_device) [[unlikely]]
        return launch_prepared_specially(prepared);
    const LaunchShape& shape = prepared.shape;
    const CUresult result =
        prepared.has_attributes
            ? prepared.kernel.state().device->table().cuLaunchKernelEx(
                  &prepared.config, prepared.function, prepared.arguments, nullptr)
            : prepared.launch(prepared.function, shape.grid.x, shape.grid.y, shape.grid.z,
                              shape.block.x, shape.block.y, shape.block.z,
                              shape.dynamic_shared_bytes, prepared.stream, prepared.arguments,
                              nullptr);
    if (result != CUDA_SUCCESS) [[unlikely]] {
        const DriverTable& table = prepared.kernel.state().device->table();
        return launch_failed(
            prepared.as_launch(),
            prepared.has_attributes ? table.cuLaunchKernelEx.name : table.cuLaunchKernel.name,
            result);
    }
    stream.remember(prepared.breadcrumb, shape);
    return success();
}

const UntypedKernel& kernel_of(const PreparedState& prepared) noexcept {
    return prepared.kernel;
}

}  // namespace lode::detail
