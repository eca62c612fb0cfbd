#include "base/lower_case.hpp"
#include "runtime/state/device_checks.hpp"

#include <lode/runtime/device.hpp>
#include <lode/runtime/device_attributes.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constexpr DeviceAttributeInfo attribute_table[] = {
#define LODE_DEVICE_ATTRIBUTE(driver_name, name, unit) \
    {DeviceAttribute::name, #name, AttributeUnit::unit},
#include "runtime/device_attributes.def"
#undef LODE_DEVICE_ATTRIBUTE
};

}  // namespace

std::string_view to_string(AttributeUnit unit) noexcept {
    switch (unit) {
        case AttributeUnit::count:
            return "count";
        case AttributeUnit::flag:
            return "flag";
        case AttributeUnit::bytes:
            return "bytes";
        case AttributeUnit::bits:
            return "bits";
        case AttributeUnit::kilohertz:
            return "kilohertz";
        case AttributeUnit::code:
            return "code";
    }
    return "unknown";
}

std::span<const DeviceAttributeInfo> device_attributes() noexcept {
    return attribute_table;
}

std::optional<DeviceAttribute> device_attribute_of(std::string_view name) noexcept {
    constexpr std::string_view prefix = "cu_device_attribute_";
    const auto same = [](char left, char right) { return lower_case(left) == right; };
    if (std::ranges::equal(name.substr(0, prefix.size()), prefix, same))
        name.remove_prefix(prefix.size());
    for (const auto& row : attribute_table) {
        if (std::ranges::equal(name, row.name, same)) return row.attribute;
    }
    return std::nullopt;
}

Result<int> device_attribute(const Device& device, DeviceAttribute attribute) {
    const auto row = std::ranges::find(attribute_table, attribute, &DeviceAttributeInfo::attribute);
    if (row == std::end(attribute_table)) {
        return fail(Errc::invalid_argument,
                    fmt::format("{} isn't a device attribute; their numbers are 1 to {}.",
                                static_cast<int>(attribute), std::size(attribute_table)));
    }
    const auto& state = *device.state();
    auto asked = detail::read_attribute(*state.driver, state.device,
                                        static_cast<CUdevice_attribute>(attribute));
    if (asked) return asked;
    Error error = std::move(asked).error();
    if (error.native.code == CUDA_ERROR_INVALID_VALUE) {
        error.code = Errc::not_supported;
        error.message =
            fmt::format("The driver of {} doesn't know the attribute {}, which a newer one has.",
                        state.describe(), row->name);
    }
    return tl::unexpected<Error>(std::move(error));
}

Result<int> device_attribute(const Device& device, std::string_view name) {
    if (const auto attribute = device_attribute_of(name))
        return device_attribute(device, *attribute);
    return fail(Errc::not_found, fmt::format("No device attribute is named '{}'.", name));
}

}  // namespace LODE_NAMESPACE
