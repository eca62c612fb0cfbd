#include "base/tile_ir.hpp"

#include <cstring>

namespace LODE_NAMESPACE {

std::optional<int> tile_ir_version(std::span<const std::byte> bytes) noexcept {
    constexpr char magic[] = "\x7fTileIR";  // With its NUL.
    if (bytes.size() < sizeof(magic) + 2 || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
        return std::nullopt;
    return 1000 * std::to_integer<int>(bytes[sizeof(magic)]) +
           10 * std::to_integer<int>(bytes[sizeof(magic) + 1]);
}

}  // namespace LODE_NAMESPACE
