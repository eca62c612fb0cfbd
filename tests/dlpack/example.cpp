// What a Python extension does with DLPack, as plain functions for ctypes.
#include <lode/runtime/device.hpp>
#include <lode/runtime/dlpack.hpp>
#include <lode/runtime/runtime.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

using namespace lode;

/// A new tensor of 2 rows with the floats 0, 1, 2 and 3, 4, 5, which the caller owns.
extern "C" dlpack::ManagedTensor* lode_dlpack_make() {
    std::vector<float> values(6);
    std::iota(values.begin(), values.end(), 0.0F);
    constexpr std::array<std::int64_t, 2> shape{2, 3};
    auto made = dlpack::export_tensor(std::move(values), shape);
    return made ? made->release() : nullptr;
}

/// Doubles the floats of a tensor; the number of elements, or -1 if lode refuses the tensor.
extern "C" std::int64_t lode_dlpack_double(const dlpack::ManagedTensor* tensor) {
    const auto values = dlpack::host_span<float>(*tensor);
    if (!values) return -1;
    for (float& value : *values)
        value *= 2;
    return static_cast<std::int64_t>(values->size());
}

/// The first of a tensor's floats; -1 if lode refuses the tensor.
extern "C" float lode_dlpack_first(const dlpack::ManagedTensor* tensor) {
    const auto values = dlpack::host_span<const float>(*tensor);
    return values && !values->empty() ? values->front() : -1.0F;
}

namespace {

/// The first device; kept until the process ends.
const Result<Device>& first_device() {
    static const Result<Device> device =
        Runtime::open().and_then([](const Runtime& runtime) { return runtime.device(); });
    return device;
}

Status double_on(const Device& device, DeviceSpan<float> values) {
    constexpr const char* code =
        "extern \"C\" __global__ void twice(float* x) { x[blockIdx.x] *= 2; }";
    const auto kernel = device.load<void(float*)>(Source::text(code, "twice.cu"), "twice");
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    const auto blocks = static_cast<std::uint32_t>(values.size());
    // In the order of the other library's work, which uses the legacy default stream.
    if (auto launched = kernel->launch(device.default_stream(), {.grid = {blocks}}, values);
        !launched)
        return launched;
    return device.default_stream().sync();
}

}  // namespace

/// The same tensor as lode_dlpack_make() in the memory of the first device; null without one.
extern "C" dlpack::ManagedTensor* lode_dlpack_make_on_device() {
    if (!first_device()) return nullptr;
    std::vector<float> values(6);
    std::iota(values.begin(), values.end(), 0.0F);
    constexpr std::array<std::int64_t, 2> shape{2, 3};
    auto made = first_device()->upload(values).and_then([&](DeviceBuffer<float> buffer) {
        return dlpack::export_tensor(std::move(buffer), shape);
    });
    return made ? made->release() : nullptr;
}

/// Doubles the floats of a tensor with a kernel; the number of elements, or -1 if lode refuses the
/// tensor.
extern "C" std::int64_t lode_dlpack_double_on_device(const dlpack::ManagedTensor* tensor) {
    if (!first_device()) return -1;
    const auto values = dlpack::device_span<float>(*tensor, *first_device());
    if (!values || !double_on(*first_device(), *values)) return -1;
    return static_cast<std::int64_t>(values->size());
}
