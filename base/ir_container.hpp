// The header of the container in which NVRTC gives LTO-IR and OptiX IR.
#pragma once

#include <lode/base/api.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace LODE_NAMESPACE {

/// What a container holds.
enum class IrKind : std::uint8_t { lto, optix };

/// The kind of a container's code; nullopt for anything else. Source: the output of NVRTC 12.1 to
/// 13.5, which begins with the same 4 bytes for both kinds and tells them apart in byte 14.
[[nodiscard]] std::optional<IrKind> ir_kind(std::span<const std::byte> bytes) noexcept;

}  // namespace LODE_NAMESPACE
