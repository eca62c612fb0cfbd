// What the tables of the families are made of.
#pragma once

#include <lode/base/api.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace LODE_NAMESPACE::kernels {

using Shape = std::function<LaunchShape(const Problem&, const VariantDeviceProperties&)>;
using Refusal = std::function<std::optional<std::string>(const Problem&)>;

/// A row's requirements besides its architecture.
struct Needs {
    std::size_t shared_bytes = 0;
    int threads = 0;
    bool cluster = false;
    bool cooperative = false;
    bool tensor_maps = false;
};

VariantRow make_row(std::string_view name, std::string_view source, std::string_view arch,
                    const Needs& needs, Shape shape, Refusal refuses, std::string_view caveat = "");

constexpr std::uint32_t ceil_div(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>((a + b - 1) / b);
}

/// Launches with the arguments unchanged: their types must be the kernel's.
template <class... Arguments>
Status launch_with(const LoadedVariant& variant, StreamRef stream, const Problem& problem,
                   Arguments... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    return variant.kernel.launch(stream, variant.shape(problem), pointers);
}

/// The number of multiprocessors; at least 1.
inline std::uint32_t multiprocessors_of(const VariantDeviceProperties& properties) {
    return properties.multiprocessors < 1 ? 1U
                                          : static_cast<std::uint32_t>(properties.multiprocessors);
}

/// Its parts in a row: texts and integers.
template <class... Parts>
std::string text_of(const Parts&... parts) {
    std::string text;
    const auto add = [&](const auto& part) {
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>)
            text += std::to_string(part);
        else
            text += part;
    };
    (add(parts), ...);
    return text;
}

}  // namespace LODE_NAMESPACE::kernels
