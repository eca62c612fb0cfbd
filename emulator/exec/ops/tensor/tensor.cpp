// Tensor copies, as PTX describes them: a box of a tensor is dense in shared memory; elements
// outside of the tensor are filled when loaded and skipped when stored.
#include "emulator/exec/ops/memory/bulk.hpp"
#include "emulator/exec/ops/tensor/map.hpp"
#include "emulator/exec/ops/tensor/pixels.hpp"
#include "emulator/exec/ops/tensor/swizzle.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/cluster.hpp"
#include "emulator/isa/tensor_copy.hpp"
#include "emulator/memory/shared_bytes.hpp"
#include "emulator/memory/tensor_map.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

const Op* wrong_map(WarpContext& c, const Op* op, u32 lane, std::string text) {
    return raise(c, op, lane, Fault::illegal_instruction, std::move(text));
}

/// The map at a generic address; nothing after a fault.
std::optional<TensorMap> read_map(WarpContext& c, const Op* op, u32 lane, u64 address) {
    alignas(TensorMap) u8 bytes[128];
    if ((address & 63) != 0) {
        raise(c, op, lane, Fault::misaligned_address,
              fmt::format(
                  "uses a tensor map at an address that isn't a multiple of 64\naddress: 0x{:x}",
                  address));
        return std::nullopt;
    }
    if (address >> window_shift == static_cast<u64>(Window::param)) {
        const auto offset = static_cast<u32>(address);
        if (u64{offset} + sizeof bytes > c.parameter_bytes) {
            raise(c, op, lane, Fault::illegal_address,
                  fmt::format("uses a tensor map at offset {} of {} bytes of parameters", offset,
                              c.parameter_bytes));
            return std::nullopt;
        }
        std::memcpy(bytes, c.parameters + offset, sizeof bytes);
    } else {
        for (u32 at = 0; at < sizeof bytes; at += 64) {
            const u8* const half =
                lane_pointer(c, op, lane, address + at, 64, Window::code, Access::read);
            if (half == nullptr) return std::nullopt;
            copy_shared_bytes(bytes + at, half, 64);
        }
    }
    TensorMap map;
    std::memcpy(&map, bytes, sizeof map);
    if (map.magic != TensorMap::magic_number || map.axes > most_tensor_axes) {
        wrong_map(c, op, lane,
                  fmt::format("uses a tensor map at 0x{:x}, where nothing has made one", address));
        return std::nullopt;
    }
    const std::string unset = unset_field(map);
    if (unset.empty()) return map;
    wrong_map(c, op, lane,
              fmt::format("uses a tensor map whose {} isn't set\nmap: at 0x{:x}, made by "
                          "tensormap.replace in memory of zeros",
                          unset, address));
    return std::nullopt;
}

/// What fills elements outside of the tensor; an H200 repeats one pattern whatever their size.
constexpr u64 nan_filling = 0x7ff7'7ff7'7ff7'7ff7;

/// A .f32 number as .tf32: rounded to 11 bits to nearest even.
u32 rounded_to_tf32(u32 value) noexcept {
    constexpr u32 infinity = 0x7f80'0000;
    constexpr u32 lost = 13;
    if ((value & 0x7fff'ffff) > infinity) return 0x7fff'e000;
    const u32 odd = value >> lost & 1;
    return (value + (1u << (lost - 1)) - 1 + odd) >> lost << lost;
}

std::optional<AtomicType> reduction_type(TensorElement element, AtomicOp what) noexcept {
    const bool bits =
        what == AtomicOp::bit_and || what == AtomicOp::bit_or || what == AtomicOp::bit_xor;
    const bool counts = what == AtomicOp::inc || what == AtomicOp::dec;
    const bool extreme = what == AtomicOp::min || what == AtomicOp::max;
    struct Row {
        TensorElement element;
        AtomicType type;
        bool has_counts, has_bits, has_extremes, has_sums;
    };
    static constexpr Row rows[] = {
        {TensorElement::uint32, AtomicType::u32, true, true, true, true},
        {TensorElement::int32, AtomicType::s32, false, true, true, true},
        {TensorElement::uint64, AtomicType::u64, false, true, true, true},
        {TensorElement::int64, AtomicType::s64, false, true, true, false},
        {TensorElement::float16, AtomicType::f16, false, false, true, true},
        {TensorElement::bfloat16, AtomicType::bf16, false, false, true, true},
        {TensorElement::float32, AtomicType::f32, false, false, false, true},
        {TensorElement::float32_ftz, AtomicType::f32, false, false, false, true},
        {TensorElement::float64, AtomicType::f64, false, false, false, true}};
    const auto* const row = std::ranges::find(rows, element, &Row::element);
    if (row == std::end(rows) || (counts && !row->has_counts) || (bits && !row->has_bits) ||
        (extreme && !row->has_extremes) || (what == AtomicOp::add && !row->has_sums))
        return std::nullopt;
    return row->type;
}

/// One lane's copy: rows of elements along axis 0, one after the other in shared memory.
class TensorMove {
public:
    TensorMove(WarpContext& c, const Op* op, u32 lane, const TensorMap& map, TensorCopy what)
        : c_(c), op_(op), lane_(lane), map_(map), what_(what), size_(unit_bytes(map)) {}

    /// Where each copied box begins; several blocks may receive one.
    void set_shared(u64 address) noexcept { shared_ = address; }
    void set_reduction(AtomicOp how) noexcept { how_ = how; }

    [[nodiscard]] u32 bytes() const noexcept { return bytes_; }

    /// A box of a tensor, whose first element has the coordinates `at`.
    bool tile(const Coordinates& at) {
        Coordinates count{1, 1, 1, 1, 1};
        for (u32 axis = 0; axis < map_.axes; ++axis)
            count[axis] = (map_.box[axis] + step(axis) - 1) / step(axis);
        // A box has one slice of channels.
        if (map_.interleave != TensorInterleave::none) count[map_.axes - 2] = 1;
        Coordinates k{};
        for (k[4] = 0; k[4] < count[4]; ++k[4]) {
            for (k[3] = 0; k[3] < count[3]; ++k[3]) {
                for (k[2] = 0; k[2] < count[2]; ++k[2]) {
                    for (k[1] = 0; k[1] < count[1]; ++k[1]) {
                        Coordinates row = at;
                        for (u32 axis = 1; axis < map_.axes; ++axis)
                            row[axis] += k[axis] * step(axis);
                        if (!move_row(row, static_cast<u32>(count[0]), step(0))) return false;
                    }
                }
            }
        }
        return true;
    }

    /// Four rows of a plane.
    bool rows(i64 column, const std::array<i64, 4>& numbers) {
        return std::ranges::all_of(numbers, [&](i64 number) {
            return move_row({column, number, 0, 0, 0}, map_.box[0], 1);
        });
    }

    /// Pixels of a tensor in order of their coordinates, each shifted by the offsets.
    bool column(const Coordinates& at, const std::array<i64, 3>& offsets) {
        PixelWalk walk(map_, at);
        for (u32 pixel = 0; pixel < map_.pixels; ++pixel, walk.advance()) {
            Coordinates place = walk.at();
            for (u32 axis = 1; axis < map_.axes - 1u; ++axis)
                place[axis] += offsets[axis - 1];
            if (!move_row(place, map_.channels, 1)) return false;
        }
        return true;
    }

    /// The same along W alone, with a halo.
    bool wide_column(const Coordinates& at, const WideOperands& operands) {
        return each_wide_pixel(map_, at, operands, [&](const Coordinates& pixel) {
            return move_row(pixel, map_.channels, 1);
        });
    }

    /// Keeps what the race check wants to know.
    void take_notes() noexcept { is_noted_ = what_ != TensorCopy::prefetch; }
    /// What it wants to know. Reductions don't race with each other in global memory, and are left
    /// out there.
    void tell(CopyOrder& order) {
        if (!is_noted_) return;
        const bool loads = what_ == TensorCopy::load;
        const CopyEnd end = loads ? CopyEnd::mbarrier : CopyEnd::bulk_group;
        shared_bytes_.tell(order, op_, lane_, true, !loads, end);
        if (what_ != TensorCopy::reduce) global_bytes_.tell(order, op_, lane_, false, loads, end);
    }

private:
    /// What axis 0 counts: elements, or slices of channels.
    static u32 unit_bytes(const TensorMap& map) noexcept {
        constexpr u32 slices[] = {0, 16, 32};
        const u32 slice = slices[static_cast<u8>(map.interleave)];
        return slice != 0 ? slice : element_bytes(map.element);
    }

    [[nodiscard]] i64 step(u32 axis) const noexcept {
        if (axis == 0 && map_.interleave == TensorInterleave::none) return 1;
        return std::max<i64>(1, map_.steps[axis]);
    }

    /// Stores and reductions end a row with a whole chunk of 16 bytes, as on an H200.
    [[nodiscard]] bool is_inside(const Coordinates& at, u32 axis) const noexcept {
        i64 end = i64{map_.last_coordinate[axis]} + 1;
        const bool writes = what_ == TensorCopy::store || what_ == TensorCopy::reduce;
        if (axis == 0 && writes) end = (end * size_ + 15) / 16 * 16 / size_;
        return at[axis] >= 0 && at[axis] < end;
    }

    /// Elements along axis 0. Those in the tensor are consecutive, because the tensor is a box too.
    bool move_row(Coordinates at, u32 count, i64 stride) {
        bool in_tensor = true;
        u64 address = map_.address;
        for (u32 axis = 1; axis < map_.axes; ++axis) {
            in_tensor = in_tensor && is_inside(at, axis);
            address += static_cast<u64>(at[axis]) * map_.strides[axis - 1];
        }
        if (is_packed(map_.element)) return move_packed_row(at, count, in_tensor, address);
        const i64 first = at[0];
        const u32 begin = offset_;
        for (u32 k = 0; k < count; ++k) {
            at[0] = first + k * stride;
            const bool inside = in_tensor && is_inside(at, 0);
            const u64 unit = address + static_cast<u64>(at[0]) * size_;
            // A slice consists of chunks that a swizzle can exchange.
            const u32 chunk = std::min(size_, 16u);
            for (u32 part = 0; part < size_; part += chunk) {
                if (!move_element(inside, unit + part, chunk)) return false;
            }
        }
        if (map_.interleave == TensorInterleave::none)
            offset_ = std::max(offset_, begin + row_pitch(map_.swizzle));
        return true;
    }

    /// Units of 16 packed elements. The mbarrier counts the bytes without gaps.
    bool move_packed_row(Coordinates at, u32 count, bool in_tensor, u64 address) {
        const PackedUnit unit = packed_unit(map_.element);
        const u32 part = unit.bytes % 8 == 0 ? 8 : 4;
        const u32 begin = offset_;
        const u64 row = address + static_cast<u64>(at[0] / PackedUnit::elements) * unit.bytes;
        for (u32 k = 0; k < count / PackedUnit::elements; ++k, at[0] += PackedUnit::elements) {
            u8 bytes[16] = {};
            const bool inside = in_tensor && is_inside(at, 0);
            for (u32 from = 0; inside && from < unit.bytes; from += part) {
                const u8* const global = global_pointer(row + u64{k} * unit.bytes + from, part);
                if (global == nullptr) return false;
                copy_shared_bytes(bytes + from, global, part);
            }
            bytes_ += unit.bytes;
            const u32 offset = std::exchange(offset_, offset_ + unit.shared_bytes);
            if (what_ == TensorCopy::prefetch) continue;
            u8* const shared = shared_pointer(offset, unit.shared_bytes);
            if (shared == nullptr) return false;
            std::memcpy(shared, bytes, unit.shared_bytes);
        }
        offset_ = std::max(offset_, begin + row_pitch(map_.swizzle));
        return true;
    }

    bool move_element(bool inside, u64 address, u32 size) {
        const u32 offset = std::exchange(offset_, offset_ + size);
        bytes_ += size;
        const bool loads = what_ == TensorCopy::load;
        if (!inside && !loads) return true;
        u8* global = nullptr;
        if (inside) {
            global = global_pointer(address, size);
            if (global == nullptr) return false;
        }
        if (what_ == TensorCopy::prefetch) return true;
        u8* const shared = shared_pointer(offset, size);
        if (shared == nullptr) return false;
        if (!loads) {
            if (what_ == TensorCopy::reduce) {
                combine_elements(*reduction_type(map_.element, how_), how_, global, shared, size,
                                 false);
            } else {
                copy_shared_bytes(global, shared, size);
            }
            return true;
        }
        if (inside) {
            copy_shared_bytes(shared, global, size);
            if (map_.element >= TensorElement::tfloat32) round_words(shared, size);
        } else {
            const u64 fill[2] = {map_.fill_nan != 0 ? nan_filling : 0,
                                 map_.fill_nan != 0 ? nan_filling : 0};
            std::memcpy(shared, fill, size);
        }
        return true;
    }

    static void round_words(u8* words, u32 bytes) noexcept {
        for (u32 at = 0; at < bytes; at += 4) {
            u32 value = 0;
            std::memcpy(&value, words + at, sizeof value);
            value = rounded_to_tf32(value);
            std::memcpy(words + at, &value, sizeof value);
        }
    }

    u8* global_pointer(u64 address, u32 size) {
        const Access access = what_ == TensorCopy::load     ? Access::read
                              : what_ == TensorCopy::store  ? Access::write
                              : what_ == TensorCopy::reduce ? Access::atomic
                                                            : Access::prefetch;
        u8* const at = lane_pointer(c_, op_, lane_, address, size, Window::global, access);
        if (is_noted_ && at != nullptr) global_bytes_.add(address, size);
        return at;
    }

    u8* shared_pointer(u32 offset, u32 size) {
        const auto whole = static_cast<u32>(shared_);
        const u32 plain = (whole & own_offset_mask) + offset;
        const u32 address = (whole & ~own_offset_mask) | swizzled(plain, map_.swizzle);
        const Access access = what_ == TensorCopy::load ? Access::write : Access::read;
        u8* const at = lane_pointer(c_, op_, lane_, address, size, Window::shared, access);
        if (at != nullptr && access == Access::read && c_.launch->accesses != nullptr &&
            is_own_shared(c_, at))
            order_proxy_read(c_, op_, lane_, static_cast<u32>(at - c_.shared), size);
        if (is_noted_ && at != nullptr && is_own_shared(c_, at))
            shared_bytes_.add(static_cast<u64>(at - c_.shared), size);
        return at;
    }

    WarpContext& c_;
    const Op* op_;
    u32 lane_;
    const TensorMap& map_;
    TensorCopy what_;
    u32 size_;
    AtomicOp how_ = AtomicOp::add;
    u64 shared_ = 0;
    u32 offset_ = 0;  ///< In shared memory, before the swizzle.
    u32 bytes_ = 0;   ///< Moved so far.
    bool is_noted_ = false;
    CopiedBytes shared_bytes_, global_bytes_;  ///< For the race check.
};

/// The operands of one lane.
struct TensorOperands {
    Coordinates at{};
    std::array<i64, 3> offsets{};
};

TensorOperands operands_of(const WarpContext& c, const Op* op, u32 lane) {
    TensorOperands made;
    for (u32 k = 0; k < most_tensor_axes; ++k) {
        if (op->r[k] != no_slot) made.at[k] = source<i32>(c, op->r[k])[lane];
    }
    for (u32 k = 0; k < 3; ++k) {
        if (op->r[5 + k] != no_slot) made.offsets[k] = source<u16>(c, op->r[5 + k])[lane];
    }
    return made;
}

/// Whether a swizzle of 96 bytes can permute the boxes of a map: they are dense, and have at most
/// so many bytes in a row.
bool has_rows_of_96(const TensorMap& map) noexcept {
    const bool is_tile = map.mode == TensorMode::tile;
    const u32 count = is_tile ? map.box[0] : map.channels;
    const u32 bytes =
        map.element == TensorElement::u4x16_align8 ? count / 2 : count * element_bytes(map.element);
    return map.interleave == TensorInterleave::none && map.element <= TensorElement::u4x16_align8 &&
           map.mode != TensorMode::im2col_w_128 && bytes <= 96;
}

/// What is wrong with a map for an instruction, as the rest of "uses a tensor map …".
std::string mismatch(const TensorMap& map, TensorCopyFlags flags) {
    const TensorCopy what = flags.what;
    const TensorMode mode = flags.mode;
    const bool loads = what == TensorCopy::load || what == TensorCopy::prefetch;
    const bool is_tile = mode == TensorMode::tile && !flags.gathers;
    const bool is_wide = mode >= TensorMode::im2col_w;
    if (is_packed(map.element) && !(loads && (is_tile || is_wide)))
        return "of packed elements, which the software device only loads, from tiles and wide "
               "im2col";
    if (map.interleave != TensorInterleave::none && (map.axes < 3 || !is_tile))
        return "of interleaved elements, which the software device copies only as tiles";
    if (map.atomicity != 0 &&
        (map.swizzle < TensorSwizzle::bytes_128 || map.swizzle == TensorSwizzle::bytes_96))
        return "with a swizzle atomicity, which only a swizzle of 128 bytes has";
    if (map.swizzle == TensorSwizzle::bytes_96 && !has_rows_of_96(map))
        return "with a swizzle of 96 bytes, which needs rows of at most 96 dense bytes";
    if (map.axes != flags.axes)
        return fmt::format("of {} dimensions in an instruction for {}", map.axes, u32{flags.axes});
    if (mode != map.mode)
        return fmt::format("for {} in an instruction for {}", tensor_mode_name(map.mode),
                           tensor_mode_name(mode));
    if (what != TensorCopy::reduce || reduction_type(map.element, flags.reduction)) return {};
    return "of a type that has no such reduction";
}

bool copy_lane(WarpContext& c, const Op* op, u32 lane, const TensorMap& map, u64 shared,
               CopyOrder& order, u32& bytes) {
    const auto flags = op->flags.as<TensorCopyFlags>();
    const TensorCopy what = flags.what;
    const TensorOperands operands = operands_of(c, op - 1, lane);
    const u32 size = element_bytes(map.element);
    const i64 whole = map.element == TensorElement::u4x16_align8 ? 32 : 128;
    if (is_packed(map.element) && operands.at[0] % whole != 0) {
        raise(c, op, lane, Fault::illegal_instruction,
              fmt::format("copies packed elements from a coordinate that isn't a multiple of {}\n"
                          "coordinate: the first is {}",
                          whole, operands.at[0]));
        return false;
    }
    if (map.interleave == TensorInterleave::none && operands.at[0] * size % 16 != 0) {
        raise(c, op, lane, Fault::illegal_instruction,
              fmt::format("copies a tensor from a coordinate that isn't a multiple of 16 bytes\n"
                          "coordinate: the first is {}, of elements of {}",
                          operands.at[0], bytes_text(size)));
        return false;
    }
    const bool writes = what == TensorCopy::store || what == TensorCopy::reduce;
    const auto below = std::ranges::find_if(operands.at, [](i64 at) { return at < 0; });
    if (writes && below != operands.at.end()) {
        raise(c, op, lane, Fault::illegal_instruction,
              fmt::format("stores a tensor's box at the negative coordinate {}", *below));
        return false;
    }
    const WideOperands wide{operands.offsets[0], operands.offsets[1]};
    const bool is_wide = map.mode >= TensorMode::im2col_w;
    if (is_wide) {
        const bool is_moved = what != TensorCopy::prefetch;
        std::string wrong = wrong_wide_column(map, operands.at, wide, is_moved);
        if (!wrong.empty()) {
            raise(c, op, lane, Fault::illegal_instruction, std::move(wrong));
            return false;
        }
    }
    TensorMove move(c, op, lane, map, what);
    move.set_shared(shared);
    move.set_reduction(flags.reduction);
    if (order.is_checked()) move.take_notes();
    bool fine = false;
    if (flags.gathers) {
        fine = move.rows(operands.at[0],
                         {operands.at[1], operands.at[2], operands.at[3], operands.at[4]});
    } else if (is_wide) {
        fine = move.wide_column(operands.at, wide);
    } else if (map.mode == TensorMode::im2col) {
        fine = move.column(operands.at, operands.offsets);
    } else {
        fine = move.tile(operands.at);
    }
    bytes = move.bytes();
    if (fine) move.tell(order);
    return fine;
}

/// The mbarrier that a block's copy signals.
u64 signalled(const WarpContext& c, const Op* op, u64 barrier) noexcept {
    const bool has_rank = (static_cast<u32>(barrier) >> rank_shift) != 0;
    const bool moves =
        op->flags.as<TensorCopyFlags>().by_pair && !has_rank && (c.block->rank & 1) != 0;
    return moves ? in_block(barrier, c.block->rank & ~1u) : barrier;
}

}  // namespace

const Op* tensor_operands(WarpContext&, const Op* op) {
    return op + 1;
}

const Op* copy_tensor(WarpContext& c, const Op* op) {
    const u64* maps = source<u64>(c, op->r[1]);
    const u64* shared = op->r[2] != no_slot ? source<u64>(c, op->r[2]) : nullptr;
    const u64* barriers = op->r[3] != no_slot ? source<u64>(c, op->r[3]) : nullptr;
    const u16* blocks = op->r[4] != no_slot ? source<u16>(c, op->r[4]) : nullptr;
    const u64* tensors = op->r[5] != no_slot ? source<u64>(c, op->r[5]) : nullptr;
    const auto flags = op->flags.as<TensorCopyFlags>();
    const u32 odd = flags.by_pair ? 1 : 0;
    CopyOrder order(c);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        auto map = read_map(c, op, i, maps[i]);
        if (!map) return leave();
        if (tensors != nullptr) map->address = tensors[i];
        if (map->address % 16 != 0) {
            return raise(c, op, i, Fault::misaligned_address,
                         fmt::format("copies a tensor that begins at an address that isn't a "
                                     "multiple of 16\naddress: 0x{:x}",
                                     map->address));
        }
        if (const std::string wrong = mismatch(*map, flags); !wrong.empty())
            return wrong_map(c, op, i, "uses a tensor map " + wrong);
        const u64 at = shared != nullptr ? shared[i] : 0;

        if (shared != nullptr && (at & 15) != 0) {
            return raise(c, op, i, Fault::misaligned_address,
                         fmt::format("copies a tensor's box at an address that isn't a multiple of "
                                     "16\naddress: {} in shared memory",
                                     static_cast<u32>(at)));
        }
        u32 bytes = 0;
        if (blocks == nullptr) {
            if (!copy_lane(c, op, i, *map, at, order, bytes)) return leave();
            if (barriers != nullptr &&
                !complete_bytes(c, op, i, signalled(c, op, barriers[i]), bytes, order))
                return leave();
            continue;
        }
        for (u32 rest = blocks[i]; rest != 0; rest &= rest - 1) {
            const auto rank = static_cast<u32>(std::countr_zero(rest));
            const bool fine =
                copy_lane(c, op, i, *map, in_block(at, rank), order, bytes) &&
                complete_bytes(c, op, i, in_block(barriers[i], rank & ~odd), bytes, order);
            if (!fine) return leave();
        }
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
