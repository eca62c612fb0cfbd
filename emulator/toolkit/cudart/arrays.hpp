// Arrays: formats, and copies that involve them.
#pragma once

#include "emulator/toolkit/cudart/runtime.hpp"

#include <cstddef>
#include <optional>

namespace lode::emulator::cudart {

/// The driver's format of a channel, and the number of channels.
struct Format {
    CUarray_format format;
    unsigned channels;
};
/// nullopt for a descriptor without such a format.
std::optional<Format> format_of(const cudaChannelFormatDesc& channels) noexcept;
/// The descriptor of a format; zeros for one that the runtime API doesn't have.
cudaChannelFormatDesc channels_of(CUarray_format format, unsigned channels) noexcept;

/// The bytes of an array's element.
CUresult element_bytes(CUarray array, std::size_t& bytes) noexcept;
inline CUarray native(cudaArray_const_t array) noexcept {
    return as<CUarray>(array);
}

/// Whether the driver knows the memory: device, managed, page-locked or registered.
bool is_known(const void* pointer) noexcept;
/// cudaErrorInvalidMemcpyDirection for an unknown direction; cudaErrorInvalidValue if it says that
/// memory is the host's which is the device's, or the other way round. nullptr stands for an array.
cudaError_t check_direction(const void* to, const void* from, cudaMemcpyKind kind) noexcept;

/// The driver's form of a copy; checks its direction.
cudaError_t native_copy(const cudaMemcpy3DParms& copy, CUDA_MEMCPY3D& found) noexcept;
/// The other way round, as far as the driver's form says.
cudaMemcpy3DParms runtime_copy(const CUDA_MEMCPY3D& copy) noexcept;

}  // namespace lode::emulator::cudart
