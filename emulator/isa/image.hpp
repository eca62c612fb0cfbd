// Ops for textures and surfaces.
#pragma once

#include "emulator/isa/op.hpp"
#include "emulator/memory/images.hpp"

namespace lode::emulator::exec {

struct TextureFlags {
    ImageShape shape = ImageShape::line;
    bool is_whole : 1 = false;  ///< The coordinates are integers.
    bool gathers : 1 = false;   ///< tld4, of a component.
    u8 component : 2 = 0;
    u8 unused : 4 = 0;
};

/// What txq and suq ask for.
enum class ImageQuery : u8 { width, height, depth, layers, levels, samples, normalised };

struct QueryFlags {
    ImageQuery query = ImageQuery::width;
    bool of_surface = false;
};

/// What a surface access outside of the surface does.
enum class SurfaceEdge : u8 { trap, clamp, zero };

struct SurfaceFlags {
    ImageShape shape = ImageShape::line;
    SurfaceEdge edge : 4 = SurfaceEdge::trap;
    u8 bytes : 4 = 0;  ///< The size of an element.
};

}  // namespace lode::emulator::exec
