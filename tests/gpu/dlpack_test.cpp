// DLPack: tensors made from lode's memory, and views of other libraries' tensors.
#include "tests/gpu/support.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// A tensor over memory of the test, as another library would give it.
struct ForeignTensor {
    explicit ForeignTensor(std::vector<std::int64_t> of_shape) : shape(std::move(of_shape)) {
        managed.tensor.dimensions = static_cast<std::int32_t>(shape.size());
        managed.tensor.shape = shape.data();
        managed.tensor.type = dlpack::data_type<float>();
    }
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    dlpack::ManagedTensor managed;
};

/// Checks that a call is refused with this part in its message.
template <class T>
void check_tensor_refused(Result<T> result, std::string_view part) {
    const Error error = require_error(std::move(result));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, part);
}

}  // namespace

TEST_CASE("dlpack: element types are numbers and bool") {
    using dlpack::TypeCode;
    static_assert(dlpack::data_type<float>() == dlpack::DataType{TypeCode::floating_point, 32, 1});
    static_assert(dlpack::data_type<std::int8_t>() ==
                  dlpack::DataType{TypeCode::signed_integer, 8, 1});
    static_assert(dlpack::data_type<std::uint64_t>() ==
                  dlpack::DataType{TypeCode::unsigned_integer, 64, 1});
    static_assert(dlpack::data_type<bool>() == dlpack::DataType{TypeCode::boolean, 8, 1});
}

TEST_CASE("dlpack: a vector becomes a tensor that owns it") {
    std::vector values{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
    const float* const data = values.data();
    const std::array<std::int64_t, 2> shape{2, 3};
    const dlpack::OwnedTensor owned = require(dlpack::export_tensor(std::move(values), shape));
    const dlpack::Tensor& tensor = owned->tensor;
    CHECK(owned->version.major == 1);
    CHECK(owned->flags == 0);
    CHECK(tensor.data == data);
    CHECK(tensor.device.type == dlpack::DeviceType::cpu);
    REQUIRE(tensor.dimensions == 2);
    CHECK(tensor.shape[1] == 3);
    CHECK(tensor.strides[0] == 3);
    CHECK(tensor.strides[1] == 1);
    const auto view = require(dlpack::host_span<const float>(*owned));
    CHECK(view.data() == data);
    CHECK(std::vector(view.begin(), view.end()) == std::vector{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F});
    check_tensor_refused(dlpack::export_tensor(std::vector{1.0F}, shape), "shape (2, 3)");
    const std::array<std::int64_t, 2> negative{-1, -1};
    check_tensor_refused(dlpack::export_tensor(std::vector{1.0F}, negative), "shape (-1, -1)");
}

TEST_CASE("dlpack: a device buffer lives as long as its tensor") {
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer = require(device.upload({1, 2, 3, 4}));
    const auto address = buffer.native();
    dlpack::OwnedTensor owned = require(dlpack::export_tensor(std::move(buffer)));
    CHECK_FALSE(buffer);  // NOLINT(bugprone-use-after-move): it is empty.
    CHECK(owned->tensor.device.type == dlpack::DeviceType::cuda);
    CHECK(owned->tensor.device.id == 0);
    const auto view = require(dlpack::device_span<int>(*owned, device));
    CHECK(view.native() == address);
    CHECK(require(view.to_vector()) == std::vector{1, 2, 3, 4});
    CHECK(require(inspect_pointer(device, address)).kind == MemoryKind::device);
    check_tensor_refused(dlpack::host_span<int>(*owned), "in memory of device 0, not in the host");
    check_tensor_refused(dlpack::device_span<float>(*owned, device), "int32, not float32");

    dlpack::ManagedTensor* const given = owned.release();  // As to a consumer, which deletes it.
    given->deleter(given);
    CHECK(require(inspect_pointer(device, address)).kind == MemoryKind::unknown);
    check_tensor_refused(dlpack::export_tensor(DeviceBuffer<int>()), "An empty buffer");
    check_tensor_refused(dlpack::export_tensor(PinnedBuffer<int>()), "An empty buffer");
}

TEST_CASE("dlpack: pinned memory is host memory") {
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer = require(device.alloc_pinned<std::uint8_t>(3));
    std::ranges::fill(buffer, std::uint8_t{7});
    const auto owned = require(dlpack::export_tensor(std::move(buffer)));
    CHECK(owned->tensor.device.type == dlpack::DeviceType::cuda_host);
    const auto view = require(dlpack::host_span<std::uint8_t>(*owned));
    CHECK(std::vector(view.begin(), view.end()) == std::vector<std::uint8_t>{7, 7, 7});
    check_tensor_refused(dlpack::device_span<std::uint8_t>(*owned, device),
                         "page-locked host memory, not in that of device 0");
}

TEST_CASE("dlpack: a tensor of another library is checked") {
    alignas(8) std::array<float, 8> memory{0, 1, 2, 3, 4, 5, 6, 7};
    ForeignTensor foreign({2, 3});
    dlpack::Tensor& tensor = foreign.managed.tensor;
    tensor.data = memory.data();
    tensor.byte_offset = sizeof(float);
    const auto view = require(dlpack::host_span<float>(foreign.managed));
    CHECK(view.data() == memory.data() + 1);
    CHECK(view.size() == 6);

    foreign.strides = {3, 1};
    tensor.strides = foreign.strides.data();
    CHECK(dlpack::host_span<float>(foreign.managed));
    foreign.strides = {1, 2};
    tensor.strides = foreign.strides.data();
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "strides (1, 2)");
    foreign.shape = {1, 3};  // The stride of the first dimension has no meaning.
    foreign.strides = {99, 1};
    CHECK(dlpack::host_span<float>(foreign.managed));
    tensor.strides = nullptr;

    foreign.managed.flags = dlpack::read_only_flag;
    CHECK(dlpack::host_span<const float>(foreign.managed));
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "read-only");
    foreign.managed.flags = 0;
    tensor.byte_offset = 2;
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "isn't aligned");
    tensor.byte_offset = 0;
    tensor.type.lanes = 4;
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "float32x4, not float32");
    tensor.type = dlpack::data_type<float>();
    foreign.shape = {-1, 3};
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "(-1, 3) has a negative");
    foreign.shape = {INT64_MAX, 3};
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "more elements than memory");
    tensor.shape = nullptr;
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "2 dimensions but no shape");
    tensor.dimensions = 0;  // A scalar.
    CHECK(require(dlpack::host_span<float>(foreign.managed)).size() == 1);
    tensor.device.type = static_cast<dlpack::DeviceType>(7);
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "device type 7");
    foreign.managed.version.major = 2;
    check_tensor_refused(dlpack::host_span<float>(foreign.managed), "version 2.0");
}
