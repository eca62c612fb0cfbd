/// \file
/// Exchange of arrays with other libraries through DLPack 1.x, without a copy.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/runtime/device_span.hpp>
#include <lode/runtime/memory.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

LODE_API_BEGIN

/// DLPack's structures, with the layout of its C header `dlpack.h`, and conversions from and to
/// lode's types. A `lode::dlpack::ManagedTensor*` may be cast to `DLManagedTensorVersioned*` and
/// back.
namespace LODE_NAMESPACE::dlpack {

/// Where a tensor's memory is (DLDeviceType). Libraries may use other values.
enum class DeviceType : std::int32_t {
    cpu = 1,           ///< Pageable host memory.
    cuda = 2,          ///< Memory of a CUDA device.
    cuda_host = 3,     ///< Page-locked host memory.
    cuda_managed = 13  ///< Managed memory.
};

/// The kind of an element's number (DLDataTypeCode). Libraries may use other values.
enum class TypeCode : std::uint8_t {
    signed_integer = 0,    ///< Two's complement.
    unsigned_integer = 1,  ///< Without a sign.
    floating_point = 2,    ///< IEEE 754.
    bfloat = 4,            ///< bfloat16.
    complex = 5,           ///< Two floating-point numbers.
    boolean = 6            ///< A byte that is 0 or 1.
};

/// DLDevice
struct TensorDevice {
    DeviceType type = DeviceType::cpu;  ///< Where the memory is.
    std::int32_t id = 0;                ///< The device's ordinal; 0 for host memory.
};

/// DLDataType
struct DataType {
    TypeCode code = TypeCode::signed_integer;  ///< The kind of number.
    std::uint8_t bits = 0;                     ///< Bits of one number.
    std::uint16_t lanes = 1;                   ///< Numbers in an element.

    /// Compares every member.
    friend bool operator==(const DataType&, const DataType&) = default;
};

/// DLTensor
struct Tensor {
    void* data = nullptr;             ///< A device address for memory of a device.
    TensorDevice device;              ///< Where it is.
    std::int32_t dimensions = 0;      ///< The length of the two arrays.
    DataType type;                    ///< The type of an element.
    std::int64_t* shape = nullptr;    ///< Elements in each dimension.
    std::int64_t* strides = nullptr;  ///< In elements; nullptr for dense rows.
    std::uint64_t byte_offset = 0;    ///< From `data` to the first element.
};

/// DLPackVersion
struct Version {
    std::uint32_t major = 1;  ///< Changes with the layout.
    std::uint32_t minor = 0;  ///< Changes with the list of types.
};

/// DLManagedTensorVersioned
struct ManagedTensor {
    Version version;          ///< The layout's version; the rest is valid for major 1.
    void* context = nullptr;  ///< The producer's.
    void (*deleter)(ManagedTensor*) = nullptr;  ///< Destroys the tensor; may be null.
    std::uint64_t flags = 0;                    ///< See read_only_flag.
    Tensor tensor;                              ///< The array.
};

/// The bit of ManagedTensor::flags for memory that the consumer mustn't write.
inline constexpr std::uint64_t read_only_flag = 1;

/// Calls a tensor's deleter.
struct DeleteTensor {
    /// Does nothing for nullptr and for a tensor without a deleter.
    void operator()(ManagedTensor* tensor) const noexcept {
        if (tensor != nullptr && tensor->deleter != nullptr) tensor->deleter(tensor);
    }
};
/// Owns a tensor. release() gives it to a consumer, such as a Python capsule named
/// "dltensor_versioned"; a tensor from a producer is put in here.
using OwnedTensor = std::unique_ptr<ManagedTensor, DeleteTensor>;

/// The element type for T: numbers of 1 to 8 bytes, and bool.
template <class T>
requires std::is_arithmetic_v<T>
[[nodiscard]] constexpr DataType data_type() noexcept {
    constexpr auto bits = static_cast<std::uint8_t>(sizeof(T) * 8);
    if constexpr (std::same_as<std::remove_cv_t<T>, bool>)
        return {TypeCode::boolean, bits};
    else if constexpr (std::floating_point<T>)
        return {TypeCode::floating_point, bits};
    else
        return {std::is_signed_v<T> ? TypeCode::signed_integer : TypeCode::unsigned_integer, bits};
}

}  // namespace LODE_NAMESPACE::dlpack

namespace LODE_NAMESPACE::detail {
/// What an exported tensor keeps alive.
struct ExportedMemory {
    virtual ~ExportedMemory() = default;
};
template <class Owner>
struct ExportedOwner final : ExportedMemory {
    explicit ExportedOwner(Owner&& given) : owner(std::move(given)) {}
    Owner owner;
};

/// Refuses a shape whose product isn't `count`. An empty shape means one dimension.
[[nodiscard]] Result<dlpack::OwnedTensor> export_tensor(std::unique_ptr<ExportedMemory> memory,
                                                        void* data, dlpack::TensorDevice device,
                                                        dlpack::DataType type, std::size_t count,
                                                        std::span<const std::int64_t> shape);
/// A dense tensor of this type, in host memory if `device` is null.
struct TensorMemory {
    void* data = nullptr;
    std::size_t count = 0;
};
[[nodiscard]] Result<TensorMemory> import_tensor(const dlpack::ManagedTensor& managed,
                                                 dlpack::DataType type, std::size_t align,
                                                 bool writes, const Device* device);
[[nodiscard]] int ordinal_of(const DeviceState& device) noexcept;
}  // namespace LODE_NAMESPACE::detail

namespace LODE_NAMESPACE::dlpack {

/// Gives a buffer away as a tensor of this shape, or of one dimension. Work on the buffer must be
/// done, or ordered with the consumer's as the protocol of its language says. Errors:
/// invalid_argument for an empty buffer, and for a shape with another number of elements; the
/// buffer is lost then too.
template <class T>
[[nodiscard]] Result<OwnedTensor> export_tensor(DeviceBuffer<T>&& buffer,
                                                std::span<const std::int64_t> shape = {}) {
    if (!buffer) return fail(Errc::invalid_argument, "An empty buffer can't become a tensor.");
    const TensorDevice device{DeviceType::cuda, detail::ordinal_of(*buffer.owner())};
    const std::size_t count = buffer.size();
    void* const data = buffer.data();
    return detail::export_tensor(
        std::make_unique<detail::ExportedOwner<DeviceBuffer<T>>>(std::move(buffer)), data, device,
        data_type<T>(), count, shape);
}
/// The same for page-locked memory.
template <class T>
[[nodiscard]] Result<OwnedTensor> export_tensor(PinnedBuffer<T>&& buffer,
                                                std::span<const std::int64_t> shape = {}) {
    if (!buffer) return fail(Errc::invalid_argument, "An empty buffer can't become a tensor.");
    const std::size_t count = buffer.size();
    void* const data = buffer.data();
    return detail::export_tensor(
        std::make_unique<detail::ExportedOwner<PinnedBuffer<T>>>(std::move(buffer)), data,
        {DeviceType::cuda_host, 0}, data_type<T>(), count, shape);
}
/// The same for host memory. Errors: invalid_argument for a shape with another number of elements.
template <class T>
requires(!std::same_as<T, bool>)
    [[nodiscard]] Result<OwnedTensor> export_tensor(std::vector<T>&& values,
                                                    std::span<const std::int64_t> shape = {}) {
    const std::size_t count = values.size();
    void* const data = values.data();
    return detail::export_tensor(
        std::make_unique<detail::ExportedOwner<std::vector<T>>>(std::move(values)), data,
        {DeviceType::cpu, 0}, data_type<T>(), count, shape);
}

/// A view of a tensor in memory of this device, or in managed memory; valid as long as the tensor.
/// Errors: invalid_argument for a tensor of another type or device, one whose rows aren't dense, a
/// misaligned one, a read-only one unless T is const, and a version other than 1.x.
template <class T>
[[nodiscard]] Result<DeviceSpan<T>> device_span(const ManagedTensor& tensor, const Device& device) {
    return detail::import_tensor(tensor, data_type<std::remove_cv_t<T>>(), alignof(T),
                                 !std::is_const_v<T>, &device)
        .map([&](detail::TensorMemory memory) {
            const auto address = reinterpret_cast<NativeDevicePointer>(memory.data);
            return DeviceSpan<T>({address, detail::state_of(device)}, memory.count);
        });
}
/// A view of a tensor in host memory, page-locked or not; valid as long as the tensor.
/// Errors: those of device_span().
template <class T>
[[nodiscard]] Result<std::span<T>> host_span(const ManagedTensor& tensor) {
    return detail::import_tensor(tensor, data_type<std::remove_cv_t<T>>(), alignof(T),
                                 !std::is_const_v<T>, nullptr)
        .map([&](detail::TensorMemory memory) {
            return std::span<T>(static_cast<T*>(memory.data), memory.count);
        });
}

}  // namespace LODE_NAMESPACE::dlpack

LODE_API_END
