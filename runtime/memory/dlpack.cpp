#include "base/message_text.hpp"
#include "runtime/state/device_state.hpp"

#include <lode/runtime/dlpack.hpp>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

using dlpack::DeviceType;
using dlpack::ManagedTensor;
using dlpack::TypeCode;

// The layout that dlpack.h prescribes for 64-bit systems.
static_assert(sizeof(dlpack::DataType) == 4 && sizeof(dlpack::TensorDevice) == 8 &&
              sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, shape) == 24 &&
              offsetof(dlpack::Tensor, byte_offset) == 40 && sizeof(ManagedTensor) == 80 &&
              offsetof(ManagedTensor, flags) == 24 && offsetof(ManagedTensor, tensor) == 32);

/// A tensor with what it refers to.
struct ExportedTensor {
    ManagedTensor managed;
    std::unique_ptr<ExportedMemory> memory;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
};

/// The product of a shape; false if an extent is negative or the product overflows.
bool multiply_shape(std::span<const std::int64_t> shape, std::size_t& count) {
    count = 1;
    for (const std::int64_t extent : shape) {
        if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count))
            return false;
    }
    return count <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= std::max<std::int64_t>(shape[i], 1);
    }
    return strides;
}

std::string type_text(dlpack::DataType type) {
    const auto code = [&]() -> std::string {
        switch (type.code) {
            case TypeCode::signed_integer:
                return "int";
            case TypeCode::unsigned_integer:
                return "uint";
            case TypeCode::floating_point:
                return "float";
            case TypeCode::bfloat:
                return "bfloat";
            case TypeCode::complex:
                return "complex";
            case TypeCode::boolean:
                return "bool";
        }
        return fmt::format("type {} of bits ", static_cast<int>(type.code));
    }();
    return fmt::format("{}{}{}", code, type.bits,
                       type.lanes == 1 ? "" : fmt::format("x{}", type.lanes));
}

std::string place_text(dlpack::TensorDevice device) {
    switch (device.type) {
        case DeviceType::cpu:
            return "host memory";
        case DeviceType::cuda:
            return fmt::format("memory of device {}", device.id);
        case DeviceType::cuda_host:
            return "page-locked host memory";
        case DeviceType::cuda_managed:
            return "managed memory";
    }
    return fmt::format("memory of DLPack's device type {}", static_cast<int>(device.type));
}

Status check_place(dlpack::TensorDevice place, const DeviceState* device) {
    if (device != nullptr) {
        const bool here =
            place.type == DeviceType::cuda_managed ||
            (place.type == DeviceType::cuda && place.id == device->properties.ordinal);
        if (here) return {};
        return fail(Errc::invalid_argument, fmt::format("The tensor is in {}, not in that of {}.",
                                                        place_text(place), device->describe()));
    }
    if (place.type == DeviceType::cpu || place.type == DeviceType::cuda_host) return {};
    return fail(Errc::invalid_argument,
                fmt::format("The tensor is in {}, not in the host's.", place_text(place)));
}

std::string listed_extents(std::span<const std::int64_t> extents) {
    std::vector<std::string> texts;
    for (const std::int64_t extent : extents)
        texts.push_back(std::to_string(extent));
    return listed(texts);
}

/// Refuses rows that aren't dense. The stride of an extent of 1 has no meaning.
Status check_strides(std::span<const std::int64_t> shape, const std::int64_t* strides) {
    if (strides == nullptr) return {};
    const auto dense = dense_strides(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] > 1 && strides[i] != dense[i]) {
            return fail(
                Errc::invalid_argument,
                fmt::format("The tensor's strides ({}) aren't those of dense rows ({}); "
                            "copy it first.",
                            listed_extents({strides, shape.size()}), listed_extents(dense)));
        }
    }
    return {};
}

}  // namespace

int ordinal_of(const DeviceState& device) noexcept {
    return device.properties.ordinal;
}

Result<dlpack::OwnedTensor> export_tensor(std::unique_ptr<ExportedMemory> memory, void* data,
                                          dlpack::TensorDevice device, dlpack::DataType type,
                                          std::size_t count, std::span<const std::int64_t> shape) {
    auto made = std::make_unique<ExportedTensor>();
    made->shape.assign(shape.begin(), shape.end());
    if (shape.empty()) made->shape.push_back(static_cast<std::int64_t>(count));
    std::size_t product = 0;
    if (!multiply_shape(made->shape, product) || product != count) {
        return fail(Errc::invalid_argument,
                    fmt::format("The shape ({}) doesn't have the memory's number of elements ({}).",
                                listed_extents(shape), count));
    }
    made->strides = dense_strides(made->shape);
    made->memory = std::move(memory);
    made->managed.context = made.get();
    made->managed.deleter = [](ManagedTensor* tensor) {
        delete static_cast<ExportedTensor*>(tensor->context);
    };
    made->managed.tensor = {.data = data,
                            .device = device,
                            .dimensions = static_cast<std::int32_t>(made->shape.size()),
                            .type = type,
                            .shape = made->shape.data(),
                            .strides = made->strides.data()};
    return dlpack::OwnedTensor(&made.release()->managed);
}

Result<TensorMemory> import_tensor(const ManagedTensor& managed, dlpack::DataType type,
                                   std::size_t align, bool writes, const Device* device) {
    if (managed.version.major != dlpack::Version{}.major) {
        return fail(Errc::invalid_argument,
                    fmt::format("The tensor has DLPack's version {}.{}; lode reads 1.x.",
                                managed.version.major, managed.version.minor));
    }
    const dlpack::Tensor& tensor = managed.tensor;
    LODE_TRY(check_place(tensor.device, device != nullptr ? device->state().get() : nullptr));
    if (tensor.type != type) {
        return fail(Errc::invalid_argument, fmt::format("The tensor's elements are {}, not {}.",
                                                        type_text(tensor.type), type_text(type)));
    }
    if (writes && (managed.flags & dlpack::read_only_flag) != 0) {
        return fail(Errc::invalid_argument,
                    "The tensor is read-only: ask for a view of const elements.");
    }
    std::size_t count = 0;
    const bool has_shape = tensor.dimensions == 0 || tensor.shape != nullptr;
    const std::span<const std::int64_t> shape(
        tensor.shape,
        has_shape && tensor.dimensions > 0 ? static_cast<std::size_t>(tensor.dimensions) : 0);
    if (tensor.dimensions < 0 || !has_shape) {
        return fail(Errc::invalid_argument,
                    fmt::format("The tensor has {} dimensions{}.", tensor.dimensions,
                                tensor.dimensions < 0 ? ", fewer than 0" : " but no shape"));
    }
    if (!multiply_shape(shape, count)) {
        return fail(Errc::invalid_argument,
                    fmt::format("The tensor's shape ({}) has a negative extent, or more elements "
                                "than memory can have.",
                                listed_extents(shape)));
    }
    if (count > 0) LODE_TRY(check_strides(shape, tensor.strides));
    void* const data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    LODE_TRY(check_native(reinterpret_cast<NativeDevicePointer>(data), count,
                          static_cast<std::size_t>(type.bits) / 8, align));
    return TensorMemory{data, count};
}

}  // namespace LODE_NAMESPACE::detail
