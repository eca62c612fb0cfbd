// Ops for textures and surfaces.
#pragma once

#include "emulator/isa/op.hpp"

namespace lode::emulator::exec {

/// Carries the operands of the texture op that follows it: r[0] layer, r[1] level, r[2] to r[4] and
/// r[5] to r[7] the slopes in x and y; no_slot where there is none.
const Op* texture_operands(WarpContext& c, const Op* op);

// Flags of texture_fetch, in addition to the shape.
inline constexpr u16 fetch_whole = 16;   ///< The coordinates are integers.
inline constexpr u16 fetch_gather = 32;  ///< tld4, of the component in flags2.
inline constexpr u16 shape_mask = 15;    ///< The ImageShape that the instruction names.

/// tex and tld4: r[0] to r[3] results, r[4] handle, r[5] to r[7] coordinates or no_slot. The op
/// before it is texture_operands.
const Op* texture_fetch(WarpContext& c, const Op* op);

/// What txq and suq ask for.
enum class ImageQuery : u16 { width, height, depth, layers, levels, samples, normalised };

/// txq and suq: r[0] result, r[4] handle, r[5] level or no_slot; flags: any_shape, and
/// query_surface for suq; flags2: ImageQuery.
const Op* image_query(WarpContext& c, const Op* op);
inline constexpr u16 any_shape = shape_mask;  ///< Instead of an ImageShape.
inline constexpr u16 query_surface = 16;

/// What a surface access outside of the surface does.
enum class SurfaceEdge : u16 { trap, clamp, zero };

// Flags of the surface ops, in addition to the shape: bytes of an element in flags2.
inline constexpr u16 surface_edge_shift = 4;

/// suld.b and sust.b: r[0] to r[3] elements, as many as aren't no_slot, r[4] handle, r[5] x in
/// bytes, r[6] y or layer, r[7] z or layer.
const Op* surface_load(WarpContext& c, const Op* op);
const Op* surface_store(WarpContext& c, const Op* op);

}  // namespace lode::emulator::exec
