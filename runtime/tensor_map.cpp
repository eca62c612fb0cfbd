#include "base/try.hpp"
#include "runtime/device_state.hpp"

#include <lode/runtime/tensor_map.hpp>

#include <cstring>

#include <cuda.h>
#include <fmt/format.h>

namespace lode {
namespace {

constexpr ComputeCapability first_with_tensor_maps{9, 0};

}  // namespace

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) &&
              alignof(TensorMap) % alignof(CUtensorMap) == 0);

bool has_tensor_maps(const Device& device) noexcept {
    return device.cc() >= first_with_tensor_maps &&
           static_cast<bool>(device.state()->table().cuTensorMapEncodeTiled);
}

Result<TensorMap> encode_tensor_map(const Device& device, const HalfMatrix& matrix) {
    auto& state = *device.state();
    const auto& entry = state.table().cuTensorMapEncodeTiled;
    LODE_TRY(state.driver->require(entry, "A tensor map"));
    if (device.cc() < first_with_tensor_maps) {
        return fail(Errc::not_supported,
                    fmt::format("Tensor maps need compute capability {}; this is {}.",
                                first_with_tensor_maps.to_string(), state.describe()));
    }
    const cuuint64_t extents[] = {matrix.columns, matrix.rows};
    const cuuint64_t strides[] = {matrix.row_bytes};
    const cuuint32_t box[] = {matrix.box_columns, matrix.box_rows};
    const cuuint32_t steps[] = {1, 1};
    CUtensorMap encoded;
    auto done =
        call_in_context(state, entry, &encoded, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, cuuint32_t{2},
                        reinterpret_cast<void*>(matrix.address), &extents[0], &strides[0], &box[0],
                        &steps[0], CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (!done) {
        return tl::unexpected<Error>(std::move(done).error().in(fmt::format(
            "encoding a tensor map of {} x {} halves ({} bytes per row) at {:#x} in boxes of {} x "
            "{}",
            matrix.rows, matrix.columns, matrix.row_bytes, matrix.address, matrix.box_rows,
            matrix.box_columns)));
    }
    TensorMap map;
    std::memcpy(map.opaque.data(), &encoded, sizeof(encoded));
    return map;
}

}  // namespace lode
