// Ops for textures and surfaces.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

// Flags of texture_fetch, in addition to the shape.
inline constexpr u16 fetch_whole = 16;   ///< The coordinates are integers.
inline constexpr u16 fetch_gather = 32;  ///< tld4, of the component in flags2.
inline constexpr u16 shape_mask = 15;    ///< The ImageShape that the instruction names.

/// What txq and suq ask for.
enum class ImageQuery : u16 { width, height, depth, layers, levels, samples, normalised };

inline constexpr u16 any_shape = shape_mask;  ///< Instead of an ImageShape.
inline constexpr u16 query_surface = 16;

/// What a surface access outside of the surface does.
enum class SurfaceEdge : u16 { trap, clamp, zero };

// Flags of the surface ops, in addition to the shape: bytes of an element in flags2.
inline constexpr u16 surface_edge_shift = 4;

}  // namespace lode::emulator::exec
