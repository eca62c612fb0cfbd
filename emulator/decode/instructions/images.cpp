// Textures and surfaces, by 64-bit handles. The grammar has checked modifiers and operands; what it
// accepts and this file doesn't run is refused when a kernel is requested.
#include "emulator/memory/images.hpp"

#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/image.hpp"

#include <array>
#include <optional>

namespace lode::emulator::decode {

namespace {

using ptx::OperandKind;

/// A geometry of the instruction set: its shape, its coordinates, and the elements of the vector
/// that holds the layer and the coordinates.
struct GeometryRow {
    Word word;
    ImageShape shape;
    u32 axes;
    bool has_layer;
    u32 elements;
};
constexpr GeometryRow geometries[] = {
    {"1d", ImageShape::line, 1, false, 1},          {"2d", ImageShape::plane, 2, false, 2},
    {"3d", ImageShape::volume, 3, false, 4},        {"a1d", ImageShape::line_layers, 1, true, 2},
    {"a2d", ImageShape::plane_layers, 2, true, 4},  {"cube", ImageShape::cube, 3, false, 4},
    {"acube", ImageShape::cube_layers, 3, true, 4},
};

/// The operand [handle, {…}].
struct ImageOperand {
    Slot handle = no_slot;
    Slot layer = no_slot;
    std::array<Slot, 3> at{no_slot, no_slot, no_slot};
};

std::optional<ImageOperand> image_operand(Builder& b, const ptx::Operand& operand,
                                          const GeometryRow& geometry) {
    const auto parts = b.list(operand);
    if (parts.size() != 2 || parts[0].kind != OperandKind::reg) {
        b.refuse("without a handle in a register");
        return std::nullopt;
    }
    const auto elements = b.list(parts[1]);  // More than the geometry needs are ignored.
    if (elements.size() < geometry.elements) {
        b.refuse("with one register for all coordinates");
        return std::nullopt;
    }
    ImageOperand made;
    made.handle = b.source(parts[0], 'd');
    u32 next = 0;
    if (geometry.has_layer) made.layer = b.source(elements[next++], 'w');
    for (u32 axis = 0; axis < geometry.axes; ++axis)
        made.at[axis] = b.source(elements[next++], 'w');
    return made;
}

/// p of "{…}|p": whether the texels have memory, as those of all arrays here do.
void set_resident(Builder& b, const ptx::Operand& results) {
    const Slot resident = b.second_destination(results);
    if (resident == no_slot) return;
    ptx::Operand yes;
    yes.kind = OperandKind::integer;
    yes.bits = 1;
    b.emit_row("mov.pred", {resident, b.predicate(yes)});
}

/// The slopes of tex.grad, which begin at an op's slot `first`.
void set_slopes(Builder& b, const ptx::Operand& operand, const GeometryRow& geometry,
                std::array<Slot, 8>& slots, u32 first) {
    const auto elements = b.list(operand);
    for (u32 axis = 0; axis < geometry.axes; ++axis)
        slots[first + axis] = b.source(elements[axis], 'w');
}

void emit_fetch(Builder& b, const GeometryRow& geometry, const ImageOperand& image,
                std::array<Slot, 8> more, exec::TextureFlags flags) {
    const auto results = b.list(b.operand(0));
    std::array<Destination, 4> to;
    for (u32 k = 0; k < 4; ++k)
        to[k] = b.destination(results[k], 'w');
    if (b.refused()) return;
    more[0] = image.layer;
    b.emit(Operation::texture_operands,
           {more[0], more[1], more[2], more[3], more[4], more[5], more[6], more[7]});
    Op& op =
        b.emit(Operation::texture_fetch, {to[0].slot, to[1].slot, to[2].slot, to[3].slot,
                                          image.handle, image.at[0], image.at[1], image.at[2]});
    flags.shape = geometry.shape;
    op.flags = flags;
    for (const Destination& each : to)
        b.write_back(each);
    set_resident(b, b.operand(0));
}

// tex{.base|.level|.grad}.geometry.v4.dtype.ctype {…}, [handle, {…}] {, level | , slopes, slopes}
void fetch(Builder& b) {
    Opcode& opcode = b.opcode();
    const Word coordinates = opcode.take_last();
    const Word type = opcode.take(opcode.count() - 2);
    const GeometryRow* const geometry = opcode.take_row(geometries);
    const bool is_fetched = type == "f32" || type == "s32" || type == "u32";
    if (geometry == nullptr || !opcode.take("v4") || !is_fetched) return b.refuse();
    const bool is_whole = coordinates == "s32";
    const bool has_level = opcode.take("level");
    const bool has_slopes = opcode.take("grad");
    opcode.take("base");  // Without a level, every fetch reads the base level.
    if (b.operand_count() != 2u + (has_level ? 1u : 0u) + (has_slopes ? 2u : 0u))
        return b.refuse("with an offset or a comparison");
    const auto image = image_operand(b, b.operand(1), *geometry);
    if (!image) return;
    std::array<Slot, 8> more;
    more.fill(no_slot);
    if (has_level && is_whole) return b.refuse("with a level and integer coordinates");
    if (has_level) more[1] = b.source(b.operand(2), 'w');
    if (has_slopes) {
        set_slopes(b, b.operand(2), *geometry, more, 2);
        set_slopes(b, b.operand(3), *geometry, more, 5);
    }
    emit_fetch(b, *geometry, *image, more, {.is_whole = is_whole});
}

// tld4.component.2d.v4.dtype.f32 {…}, [handle, {…}]
void gather(Builder& b) {
    Opcode& opcode = b.opcode();
    opcode.take_last();               // The type of the coordinates: .f32
    opcode.take(opcode.count() - 2);  // The type of the results, of 32 bits
    if (!opcode.take("2d") || !opcode.take("v4")) return b.refuse();
    static constexpr Meaning<u8> components[] = {{"r", 0}, {"g", 1}, {"b", 2}, {"a", 3}};
    exec::TextureFlags flags{.gathers = true};
    flags.component = opcode.take_row(components)->value & 3;
    if (b.operand_count() != 2) return b.refuse("with an offset or a comparison");
    const auto image = image_operand(b, b.operand(1), geometries[1]);
    if (!image) return;
    std::array<Slot, 8> more;
    more.fill(no_slot);
    emit_fetch(b, geometries[1], *image, more, flags);
}

// suld.b.geometry{.vec}.type.edge {…}, [handle, {…}] and sust.b … [handle, {…}], {…}
void surface(Builder& b, bool stores) {
    Opcode& opcode = b.opcode();
    const GeometryRow* const geometry = opcode.take_row(geometries);
    if (!opcode.take("b")) return b.refuse();
    auto edge = exec::SurfaceEdge::trap;
    if (opcode.take("clamp")) {
        edge = exec::SurfaceEdge::clamp;
    } else if (opcode.take("zero")) {
        edge = exec::SurfaceEdge::zero;
    } else {
        opcode.take("trap");
    }
    static constexpr Meaning<u32> sizes[] = {{"b8", 1}, {"b16", 2}, {"b32", 4}, {"b64", 8}};
    const u32 bytes = opcode.take_row(sizes)->value;
    const u32 count = take_vector(opcode);
    ignore_caches(opcode);
    const ptx::Operand& operand = b.operand(stores ? 1 : 0);
    const auto data = b.list(operand);
    if (data.size() != count) return b.refuse("with a vector of the wrong length");
    const auto image = image_operand(b, b.operand(stores ? 0 : 1), *geometry);
    if (!image) return;
    const char letter = letter_of_bytes(bytes);
    std::array<Slot, 4> slots;
    slots.fill(no_slot);
    std::array<Destination, 4> to;
    for (u32 k = 0; k < count; ++k) {
        if (stores) {
            slots[k] = b.source(data[k], letter);
        } else {
            to[k] = b.destination(data[k], letter);
            slots[k] = to[k].slot;
        }
    }
    if (b.refused()) return;
    // A layer follows the coordinates.
    std::array<Slot, 3> at = image->at;
    if (geometry->has_layer) at[geometry->axes] = image->layer;
    Op& op = b.emit(stores ? Operation::surface_store : Operation::surface_load,
                    {slots[0], slots[1], slots[2], slots[3], image->handle, at[0], at[1], at[2]});
    exec::SurfaceFlags flags{geometry->shape, edge};
    flags.bytes = bytes & 15;
    op.flags = flags;
    if (stores) return;
    for (const Destination& each : to)
        b.write_back(each);
}

// txq{.level}.query.b32 d, [handle] {, level} and suq.query.b32 d, [handle]
void query(Builder& b) {
    using exec::ImageQuery;
    static constexpr Meaning<ImageQuery> queries[] = {
        {"width", ImageQuery::width},
        {"height", ImageQuery::height},
        {"depth", ImageQuery::depth},
        {"array_size", ImageQuery::layers},
        {"num_mipmap_levels", ImageQuery::levels},
        {"num_samples", ImageQuery::samples},
        {"normalized_coords", ImageQuery::normalised}};
    Opcode& opcode = b.opcode();
    opcode.take_last();
    const bool has_level = opcode.take("level");
    const auto* const found = opcode.take_row(queries);
    if (found == nullptr) return b.refuse("whose values only OpenCL defines");
    const ptx::Operand& handle = b.operand(1);
    if (handle.kind != OperandKind::reg || handle.bits != 0)
        return b.refuse("without a handle in a register");
    const Slot image = b.source(handle, 'd');
    const Slot level = has_level ? b.source(b.operand(2), 'w') : no_slot;
    const Destination to = b.destination(b.operand(0), 'w');
    if (b.refused()) return;
    Op& op = b.emit(Operation::image_query, {to.slot, no_slot, no_slot, no_slot, image, level});
    op.flags = exec::QueryFlags{found->value, opcode.name() == "suq"};
    b.write_back(to);
}

void surface_load(Builder& b) {
    surface(b, false);
}
void surface_store(Builder& b) {
    surface(b, true);
}

constexpr OpcodeDecoder image_decoders[] = {{"tex", fetch},         {"tld4", gather},
                                            {"suld", surface_load}, {"sust", surface_store},
                                            {"txq", query},         {"suq", query}};

}  // namespace

OpcodeDecoders image_opcodes() noexcept {
    return image_decoders;
}

}  // namespace lode::emulator::decode
