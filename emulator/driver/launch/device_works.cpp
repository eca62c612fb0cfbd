#include "emulator/driver/launch/device_works.hpp"

#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/code/functions.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/launch/launch_shape.hpp"
#include "emulator/driver/memory/copies.hpp"
#include "emulator/driver/runtime_errors.hpp"

#include <cstring>
#include <iterator>
#include <utility>

#include <cuda_runtime_api.h>

namespace lode::emulator::driver {
namespace {

using exec::DeviceError;

static_assert(int{cudaErrorInvalidConfiguration} == int(DeviceError::invalid_configuration) &&
              int{cudaErrorInvalidMemcpyDirection} == int(DeviceError::invalid_memcpy_direction) &&
              int{cudaErrorLaunchMaxDepthExceeded} == int(DeviceError::launch_max_depth_exceeded) &&
              int{cudaErrorInvalidDeviceFunction} == int(DeviceError::invalid_device_function) &&
              int{cudaErrorInvalidResourceHandle} == int(DeviceError::invalid_resource_handle) &&
              int{cudaErrorLaunchOutOfResources} == int(DeviceError::launch_out_of_resources));

/// The most grids that launch each other, without the host's.
constexpr int max_depth = 24;

/// The error of a launch or an occupancy.
DeviceError error_of(CUresult state) noexcept {
    switch (state) {
        case CUDA_SUCCESS:
            return DeviceError::none;
        case CUDA_ERROR_NOT_FOUND:
            return DeviceError::invalid_device_function;
        case CUDA_ERROR_INVALID_VALUE:
            return DeviceError::invalid_configuration;
        default:
            return static_cast<DeviceError>(state);
    }
}

}  // namespace

DeviceError DeviceWorks::function(std::string_view kernel,
                                  std::shared_ptr<Function>& function) const {
    return error_of(grid_.module->function(std::string(kernel).c_str(), function));
}

void DeviceWorks::move_to(std::deque<DeviceWork>& works) {
    for (auto* const from : {&tails_, &works_})
        works.insert(works.begin(), std::move_iterator(from->begin()),
                     std::move_iterator(from->end()));
}

DeviceError DeviceWorks::check(std::string_view kernel, const exec::GridShape& shape) {
    std::shared_ptr<Function> to_launch;
    if (const DeviceError error = function(kernel, to_launch); error != DeviceError::none)
        return error;
    return error_of(check_shape(*to_launch, shape, nullptr, false));
}

DeviceError DeviceWorks::add(DeviceWork work, bool is_tail) {
    const std::size_t most = grid_.context->limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
    // A tail takes its grid's place.
    work.depth = is_tail ? depth_ : depth_ + 1;
    if (work.depth > max_depth) return DeviceError::launch_max_depth_exceeded;
    const std::lock_guard lock(mutex_);
    if (pending_ + works_.size() + tails_.size() >= most)
        return DeviceError::launch_out_of_resources;
    (is_tail ? tails_ : works_).push_back(std::move(work));
    return DeviceError::none;
}

DeviceError DeviceWorks::launch(std::string_view kernel, const exec::GridShape& shape,
                                std::vector<std::byte> parameters, bool is_tail) {
    std::shared_ptr<Function> to_launch;
    if (const DeviceError error = function(kernel, to_launch); error != DeviceError::none)
        return error;
    return add(
        {std::make_shared<const QueuedLaunch>(QueuedLaunch{
             grid_.context, grid_.module, to_launch->info(), shape, false, std::move(parameters)}),
         {}},
        is_tail);
}

DeviceError DeviceWorks::copy(exec::Rows to, exec::Rows from, std::uint64_t width,
                              std::uint64_t height, bool is_tail) {
    BoxCopy box{device_side(from.at), device_side(to.at), width, height, 1};
    box.from.pitch = from.pitch;
    box.to.pitch = to.pitch;
    if (check_copy(box) != CUDA_SUCCESS) return DeviceError::invalid_value;
    return add({nullptr, deferred_copy(box, grid_.context)}, is_tail);
}

DeviceError DeviceWorks::fill(exec::Rows to, std::uint8_t value, std::uint64_t width,
                              std::uint64_t height, bool is_tail) {
    const CUDA_MEMSET_NODE_PARAMS_v1 fill{to.at, to.pitch, value, 1, width, height};
    if (check_fill(fill) != CUDA_SUCCESS) return DeviceError::invalid_value;
    return add({nullptr, deferred_fill(fill, grid_.context)}, is_tail);
}

DeviceError DeviceWorks::limit(std::uint32_t which, std::uint64_t& value) {
    const auto limit = static_cast<CUlimit>(which);
    if (!Context::has_limit(limit)) return DeviceError::invalid_value;
    value = grid_.context->limit(limit);
    return DeviceError::none;
}

DeviceError DeviceWorks::attribute(std::uint32_t which, int device, int& value) {
    if (device != this->device()) return DeviceError::invalid_device;
    const auto found = grid_.context->device().attribute(static_cast<int>(which));
    if (!found) return DeviceError::invalid_value;
    value = *found;
    return DeviceError::none;
}

DeviceError DeviceWorks::occupancy(std::string_view kernel, int threads, std::uint64_t shared,
                                   int& blocks) {
    std::shared_ptr<Function> of;
    if (const DeviceError error = function(kernel, of); error != DeviceError::none) return error;
    if (threads <= 0) return DeviceError::invalid_value;
    blocks = blocks_per_multiprocessor(grid_.context->device().profile, of->info(), of->settings,
                                       threads, shared);
    return DeviceError::none;
}

DeviceError DeviceWorks::attributes(std::string_view kernel, std::vector<std::byte>& bytes) {
    std::shared_ptr<Function> of;
    if (const DeviceError error = function(kernel, of); error != DeviceError::none) return error;
    cudaFuncAttributes all{};
    int value = 0;
#define LODE_FIELD(field, attribute)                                               \
    if (read_attribute(*of, CU_FUNC_ATTRIBUTE_##attribute, value) == CUDA_SUCCESS) \
        all.field = static_cast<decltype(all.field)>(value);
#include "emulator/driver/code/function_fields.def"
#undef LODE_FIELD
    bytes.resize(sizeof(all));
    std::memcpy(bytes.data(), &all, sizeof(all));
    return DeviceError::none;
}

int DeviceWorks::cache_config() {
    return grid_.context->cache_config;
}
int DeviceWorks::device() {
    return grid_.context->device().ordinal;
}
int DeviceWorks::device_count() {
    return static_cast<int>(driver().devices.size());
}
int DeviceWorks::version() {
    return CUDA_VERSION;
}

std::string DeviceWorks::error_text(int error, bool is_name) {
    return runtime_error_text(static_cast<cudaError_t>(error), is_name);
}

}  // namespace lode::emulator::driver
