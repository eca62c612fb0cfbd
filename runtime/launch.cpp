#include "runtime/launch.hpp"

#include "base/align_up.hpp"
#include "base/message_text.hpp"
#include "runtime/launch_attributes.hpp"
#include "runtime/state/empty.hpp"

#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace detail {
namespace {

std::string describe(const KernelState& kernel, const LaunchShape& shape) {
    return fmt::format("launching '{}' with grid {} and block {}", shortened(kernel.name),
                       shape.grid.to_string(), shape.block.to_string());
}

[[gnu::noinline, gnu::cold]] Status call_failed(const KernelState& kernel,
                                                StreamState& stream_state, const LaunchShape& shape,
                                                const char* call, CUresult result) {
    return tl::unexpected<Error>(
        kernel.device->failed(call, result, &stream_state).in(describe(kernel, shape)));
}

[[gnu::noinline, gnu::cold]] Status wrong_device(const LaunchInputs& launch) {
    const DeviceState& of_stream = *launch.stream_state.device;
    if (of_stream.was_reset()) return tl::unexpected<Error>(of_stream.lost_error());
    return fail(Errc::invalid_argument,
                fmt::format("Kernel '{}' is loaded on device {}, but the stream belongs to device "
                            "{}.",
                            shortened(launch.kernel.name), launch.kernel.device->properties.ordinal,
                            launch.stream_state.device->properties.ordinal));
}

/// Reports the limit that a shape exceeds, or opts in to its shared memory.
[[gnu::noinline, gnu::cold]] Status explain_or_opt_in(const LaunchInputs& launch) {
    const auto in_launch = [&](Error error) {
        return std::move(error).in(describe(launch.kernel, launch.shape));
    };
    LODE_TRY(check_limits(launch.kernel, launch.shape).map_error(in_launch));
    if (has_shared_memory_mode(launch.shape)) return success();
    return opt_in_to_shared(launch.kernel, launch.shape.dynamic_shared_bytes).map_error(in_launch);
}

/// Waits for a launch (DeviceState::sync_launches). Returns at once during a capture.
Status wait_for_launch(const LaunchInputs& launch) {
    const auto in_launch = [&](Error error) {
        return std::move(error).in(describe(launch.kernel, launch.shape));
    };
    const auto& table = launch.kernel.device->table();
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    LODE_TRY(call_on_stream(launch.stream_state, table.cuStreamIsCapturing, launch.stream, &capture)
                 .map_error(in_launch));
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE) return success();
    return call_on_stream(launch.stream_state, table.cuStreamSynchronize, launch.stream)
        .map_error(in_launch);
}

/// Whether the attributes ask for something that the device may not support. A priority is only a
/// hint.
bool asks_for_a_feature(const LaunchShape& shape) noexcept {
    return shape.cooperative || shape.programmatic_serialization || shape.cluster != Dim3{} ||
           shape.attributes != nullptr;
}

[[gnu::always_inline]] inline Status check_inline(const LaunchInputs& launch) {
    // NOLINTNEXTLINE(misc-misplaced-const): a binding to a handle.
    const auto& [kernel, stream, stream_state, shape, arguments, packed] = launch;
    if (kernel.device == nullptr) return fail_empty("kernel");
    if (stream_state.device == nullptr) return fail_empty("stream");
    DeviceState& device = *kernel.device;
    if (device.is_lost()) return tl::unexpected<Error>(device.lost_error());
    if (stream_state.device != &device) return wrong_device(launch);
    if (!kernel.fits(shape)) LODE_TRY(explain_or_opt_in(launch));
    if (asks_for_a_feature(shape)) {
        if (auto able = check_features(kernel, shape); !able) [[unlikely]]
            return tl::unexpected<Error>(std::move(able).error().in(describe(kernel, shape)));
    }
    return success();
}

[[gnu::always_inline]] inline Status enqueue_inline(const LaunchInputs& launch,
                                                    const CUlaunchConfig* config) {
    // NOLINTNEXTLINE(misc-misplaced-const): a binding to a handle.
    const auto& [kernel, stream, stream_state, shape, arguments, packed] = launch;
    DeviceState& device = *kernel.device;
    std::optional<CurrentContext> scope;
    if (stream == nullptr || stream == CU_STREAM_PER_THREAD) {
        // A default stream is one of the thread's current context.
        LODE_TRY_ASSIGN(CurrentContext entered, CurrentContext::enter(device));
        scope.emplace(std::move(entered));
    }
    const auto& table = device.table();
    if (config != nullptr) {
        const CUresult result = table.cuLaunchKernelEx(config, kernel.function, arguments, packed);
        if (result != CUDA_SUCCESS) [[unlikely]] {
            return call_failed(kernel, stream_state, shape, table.cuLaunchKernelEx.name, result);
        }
    } else {
        const unsigned result = kernel.launch(
            kernel.function, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
            shape.block.z, shape.dynamic_shared_bytes, stream, arguments, packed);
        if (result != CUDA_SUCCESS) [[unlikely]]
            return launch_failed(kernel, stream_state, shape, result);
    }
    stream_state.remember(kernel.breadcrumb, shape.grid, shape.block);
    return device.sync_launches ? wait_for_launch(launch) : success();
}

}  // namespace

namespace {

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(LaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, dynamic_shared_bytes) ==
              offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

// Separate functions, so that one path doesn't pay for the other's stack frame.

/// Whether a launch with these attributes is more than the driver's call with a configuration.
[[gnu::always_inline]] inline bool needs_a_check(const KernelState& kernel,
                                                 const LaunchShape& shape) noexcept {
    return shape.cooperative || shape.cluster != Dim3{} || shape.attributes != nullptr ||
           (shape.programmatic_serialization && !has_programmatic_launches(*kernel.device));
}

/// The driver's call with a configuration, on a stream that needs nothing else.
[[gnu::always_inline]] inline Status launch_configured(const KernelState& kernel,
                                                       StreamState& stream_state,
                                                       const SpecialLaunch& launch,
                                                       void** arguments, void** packed) {
    const auto& entry = kernel.device->table().cuLaunchKernelEx;
    const CUresult result = entry(reinterpret_cast<const CUlaunchConfig*>(&launch.config),
                                  kernel.function, arguments, packed);
    if (result != CUDA_SUCCESS) [[unlikely]]
        return call_failed(kernel, stream_state, launch.shape, entry.name, result);
    stream_state.remember(kernel.breadcrumb, launch.shape.grid, launch.shape.block);
    return success();
}

/// A launch that only its attributes keep from being plain.
[[gnu::noinline]] Status launch_with_attributes(const KernelState& kernel,
                                                StreamState& stream_state, SpecialLaunch& launch,
                                                void** arguments, void** packed) {
    if (auto able = check_features(kernel, launch.shape); !able) [[unlikely]]
        return tl::unexpected<Error>(std::move(able).error().in(describe(kernel, launch.shape)));
    DriverAttributes attributes(launch.shape);
    launch.config.attributes = attributes.data();
    launch.config.attribute_count = attributes.count();
    return launch_configured(kernel, stream_state, launch, arguments, packed);
}

/// Any launch.
[[gnu::noinline]] Status check_and_launch(const KernelState& kernel, StreamState& stream_state,
                                          const SpecialLaunch& special, void** arguments,
                                          void** packed) {
    const LaunchShape& shape = special.shape;
    const LaunchInputs launch{kernel, special.config.stream, stream_state, shape, arguments,
                              packed};
    if (auto checked = check_inline(launch); !checked) [[unlikely]]
        return checked;
    if (!shape.has_attributes()) return enqueue_inline(launch, nullptr);
    DriverAttributes attributes(shape);
    const CUlaunchConfig config = driver_config(shape, special.config.stream, attributes);
    return enqueue_inline(launch, &config);
}

}  // namespace

[[gnu::noinline]] Status launch_specially(const LaunchableKernel& launchable,
                                          StreamState& stream_state, SpecialLaunch& launch,
                                          void** arguments, void** packed) {
    const auto& kernel = static_cast<const KernelState&>(launchable);
    const LaunchShape& shape = launch.shape;
    const bool is_ready =
        stream_state.plain_device.load(std::memory_order_relaxed) == kernel.device &&
        kernel.fits(shape);
    if (!is_ready) [[unlikely]]
        return check_and_launch(kernel, stream_state, launch, arguments, packed);
    if (needs_a_check(kernel, shape))
        return launch_with_attributes(kernel, stream_state, launch, arguments, packed);
    // None is set if another thread has just made the launch plain: by opting in to shared memory.
    std::array<CUlaunchAttribute, 2> attributes;  // Only what the driver reads is set.
    unsigned count = 0;
    if (shape.programmatic_serialization) {
        attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attributes[0].value.programmaticStreamSerializationAllowed = 1;
        count = 1;
    }
    if (shape.priority) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attributes[count].value.priority = *shape.priority;
        ++count;
    }
    launch.config.attributes = attributes.data();
    launch.config.attribute_count = count;
    return launch_configured(kernel, stream_state, launch, arguments, packed);
}

[[gnu::noinline, gnu::cold]] Status launch_failed(const LaunchableKernel& kernel,
                                                  StreamState& stream_state,
                                                  const LaunchShape& shape, unsigned result) {
    return call_failed(static_cast<const KernelState&>(kernel), stream_state, shape,
                       kernel.device->table().cuLaunchKernel.name, static_cast<CUresult>(result));
}

Status check_launch(const LaunchInputs& launch) {
    return check_inline(launch);
}

Status enqueue_launch(const LaunchInputs& launch, const CUlaunchConfig* config) {
    return enqueue_inline(launch, config);
}

}  // namespace detail

namespace {

/// Whether every argument has the offset and size of the kernel's parameter.
bool same_slots(const std::vector<ParameterSlot>& a, const std::vector<ParameterSlot>& b) noexcept {
    static_assert(std::has_unique_object_representations_v<ParameterSlot>);
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(ParameterSlot)) == 0);
}

[[gnu::noinline, gnu::cold]] Status wrong_count(const detail::KernelState& kernel,
                                                std::size_t given) {
    return fail(Errc::invalid_argument,
                fmt::format("Kernel '{}' takes {} argument(s), but {} are passed.",
                            shortened(kernel.name), kernel.parameters.size(), given));
}

/// Reports the first argument whose offset or size differs from the kernel's parameter.
[[gnu::noinline, gnu::cold]] Status wrong_slot(const detail::KernelState& kernel,
                                               const PackedArguments& arguments) {
    const auto [expected, given] = std::ranges::mismatch(kernel.parameters, arguments.slots());
    return fail(
        Errc::invalid_argument,
        fmt::format("Argument {} of kernel '{}' has {} bytes at offset {}, but the kernel's "
                    "parameter has {} bytes at offset {}.",
                    expected - kernel.parameters.begin() + 1, shortened(kernel.name), given->size,
                    given->offset, expected->size, expected->offset));
}

}  // namespace

Status UntypedKernel::launch(StreamRef stream, const LaunchShape& shape,
                             std::span<void*> arguments) const {
    if (state_->parameters_known && arguments.size() != state_->parameters.size()) [[unlikely]]
        return wrong_count(*state_, arguments.size());
    return detail::launch_inline(*launchable_, stream.native(), stream.state(), shape,
                                 arguments.data(), nullptr);
}

static_assert(CU_LAUNCH_PARAM_END_AS_INT == 0 && CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1 &&
              CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2);  // As detail::launch_packed() has them.

Status UntypedKernel::check_arguments(const PackedArguments& arguments) const {
    if (state_->parameters_known && !same_slots(arguments.slots(), state_->parameters)) {
        return arguments.count() != state_->parameters.size()
                   ? wrong_count(*state_, arguments.count())
                   : wrong_slot(*state_, arguments);
    }
    arguments.fits_.set(state_->number);
    return success();
}

std::string Dim3::to_string() const {
    return fmt::format("({}, {}, {})", x, y, z);
}

Status PackedArguments::add_bytes(const void* value, std::size_t size, std::size_t align) {
    constexpr std::size_t largest_align = 16;
    if (!std::has_single_bit(align) || align > largest_align) {
        return fail(Errc::invalid_argument,
                    fmt::format("Alignment {} of argument {} isn't a power of two up to {}.", align,
                                count() + 1, largest_align));
    }
    const std::size_t offset = align_up(bytes_.size(), align);
    if (size > max_bytes || offset > max_bytes - size) {
        return fail(Errc::invalid_argument,
                    fmt::format("Argument {} ends at byte {}, past the {} bytes that kernel "
                                "parameters may occupy.",
                                count() + 1, offset + size, max_bytes));
    }
    bytes_.resize(offset + size);
    if (size != 0) std::memcpy(bytes_.data() + offset, value, size);
    slots_.push_back({offset, size});
    fits_.set(0);
    return {};
}

}  // namespace LODE_NAMESPACE
