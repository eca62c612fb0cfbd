#include "runtime/kernel_state.hpp"

#include <lode/runtime/kernel.hpp>
#include <lode/runtime/launch.hpp>

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace lode {
namespace detail {
namespace {

CUfunction as_function(CUkernel kernel) noexcept {
    return reinterpret_cast<CUfunction>(kernel);  // cuLaunchKernel takes either.
}

/// The launch attributes of a shape, on the stack.
class Attributes {
public:
    explicit Attributes(const LaunchShape& shape) noexcept {
        if (shape.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
        if (shape.programmatic_serialization) {
            add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
                .programmaticStreamSerializationAllowed = 1;
        }
        if (shape.cluster != Dim3{}) {
            auto& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
            cluster.x = shape.cluster.x;
            cluster.y = shape.cluster.y;
            cluster.z = shape.cluster.z;
        }
        if (shape.priority) add(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *shape.priority;
    }

    CUlaunchAttribute* data() noexcept { return attributes_.data(); }
    [[nodiscard]] unsigned count() const noexcept { return count_; }

private:
    static constexpr std::size_t most = 4;

    CUlaunchAttributeValue& add(CUlaunchAttributeID id) noexcept {
        auto& attribute = attributes_[count_++];
        attribute.id = id;
        return attribute.value;
    }

    std::array<CUlaunchAttribute, most> attributes_{};
    unsigned count_ = 0;
};

CUresult launch_with_attributes(const KernelState& kernel, CUstream stream,
                                const LaunchShape& shape, void** arguments, void** packed) {
    Attributes attributes(shape);
    CUlaunchConfig config{};
    config.gridDimX = shape.grid.x;
    config.gridDimY = shape.grid.y;
    config.gridDimZ = shape.grid.z;
    config.blockDimX = shape.block.x;
    config.blockDimY = shape.block.y;
    config.blockDimZ = shape.block.z;
    config.sharedMemBytes = shape.dynamic_shared_bytes;
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = attributes.count();
    return kernel.device->table().cuLaunchKernelEx(&config, as_function(kernel.handle), arguments,
                                                   packed);
}

CUresult launch_plainly(const KernelState& kernel, CUstream stream, const LaunchShape& shape,
                        void** arguments, void** packed) {
    return kernel.launch(as_function(kernel.handle), shape.grid.x, shape.grid.y, shape.grid.z,
                         shape.block.x, shape.block.y, shape.block.z, shape.dynamic_shared_bytes,
                         stream, arguments, packed);
}

std::string describe(const KernelState& kernel, const LaunchShape& shape) {
    return fmt::format("launching '{}' with grid {} and block {}", kernel.name,
                       shape.grid.to_string(), shape.block.to_string());
}

/// The driver refuses a launch, or tells of an earlier kernel's error.
[[gnu::noinline, gnu::cold]] Status launch_failed(const KernelState& kernel,
                                                  const StreamRef& stream, const LaunchShape& shape,
                                                  const char* call, CUresult result) {
    return tl::unexpected<Error>(
        kernel.device->failed(call, result, &stream.state()).in(describe(kernel, shape)));
}

/// What the fast test doesn't cover, in full: checks, opting in, attributes, the default stream,
/// waiting after the launch.
[[gnu::noinline]] Status launch_slowly(const KernelState& kernel, const StreamRef& stream,
                                       const LaunchShape& shape, void** arguments, void** packed) {
    DeviceState& device = *kernel.device;
    if (device.is_lost()) return tl::unexpected<Error>(device.lost_error());
    if (stream.state().device != &device) {
        return fail(Errc::invalid_argument,
                    fmt::format("Kernel '{}' is loaded on device {}, but the stream belongs to "
                                "device {}.",
                                kernel.name, device.properties.ordinal,
                                stream.state().device->properties.ordinal));
    }
    const auto in_launch = [&](Error error) {
        return std::move(error).in(describe(kernel, shape));
    };
    LODE_TRY(explain_shape(kernel, shape).map_error(in_launch));
    LODE_TRY(opt_in_to_shared(kernel, shape.dynamic_shared_bytes).map_error(in_launch));
    if (shape.cooperative) LODE_TRY(check_residency(kernel, shape).map_error(in_launch));

    std::optional<CurrentContext> scope;
    if (stream.native() == nullptr) {
        // The default stream takes its context from the thread.
        LODE_TRY_ASSIGN(CurrentContext entered, CurrentContext::enter(device));
        scope.emplace(std::move(entered));
    }
    const bool with_attributes = shape.has_attributes();
    const auto launch_now = with_attributes ? &launch_with_attributes : &launch_plainly;
    const CUresult result = launch_now(kernel, stream.native(), shape, arguments, packed);
    if (result != CUDA_SUCCESS) {
        const auto& table = device.table();
        return launch_failed(
            kernel, stream, shape,
            with_attributes ? table.cuLaunchKernelEx.name : table.cuLaunchKernel.name, result);
    }
    stream.state().remember(kernel.breadcrumb, shape);
    if (!device.sync_launches) return {};
    LODE_TRY_ASSIGN(const bool capturing, stream.is_capturing().map_error(in_launch));
    return capturing ? Status{} : stream.sync().map_error(in_launch);
}

}  // namespace

Status launch(const KernelState& kernel, const StreamRef& stream, const LaunchShape& shape,
              void** arguments, void** packed) {
    StreamState& state = stream.state();
    const bool is_plain =
        kernel.limits.fit(shape.grid, shape.block) &&
        shape.dynamic_shared_bytes <= kernel.shared_ready.load(std::memory_order_relaxed) &&
        state.device == kernel.device && stream.native() != nullptr && !shape.has_attributes() &&
        !kernel.device->slow_launches.load(std::memory_order_relaxed);
    if (!is_plain) [[unlikely]]
        return launch_slowly(kernel, stream, shape, arguments, packed);

    const CUresult result = launch_plainly(kernel, stream.native(), shape, arguments, packed);
    if (result != CUDA_SUCCESS) [[unlikely]] {
        return launch_failed(kernel, stream, shape, kernel.device->table().cuLaunchKernel.name,
                             result);
    }
    state.remember(kernel.breadcrumb, shape);
    return {};
}

}  // namespace detail

namespace {

Status check_count(const detail::KernelState& kernel, std::size_t given) {
    if (!kernel.parameters_known || given == kernel.parameters.size()) [[likely]]
        return {};
    return fail(Errc::invalid_argument,
                fmt::format("Kernel '{}' takes {} argument(s), but {} are passed.", kernel.name,
                            kernel.parameters.size(), given));
}

/// The first argument that doesn't lie where the kernel's parameter does.
Status check_slots(const detail::KernelState& kernel, const PackedArguments& arguments) {
    if (!kernel.parameters_known) return {};
    for (std::size_t i = 0; i < arguments.count(); ++i) {
        const ParameterSlot given{arguments.offset(i), arguments.size(i)};
        const ParameterSlot& expected = kernel.parameters[i];
        if (given == expected) [[likely]]
            continue;
        return fail(
            Errc::invalid_argument,
            fmt::format("Argument {} of kernel '{}' has {} bytes at offset {}, but the "
                        "kernel's parameter has {} bytes at offset {}.",
                        i, kernel.name, given.size, given.offset, expected.size, expected.offset));
    }
    return {};
}

}  // namespace

Status UntypedKernel::launch(StreamRef stream, const LaunchShape& shape,
                             std::span<void*> arguments) const {
    LODE_TRY(check_count(*state_, arguments.size()));
    return detail::launch(*state_, stream, shape, arguments.data(), nullptr);
}

Status UntypedKernel::launch(StreamRef stream, const LaunchShape& shape,
                             const PackedArguments& arguments) const {
    LODE_TRY(check_count(*state_, arguments.count()));
    LODE_TRY(check_slots(*state_, arguments));
    std::size_t size = arguments.size_bytes();
    void* packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte*>(arguments.data()),
                      CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    return detail::launch(*state_, stream, shape, nullptr, size == 0 ? nullptr : packed);
}

std::string Dim3::to_string() const {
    return fmt::format("({}, {}, {})", x, y, z);
}

Status PackedArguments::add_bytes(const void* value, std::size_t size, std::size_t align) {
    constexpr std::size_t largest_align = 16;
    if (!std::has_single_bit(align) || align > largest_align) {
        return fail(Errc::invalid_argument,
                    fmt::format("Alignment {} of argument {} isn't a power of two up to {}.", align,
                                count(), largest_align));
    }
    const std::size_t offset = (bytes_.size() + align - 1) & ~(align - 1);
    if (size > max_bytes || offset > max_bytes - size) {
        return fail(Errc::invalid_argument,
                    fmt::format("Argument {} ends at byte {}, past the {} bytes that kernel "
                                "parameters may occupy.",
                                count(), offset + size, max_bytes));
    }
    bytes_.resize(offset + size);
    if (size != 0) std::memcpy(bytes_.data() + offset, value, size);
    slots_.push_back({offset, size});
    return {};
}

}  // namespace lode
