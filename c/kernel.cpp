#include "c/handles.hpp"

#include <algorithm>

#include <fmt/format.h>

using lode::Errc;
using lode::fail;
using lode::Status;
using lode::c::guarded;
using lode::c::read_struct;
using lode::c::require;
using lode::c::write_struct;

namespace LODE_NAMESPACE::c {

lode_kernel* new_kernel(UntypedKernel kernel, Device device) {
    auto slots = kernel.parameters();
    std::optional<std::vector<ParameterSlot>> parameters;
    if (slots) parameters = *std::move(slots);
    return new lode_kernel{std::move(kernel), std::move(device), std::move(parameters)};
}

}  // namespace LODE_NAMESPACE::c

namespace {

lode::Dim3 to_extents(const uint32_t (&extents)[3]) {
    const auto at_least_one = [](uint32_t extent) { return std::max<uint32_t>(extent, 1); };
    return {at_least_one(extents[0]), at_least_one(extents[1]), at_least_one(extents[2])};
}

/// Compares the arguments of a launch with the kernel's parameters.
Status check_arguments(const lode_kernel& kernel, const void* const* arguments, const size_t* sizes,
                       size_t count) {
    const std::string& name = kernel.kernel.name();
    if (kernel.parameters && kernel.parameters->size() != count) {
        return fail(Errc::invalid_argument,
                    fmt::format("The launch has {} arguments, but {} takes {}.", count, name,
                                kernel.parameters->size()));
    }
    if (count != 0) LODE_TRY(require({{"arguments", arguments}, {"sizes", sizes}}));
    for (size_t i = 0; i < count; ++i) {
        if (arguments[i] == nullptr)
            return fail(Errc::invalid_argument, fmt::format("arguments[{}] is NULL.", i));
        if (kernel.parameters && (*kernel.parameters)[i].size != sizes[i]) {
            return fail(Errc::invalid_argument,
                        fmt::format("Argument {} has {} bytes, but that parameter of {} has {}.",
                                    i + 1, sizes[i], name, (*kernel.parameters)[i].size));
        }
    }
    return {};
}

}  // namespace

lode_status lode_library_load(const lode_device* device, const lode_image* image,
                              lode_library** library) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"device", device}, {"image", image}, {"library", library}}));
        LODE_TRY_ASSIGN(auto loaded, device->device.load(image->image));
        *library = new lode_library{std::move(loaded), device->device};
        return {};
    });
}

void lode_library_free(lode_library* library) {
    delete library;
}

lode_status lode_library_kernel(const lode_library* library, const char* name,
                                lode_kernel** kernel) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"library", library}, {"name", name}, {"kernel", kernel}}));
        LODE_TRY_ASSIGN(auto found, library->library.kernel(name));
        *kernel = lode::c::new_kernel(std::move(found), library->device);
        return {};
    });
}

lode_status lode_library_global(const lode_library* library, const char* name, uint64_t* address,
                                size_t* size) {
    return guarded([&]() -> Status {
        LODE_TRY(
            require({{"library", library}, {"name", name}, {"address", address}, {"size", size}}));
        LODE_TRY_ASSIGN(const auto variable, library->library.global(name));
        *address = variable.address;
        *size = variable.size;
        return {};
    });
}

void lode_kernel_free(lode_kernel* kernel) {
    delete kernel;
}

lode_status lode_kernel_get_attributes(const lode_kernel* kernel,
                                       lode_kernel_attributes* attributes) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"kernel", kernel}, {"attributes", attributes}}));
        const lode::KernelAttributes& from = kernel->kernel.attributes();
        lode_kernel_attributes to{};
        to.registers = from.registers;
        to.max_threads_per_block = from.max_threads_per_block;
        to.static_shared = from.static_shared_bytes;
        to.local = from.local_bytes;
        to.max_dynamic_shared = from.max_dynamic_shared_bytes;
        return write_struct("lode_kernel_attributes", to, attributes);
    });
}

lode_status lode_kernel_parameters(const lode_kernel* kernel, size_t* sizes, size_t capacity,
                                   size_t* count) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"kernel", kernel}, {"count", count}}));
        if (capacity != 0) LODE_TRY(require({{"sizes", sizes}}));
        LODE_TRY_ASSIGN(const auto slots, kernel->kernel.parameters());
        for (size_t i = 0; i < std::min(capacity, slots.size()); ++i)
            sizes[i] = slots[i].size;
        *count = slots.size();
        return {};
    });
}

void* lode_kernel_native(const lode_kernel* kernel) {
    return kernel == nullptr ? nullptr : kernel->kernel.native();
}

lode_status lode_kernel_launch(const lode_kernel* kernel, const lode_stream* stream,
                               const lode_shape* shape, const void* const* arguments,
                               const size_t* sizes, size_t count) {
    return guarded([&]() -> Status {
        LODE_TRY(require({{"kernel", kernel}, {"shape", shape}}));
        LODE_TRY_ASSIGN(const auto given, read_struct("lode_shape", shape));
        LODE_TRY(check_arguments(*kernel, arguments, sizes, count));
        lode::LaunchShape launch;
        launch.grid = to_extents(given.grid);
        launch.block = to_extents(given.block);
        launch.cluster = to_extents(given.cluster);
        launch.dynamic_shared_bytes = given.dynamic_shared;
        launch.cooperative = given.cooperative != 0;
        // The driver changes neither the pointers nor the values.
        const std::span<void*> values(const_cast<void**>(arguments), count);
        const auto on = stream != nullptr ? stream->stream : kernel->device.default_stream();
        return kernel->kernel.launch(on, launch, values);
    });
}
