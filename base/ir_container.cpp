#include "base/ir_container.hpp"

#include <cstring>

namespace LODE_NAMESPACE {

std::optional<IrKind> ir_kind(std::span<const std::byte> bytes) noexcept {
    constexpr char magic[] = {'\xed', '\x43', '\x4e', '\x7f'};
    constexpr std::size_t kind_at = 14;
    if (bytes.size() < sizeof(magic) || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
        return std::nullopt;
    const bool is_optix = bytes.size() > kind_at && bytes[kind_at] == std::byte{2};
    return is_optix ? IrKind::optix : IrKind::lto;
}

}  // namespace LODE_NAMESPACE
