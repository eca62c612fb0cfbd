// The functions that the device provides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace lode::emulator {

struct BuiltinRow {
    std::string_view name;
    bool is_device_runtime = false;  ///< It is in libcudadevrt.a.
    bool is_refused = false;         ///< Known, but not supported.
};

inline constexpr BuiltinRow builtin_rows[] = {
#define LODE_BUILTIN(name, handler) {#name},
#define LODE_DEVICE_RUNTIME(name, handler) {"__cudaCDP2" #name, true},
#define LODE_NO_DEVICE_RUNTIME(name) {"__cudaCDP2" #name, true, true},
#include "emulator/decode/builtins.def"
#undef LODE_BUILTIN
#undef LODE_DEVICE_RUNTIME
#undef LODE_NO_DEVICE_RUNTIME
};

/// The index of a row.
using Builtin = std::uint8_t;
inline constexpr Builtin no_builtin = 255;
static_assert(std::size(builtin_rows) < no_builtin);

/// The function with this name, or no_builtin.
constexpr Builtin builtin_named(std::string_view name) noexcept {
    const auto* const row = std::ranges::find(builtin_rows, name, &BuiltinRow::name);
    return row == std::end(builtin_rows) ? no_builtin
                                         : static_cast<Builtin>(row - std::begin(builtin_rows));
}

}  // namespace lode::emulator
