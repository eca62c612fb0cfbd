#include "emulator/isa/image.hpp"

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/sampling.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// Whether an instruction for one shape may use an image of another: surfaces name the faces of a
/// cube as layers, and linear memory is a line.
bool shape_fits(ImageShape named, const Image& image) noexcept {
    if (named == image.shape) return true;
    if (named == ImageShape::line) return image.shape == ImageShape::buffer;
    return image.is_surface && named == ImageShape::plane_layers &&
           (image.shape == ImageShape::cube || image.shape == ImageShape::cube_layers);
}

/// The image that the lanes of a warp use. Usually all lanes have the same handle.
class LaneImage {
public:
    /// `named`: the shape that the instruction names, if any.
    LaneImage(WarpContext& c, const Op* op, bool is_surface, std::optional<ImageShape> named)
        : c_(c),
          op_(op),
          handles_(source<u64>(c, op->r[4])),
          is_surface_(is_surface),
          named_(named) {}

    /// nullptr after a fault.
    const Image* of(u32 lane) {
        if (image_ && handles_[lane] == handle_) return image_.get();
        handle_ = handles_[lane];
        image_ = Images::all().find(handle_);
        const std::string wrong = error();
        if (wrong.empty()) return image_.get();
        raise(c_, op_, lane, Fault::illegal_address, wrong);
        return nullptr;
    }

private:
    [[nodiscard]] std::string error() const {
        const std::string_view kind = is_surface_ ? "surface" : "texture";
        if (!image_ || image_->is_surface != is_surface_)
            return fmt::format("uses {:#x} as a {}, which it isn't", handle_, kind);
        if (named_ && !shape_fits(*named_, *image_))
            return fmt::format("uses the {} {:#x} with an instruction for another shape", kind,
                               handle_);
        for (const ImageLevel& level : image_->levels) {
            const u64 bytes = (level.depth - 1) * level.slice + (level.height - 1) * level.pitch +
                              u64{level.width} * image_->texel_bytes();
            const auto bounds = c_.launch->memory->bounds(level.address);
            if (bounds[1] == 0 || bytes > bounds[1] - level.address)
                return fmt::format("uses the {} {:#x}, whose memory has been freed", kind, handle_);
        }
        return {};
    }

    WarpContext& c_;
    const Op* op_;
    const u64* handles_;
    bool is_surface_;
    std::optional<ImageShape> named_;
    u64 handle_ = 0;
    std::shared_ptr<const Image> image_;
};

template <class T>
T lane_value(const WarpContext& c, Slot slot, u32 lane) noexcept {
    return slot == no_slot ? T{} : source<T>(c, slot)[lane];
}

Fetch lane_fetch(const WarpContext& c, const Op* op, u32 lane) noexcept {
    const Op* const more = op - 1;
    Fetch fetch;
    fetch.is_whole = op->flags.as<TextureFlags>().is_whole;
    fetch.layer = lane_value<u32>(c, more->r[0], lane);
    fetch.has_level = more->r[1] != no_slot;
    fetch.level = lane_value<f32>(c, more->r[1], lane);
    fetch.has_slopes = more->r[2] != no_slot;
    for (u32 axis = 0; axis < 3; ++axis) {
        if (fetch.is_whole) {
            fetch.whole[axis] = lane_value<i32>(c, op->r[5 + axis], lane);
        } else {
            fetch.at[axis] = lane_value<f32>(c, op->r[5 + axis], lane);
        }
        fetch.dx[axis] = lane_value<f32>(c, more->r[2 + axis], lane);
        fetch.dy[axis] = lane_value<f32>(c, more->r[5 + axis], lane);
    }
    return fetch;
}

/// The address of a surface access; 0 if it has no effect.
struct SurfacePlace {
    u64 address = 0;
    bool is_outside = false;
};

SurfacePlace surface_place(const Image& image, ImageShape named, std::array<i32, 3> at, u32 bytes,
                           SurfaceEdge edge) noexcept {
    const ImageLevel& level = image.levels.front();
    const bool is_line = named == ImageShape::line || named == ImageShape::line_layers;
    // The layer of lines is their second coordinate, and that of planes the third.
    if (is_line) at = {at[0], 0, named == ImageShape::line_layers ? at[1] : 0};
    const u64 row = u64{level.width} * image.texel_bytes();
    if (bytes > row) return {0, true};
    const std::array<i64, 3> most{static_cast<i64>(row - bytes), i64{level.height} - 1,
                                  i64{level.depth} - 1};
    std::array<i64, 3> place{at[0], at[1], at[2]};
    SurfacePlace made;
    for (u32 axis = 0; axis < 3; ++axis) {
        const i64 inside = std::clamp<i64>(place[axis], 0, most[axis]);
        made.is_outside |= inside != place[axis];
        place[axis] = inside;
    }
    if (made.is_outside && edge != SurfaceEdge::clamp) return made;
    made.address = level.address + static_cast<u64>(place[2]) * level.slice +
                   static_cast<u64>(place[1]) * level.pitch + static_cast<u64>(place[0]);
    return made;
}

/// Calls access(lane, address, bytes per element, count) for each active lane; the address is 0
/// where a `.zero` access is outside.
template <class Access>
const Op* surface_access(WarpContext& c, const Op* op, std::string_view verb, Access&& access) {
    const auto flags = op->flags.as<SurfaceFlags>();
    LaneImage images(c, op, true, flags.shape);
    const SurfaceEdge edge = flags.edge;
    const u32 element = flags.bytes;
    const auto count = static_cast<u32>(std::find(op->r, op->r + 4, no_slot) - op->r);
    const u32 bytes = element * count;
    for (u32 mask = c.mask; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(mask));
        const Image* const image = images.of(lane);
        if (image == nullptr) return leave();
        const std::array<i32, 3> at{lane_value<i32>(c, op->r[5], lane),
                                    lane_value<i32>(c, op->r[6], lane),
                                    lane_value<i32>(c, op->r[7], lane)};
        const SurfacePlace place = surface_place(*image, flags.shape, at, bytes, edge);
        if (place.is_outside && edge == SurfaceEdge::trap) {
            const ImageLevel& level = image->levels.front();
            return raise(
                c, op, lane, Fault::illegal_address,
                fmt::format(
                    "{} {} outside of a surface of {} bytes by {} by {}\naddress: ({}, {}, {})",
                    verb, bytes_text(bytes), u64{level.width} * image->texel_bytes(), level.height,
                    level.depth, at[0], at[1], at[2]));
        }
        if (place.address % bytes != 0) {
            return raise(c, op, lane, Fault::misaligned_address,
                         fmt::format("{} {} of a surface at x = {}, which isn't a multiple of {}",
                                     verb, bytes_text(bytes), at[0], bytes));
        }
        access(lane, place.address, element, count);
    }
    return op + 1;
}

u32 answer(const Image& image, ImageQuery query, u32 number) noexcept {
    // A level that the image doesn't have is empty.
    if (number >= image.levels.size()) return 0;
    const ImageLevel& level = image.levels[number];
    switch (query) {
        case ImageQuery::width:
            return level.width;
        case ImageQuery::height:
            return level.height;
        case ImageQuery::depth:
            return image.shape == ImageShape::volume ? level.depth : 1;
        case ImageQuery::layers:
            return image.shape == ImageShape::volume        ? 1
                   : image.shape == ImageShape::cube        ? 1
                   : image.shape == ImageShape::cube_layers ? level.depth / 6
                                                            : level.depth;
        case ImageQuery::levels:
            return static_cast<u32>(image.levels.size());
        case ImageQuery::samples:
            return 1;
        case ImageQuery::normalised:
            return u32{image.sampler.normalised};
    }
    return 0;
}

}  // namespace

const Op* image_query(WarpContext& c, const Op* op) {
    const auto [query, of_surface] = op->flags.as<QueryFlags>();
    LaneImage images(c, op, of_surface, std::nullopt);
    for (u32 mask = c.mask; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(mask));
        const Image* const image = images.of(lane);
        if (image == nullptr) return leave();
        destination<u32>(c, op->r[0])[lane] =
            answer(*image, query, lane_value<u32>(c, op->r[5], lane));
    }
    return op + 1;
}

const Op* texture_operands(WarpContext&, const Op* op) {
    return op + 1;
}

const Op* texture_fetch(WarpContext& c, const Op* op) {
    const auto flags = op->flags.as<TextureFlags>();
    LaneImage images(c, op, false, flags.shape);
    for (u32 mask = c.mask; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<u32>(std::countr_zero(mask));
        const Image* const image = images.of(lane);
        if (image == nullptr) return leave();
        const Fetch fetch = lane_fetch(c, op, lane);
        const Texel texel =
            flags.gathers ? gather(*image, fetch, flags.component) : sample(*image, fetch);
        for (u32 k = 0; k < 4; ++k)
            destination<u32>(c, op->r[k])[lane] = texel[k];
    }
    return op + 1;
}

const Op* surface_load(WarpContext& c, const Op* op) {
    return surface_access(
        c, op, "reads", [&](u32 lane, u64 address, std::size_t element, std::size_t count) {
            u8 bytes[16] = {};
            if (address != 0)
                copy_shared_bytes(bytes, reinterpret_cast<const void*>(address), element * count);
            for (std::size_t k = 0; k < count; ++k)
                std::memcpy(destination<u8>(c, op->r[k]) + lane * element, bytes + k * element,
                            element);
        });
}

const Op* surface_store(WarpContext& c, const Op* op) {
    return surface_access(
        c, op, "writes", [&](u32 lane, u64 address, std::size_t element, std::size_t count) {
            u8 bytes[16];
            for (std::size_t k = 0; k < count; ++k)
                std::memcpy(bytes + k * element, source<u8>(c, op->r[k]) + lane * element, element);
            if (address == 0) return;
            copy_shared_bytes(reinterpret_cast<void*>(address), bytes, element * count);
            c.launch->memory->note_write(address, element * count);
        });
}

}  // namespace lode::emulator::exec
