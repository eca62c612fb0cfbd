// Changes of tensor maps by kernels.
#include "emulator/exec/ops/tensor/map.hpp"

#include "emulator/exec/lanes.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/isa/tensor_copy.hpp"
#include "emulator/memory/shared_bytes.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// The fields without a default; the numbers are those of TensorField.
constexpr std::string_view required[] = {"global_address", "rank",          "box_dim",
                                         "global_dim",     "global_stride", "element_stride"};

/// The bit of a field in TensorMap::missing; 0 for one that has a default.
constexpr u32 missing_bit(TensorField field, u32 ordinal) noexcept {
    const auto number = static_cast<u32>(field);
    return number < std::size(required) ? 1u << (number * most_tensor_axes + ordinal) : 0;
}

/// The map that a kernel begins in zeros.
TensorMap begun_map() noexcept {
    return TensorMap{.missing = missing_bit(TensorField::element_stride, most_tensor_axes) - 1};
}

/// The swizzle modes of tensormap.replace, by their numbers.
constexpr TensorSwizzle swizzle_modes[] = {TensorSwizzle::none, TensorSwizzle::bytes_32,
                                           TensorSwizzle::bytes_64, TensorSwizzle::bytes_128,
                                           TensorSwizzle::bytes_96};

/// Sets the swizzle, of which 128 bytes have an atomicity of 16 bytes, 32, 32 with an exchange of
/// 8, or 64.
void set_swizzle(TensorMap& map, TensorSwizzle mode, u32 atomicity) noexcept {
    map.atomicity = static_cast<u8>(atomicity);
    const bool is_widest = mode == TensorSwizzle::bytes_128;
    map.swizzle = static_cast<TensorSwizzle>(static_cast<u32>(mode) + (is_widest ? atomicity : 0));
}

/// The mode of a map's swizzle without its atomicity, and the atomicity.
std::pair<TensorSwizzle, u32> parts_of_swizzle(const TensorMap& map) noexcept {
    constexpr auto widest = TensorSwizzle::bytes_128;
    if (map.swizzle <= widest || map.swizzle == TensorSwizzle::bytes_96)
        return {map.swizzle, map.atomicity};
    return {widest, static_cast<u32>(map.swizzle) - static_cast<u32>(widest)};
}

/// Sets a field; false if the value isn't one of the field's.
bool set_field(TensorMap& map, TensorField field, u32 ordinal, u64 value) {
    switch (field) {
        case TensorField::global_address:
            map.address = value;
            return value % 16 == 0;
        case TensorField::rank:
            map.axes = static_cast<u8>(value + 1);
            return value < most_tensor_axes;
        case TensorField::box_dim:
            map.box[ordinal] = static_cast<u16>(value);
            return value >= 1 && value <= 256;
        case TensorField::global_dim:
            map.last_coordinate[ordinal] = static_cast<u32>(value - 1);
            return true;
        case TensorField::global_stride:
            if (ordinal >= map.strides.size()) return false;
            map.strides[ordinal] = value;
            return value % 16 == 0;
        case TensorField::element_stride:
            map.steps[ordinal] = static_cast<u8>(value);
            return value >= 1 && value <= 8;
        case TensorField::elemtype:
            map.element = static_cast<TensorElement>(value);
            return value <= 15;
        case TensorField::interleave_layout:
            map.interleave = static_cast<TensorInterleave>(value);
            return value <= 2;
        case TensorField::swizzle_mode:
            if (value >= std::size(swizzle_modes)) return false;
            set_swizzle(map, swizzle_modes[value], parts_of_swizzle(map).second);
            return true;
        case TensorField::swizzle_atomicity:
            set_swizzle(map, parts_of_swizzle(map).first, static_cast<u32>(value));
            return value <= 3;
        case TensorField::fill_mode:
            map.fill_nan = static_cast<u8>(value);
            return value <= 1;
    }
    return false;
}

}  // namespace

std::string unset_field(const TensorMap& map) {
    for (u32 field = 0; field < std::size(required); ++field) {
        const bool is_single = field <= static_cast<u32>(TensorField::rank);
        const bool is_between = field == static_cast<u32>(TensorField::global_stride);
        const u32 count = is_single ? 1 : is_between ? map.axes - 1u : map.axes;
        for (u32 ordinal = 0; ordinal < count; ++ordinal) {
            if ((map.missing & missing_bit(static_cast<TensorField>(field), ordinal)) == 0)
                continue;
            if (is_single) return std::string(required[field]);
            return fmt::format("{} {}", required[field], ordinal);
        }
    }
    return {};
}

const Op* replace_tensor_field(WarpContext& c, const Op* op) {
    const Window window = op->addressing.window;
    const bool narrow = op->addressing.narrow;
    const auto [field, ordinal] = op->flags.as<TensorFieldFlags>();
    const u8* addresses = source<u8>(c, op->r[1]);
    const u64* values = source<u64>(c, op->r[2]);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u64 address = lane_address(addresses, narrow, i) + op->imm;
        u8* halves[2] = {};
        for (u32 k = 0; k < 2; ++k) {
            halves[k] = lane_pointer(c, op, i, address + u64{k} * 64, 64, window, Access::atomic);
            if (halves[k] == nullptr) return leave();
        }
        alignas(TensorMap) u8 bytes[128];
        for (u32 k = 0; k < 2; ++k)
            copy_shared_bytes(bytes + std::size_t{k} * 64, halves[k], 64);
        TensorMap map;
        std::memcpy(&map, bytes, sizeof map);
        if (map.magic != TensorMap::magic_number) {
            if (std::ranges::any_of(bytes, [](u8 byte) { return byte != 0; }))
                return raise(c, op, i, Fault::illegal_instruction,
                             "replaces a field where there is neither a tensor map nor zeros");
            map = begun_map();
        }
        if (!set_field(map, field, ordinal, values[i])) {
            return raise(c, op, i, Fault::illegal_instruction,
                         fmt::format("replaces a field of a tensor map by {}, which it can't "
                                     "have",
                                     values[i]));
        }
        map.missing &= ~missing_bit(field, ordinal);
        std::memcpy(bytes, &map, sizeof map);
        for (u32 k = 0; k < 2; ++k)
            copy_shared_bytes(halves[k], bytes + std::size_t{k} * 64, 64);
    }
    return op + 1;
}

const Op* copy_tensor_map(WarpContext& c, const Op* op) {
    const u64* to = source<u64>(c, op->r[1]);
    const u64* from = source<u64>(c, op->r[2]);
    for (u32 left = c.mask; left != 0;) {
        // The lanes of a warp make one copy together.
        const auto i = static_cast<u32>(std::countr_zero(left));
        left &= ~lanes_where<u64>([&](u32 k) { return to[k] == to[i] && from[k] == from[i]; });
        for (u32 at = 0; at < 128; at += 64) {
            const u8* const part =
                lane_pointer(c, op, i, from[i] + at, 64, Window::shared, Access::read);
            if (part == nullptr) return leave();
            u8* const target =
                lane_pointer(c, op, i, to[i] + at, 64, Window::global, Access::write);
            if (target == nullptr) return leave();
            copy_shared_bytes(target, part, 64);
        }
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
