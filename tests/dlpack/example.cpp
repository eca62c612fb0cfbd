// What a Python extension does with DLPack, as plain functions for ctypes.
#include <lode/runtime/dlpack.hpp>

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
