// tcgen05.mma: products of matrices in shared and tensor memory. One is complete when its op ends.
#include "emulator/exec/ops/matrix/descriptor.hpp"
#include "emulator/exec/ops/matrix/fragment.hpp"
#include "emulator/exec/ops/memory/copy_order.hpp"
#include "emulator/exec/ops/tensor/instruction.hpp"
#include "emulator/exec/tensor_memory.hpp"
#include "emulator/isa/half.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <vector>

namespace lode::emulator::exec {

namespace {

constexpr u32 padded_columns = 256 + 32;

/// How numbers lie in shared memory: 16 of 6 or 4 bits are padded to 16 bytes, unless all are of 4.
ChunkFormat shared_format(Element element) noexcept {
    switch (element) {
        case Element::e2m3:
        case Element::e3m2:
            return {6, 16, 0};
        case Element::e2m1:
            return {4, 16, 2};
        default:
            return chunk_format(element);
    }
}

/// One thread's product.
class TensorMultiplication {
public:
    TensorMultiplication(WarpContext& c, const Op* op, u32 thread, const TensorInstruction& of)
        : c_(c),
          op_(op),
          thread_(thread),
          plan_(*static_cast<const TensorProduct*>(op->table)),
          of_(of),
          place_(plan_, of),
          left_depth_(plan_.sparse ? of.k / 2 : of.k),
          group_rows_(plan_.scales != 0 ? 16 : 32) {}

    /// False after a fault.
    bool run() {
        for (u32 k = 0; k < plan_.blocks; ++k) {
            blocks_[k] = plan_.blocks == 1 ? c_.block : block_of_pair(c_, op_, thread_, k);
            if (blocks_[k] == nullptr) return false;
        }
        if (!read_right()) return false;
        for (u32 k = 0; k < plan_.blocks; ++k) {
            for (u32 part = 0; part < place_.parts; ++part)
                if (!multiply(k, part)) return false;
        }
        return true;
    }

private:
    [[nodiscard]] u32 word(Slot slot) const noexcept { return source<u32>(c_, slot)[thread_]; }

    /// The columns of b; each block of a pair has half of them.
    bool read_right() {
        right_.resize(std::size_t{of_.k} * padded_columns);
        const u64 bits = source<u64>(c_, plan_.b)[thread_];
        const auto from = MatrixDescriptor::of_tensor_core(bits);
        const u32 columns = of_.n / plan_.blocks;
        if (!is_valid(bits)) return false;
        for (u32 k = 0; k < plan_.blocks; ++k) {
            ChunkReader reader{c_, op_, thread_, tag_of_block(c_, *blocks_[k])};
            // A chunk across the depth may have more columns than there are; the next block's, or
            // the padding, come after them.
            if (!read_matrix(reader, from, shared_format(of_.b), of_.b_by_rows, 0, columns, of_.k,
                             right_.data() + std::size_t{k} * columns, 1, padded_columns))
                return false;
        }
        return true;
    }

    bool is_valid(u64 descriptor) {
        const std::string wrong = wrong_descriptor(descriptor);
        if (!wrong.empty()) raise(c_, op_, thread_, Fault::illegal_instruction, wrong);
        return wrong.empty();
    }

    /// A part of the result in one block, 32 or 16 rows after the other.
    bool multiply(u32 number, u32 part) {
        if (!read_left(number, part)) return false;
        Block& block = *blocks_[number];
        const u32 base = word(plan_.d);
        const u32 first_lane = base >> 16;
        const u32 column = base & 0xffff;
        const u32 last_lane = place_.lane_of(place_.rows - 1, part);
        const u32 part_lane = place_.lane_of(0, part);
        TensorMemory* const memory =
            tensor_memory_at(c_, op_, thread_, block, first_lane + part_lane,
                             last_lane - part_lane + 1, column, place_.part_columns, "writes");
        if (memory == nullptr) return false;
        const TensorWrite by = tensor_write(c_, op_, thread_);
        const bool adds = (predicate(c_, plan_.adds) >> thread_ & 1) != 0;
        for (u32 at = 0; at < place_.part_columns; at += panel_columns) {
            take_right(of_.b, right_.data(), of_.k, padded_columns, part * place_.part_columns + at,
                       panel_);
            if (of_.negates_b) negate_elements(panel_, of_.k * panel_columns);
            for (u32 row = 0; row < place_.rows; row += group_rows_) {
                LeftMatrix& left = left_[row / group_rows_];
                for (u32 r = 0; r < left.rows; ++r) {
                    const u32* const from =
                        memory->at(first_lane + place_.lane_of(row + r, part), column + at);
                    if (adds && !is_disabled(number, first_lane + place_.lane_of(row + r, part)))
                        check_written(c_, op_, thread_, *memory,
                                      first_lane + place_.lane_of(row + r, part), column + at);
                    for (u32 j = 0; j < panel_columns; ++j)
                        sum_.bits[r * panel_columns + j] = adds ? summand(from[j]) : 0;
                }
                if (!add(block, left, row, part, at)) return false;
                for (u32 r = 0; r < left.rows; ++r) {
                    const u32 lane = first_lane + place_.lane_of(row + r, part);
                    if (is_disabled(number, lane)) continue;
                    std::copy_n(&sum_.bits[std::size_t{r} * panel_columns], panel_columns,
                                memory->at(lane, column + at));
                    memory->mark(lane, column + at, panel_columns);
                    memory->note(lane, column + at, panel_columns, by);
                }
            }
        }
        return true;
    }

    [[nodiscard]] u32 summand(u32 bits) const noexcept {
        if (of_.d == Element::f16) bits &= 0xffff;
        if (plan_.halvings == 0) return bits;
        if (of_.d == Element::f16) {
            const f32 value = half_to_real(static_cast<u16>(bits));
            return real_to_half(std::ldexp(value, -plan_.halvings));
        }
        return bits_of(std::ldexp(real32(bits), -plan_.halvings));
    }

    [[nodiscard]] bool is_disabled(u32 number, u32 lane) const noexcept {
        if (plan_.disabled.empty()) return false;
        return (word(plan_.disabled[number * 4 + lane / 32]) >> (lane % 32) & 1) != 0;
    }

    /// sum_ += left * panel_
    bool add(Block& block, LeftMatrix& left, u32 row, u32 part, u32 column) {
        if (plan_.scales == 0) {
            const ProductTypes types{of_.a,        of_.d, of_.d, plan_.precision, BitProduct::none,
                                     of_.saturates};
            add_product(types, left, panel_, sum_);
            return true;
        }
        if (!read_scales(block, row, part, column)) return false;
        if (plan_.kind == TensorKind::mxf8f6f4) {
            scaled_left_ = left;
            scaled_panel_ = panel_;
            scale_elements(scales_, scaled_left_, scaled_panel_);
            add_real_product(scaled_left_, scaled_panel_, plan_.precision, false, false, sum_);
        } else {
            add_scaled_groups(scales_, left, panel_, group_of_products(plan_.sparse), sum_);
        }
        return true;
    }

    /// The scales of 16 rows and 8 columns, from the quarter of the lanes that has the rows. 32
    /// rows or columns have one column of tensor memory, and a byte for each scale.
    bool read_scales(Block& block, u32 row, u32 part, u32 column) {
        const u32 quarter = place_.lane_of(row, part) / 32 * 32;
        scales_.count = plan_.scales;
        scales_.has_nan = false;
        const auto take = [&](u32 base, u32 index, u32 byte, f32& significand, i32& exponent) {
            const u32 lane = (base >> 16) + quarter + index % 32;
            const u32 at = (base & 0xffff) + index / 32;
            TensorMemory* const memory =
                tensor_memory_at(c_, op_, thread_, block, lane, 1, at, 1, "reads");
            if (memory == nullptr) return false;
            const u32 raw = *memory->at(lane, at) >> (8 * byte) & 255;
            if (of_.scales_have_fraction) {
                const u32 number = raw & 0x7f;
                scales_.has_nan |=
                    split<e4m3_number>(&number, 1, zero_exponent, &significand, &exponent);
            } else {
                significand = raw == 255 ? std::numeric_limits<f32>::quiet_NaN() : 1;
                exponent = static_cast<i32>(raw) - 127;
                scales_.has_nan |= raw == 255;
            }
            return true;
        };
        for (u32 k = 0; k < plan_.scales; ++k) {
            for (u32 r = 0; r < 16; ++r) {
                const std::size_t to = r * plan_.scales + k;
                if (!take(word(plan_.a_scales), row + r, of_.a_scale_byte + k,
                          scales_.a_significands[to], scales_.a_exponents[to]))
                    return false;
            }
            for (u32 j = 0; j < panel_columns; ++j) {
                const std::size_t to = j * plan_.scales + k;
                if (!take(word(plan_.b_scales), column + j, of_.b_scale_byte + k,
                          scales_.b_significands[to], scales_.b_exponents[to]))
                    return false;
            }
        }
        return true;
    }

    /// The rows of a in one block. In tensor memory, each part of the result has its own copy.
    bool read_left(u32 number, u32 part) {
        raw_.resize(std::size_t{place_.rows} * left_depth_);
        if (plan_.a_in_tensor_memory) {
            if (!read_left_lanes(*blocks_[number], part)) return false;
        } else if (part == 0) {
            const u64 bits = source<u64>(c_, plan_.a)[thread_];
            if (!is_valid(bits)) return false;
            ChunkReader reader{c_, op_, thread_, tag_of_block(c_, *blocks_[number])};
            if (!read_matrix(reader, MatrixDescriptor::of_tensor_core(bits), shared_format(of_.a),
                             of_.a_by_columns, 0, place_.rows, left_depth_, raw_.data(),
                             left_depth_, 1))
                return false;
        }
        left_.resize((place_.rows + group_rows_ - 1) / group_rows_);
        for (u32 row = 0; row < place_.rows; row += group_rows_) {
            LeftMatrix& left = left_[row / group_rows_];
            const u32 rows = std::min(group_rows_, place_.rows - row);
            take_left(of_.a, raw_.data() + std::size_t{row} * left_depth_, rows, left_depth_,
                      plan_.sparse ? packed_ : left);
            if (plan_.sparse && !spread(*blocks_[number], row, rows, part, left)) return false;
            if (of_.negates_a) negate_elements(left, std::size_t{rows} * of_.k);
        }
        return true;
    }

    bool read_left_lanes(Block& block, u32 part) {
        const u32 base = word(plan_.a);
        const u32 bits = bits_of(of_.a);
        const u32 mask = bits == 32 ? ~u32{0} : (1u << bits) - 1;
        const u32 columns = left_depth_ * bits / 32;
        for (u32 row = 0; row < place_.rows; ++row) {
            const u32 lane = (base >> 16) + place_.lane_of(row, part);
            const u32 column = base & 0xffff;
            TensorMemory* const memory =
                tensor_memory_at(c_, op_, thread_, block, lane, 1, column, columns, "reads");
            if (memory == nullptr) return false;
            check_written(c_, op_, thread_, *memory, lane, column);
            const u32* const from = memory->at(lane, column);
            for (u32 k = 0; k < left_depth_; ++k) {
                raw_[row * left_depth_ + k] = (from[k * bits / 32] >> (k * bits % 32)) & mask;
            }
        }
        return true;
    }

    /// Puts packed_ into its places. Four bits of metadata belong to each chunk: of 16 and 32 bits,
    /// 16 rows have one column, in which the low half belongs to the first eight rows, and lanes
    /// from 8 on to the second half of the chunks; of 8 bits and less, a row has two columns.
    bool spread(Block& block, u32 row, u32 rows, u32 part, LeftMatrix& left) {
        MatrixProduct sparse;
        sparse.a.element = of_.a;
        const bool pairs = of_.a == Element::e2m1_x2;
        const bool wide = of_.a == Element::tf32;
        sparse.sparsity = wide    ? Sparsity::one_of_two
                          : pairs ? Sparsity::pairs_of_eight
                                  : Sparsity::two_of_four;
        const u32 chunks = of_.k / (wide ? 2 : pairs ? 8 : 4);
        const bool halves = bits_of(of_.a) >= 16;
        const u32 base = word(plan_.metadata);
        const u32 column = (base & 0xffff) + of_.selector;
        std::vector<u32> words((std::size_t{rows} * chunks + 7) / 8);
        for (u32 r = 0; r < rows; ++r) {
            for (u32 chunk = 0; chunk < chunks; ++chunk) {
                const u32 in_group = (row + r) % 16;
                u32 lane = (base >> 16) + place_.lane_of(row + r - in_group, part);
                u32 at = column;
                u32 bit = chunk * 4;
                if (halves) {
                    lane += in_group % 8 + 8 * (chunk / 4);
                    bit = in_group / 8 * 16 + chunk % 4 * 4;
                } else {
                    lane += in_group;
                    at += bit / 32;
                    bit %= 32;
                }
                TensorMemory* const memory =
                    tensor_memory_at(c_, op_, thread_, block, lane, 1, at, 1, "reads");
                if (memory == nullptr) return false;
                const u32 index = r * chunks + chunk;
                words[index / 8] |= (*memory->at(lane, at) >> bit & 15) << (index % 8 * 4);
                sparse.metadata_places.push_back(static_cast<u16>(index * 4));
            }
        }
        spread_left(sparse, words.data(), packed_, left);
        return true;
    }

    WarpContext& c_;
    const Op* op_;
    u32 thread_;
    const TensorProduct& plan_;
    const TensorInstruction& of_;
    TensorPlace place_;
    u32 left_depth_;  ///< Depth of the elements that are there.
    u32 group_rows_;
    std::array<Block*, 2> blocks_{};
    std::vector<u32> right_, raw_;
    std::vector<LeftMatrix> left_;
    LeftMatrix packed_, scaled_left_;
    RightPanel panel_, scaled_panel_;
    SumPanel sum_;
    ScaleTable scales_;
};

}  // namespace

const Op* tensor_product(WarpContext& c, const Op* op) {
    const CopyOrder order(c);  // The race check doesn't see what is read.
    const auto& plan = *static_cast<const TensorProduct*>(op->table);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        TensorInstruction of;
        std::string wrong = read_instruction(plan, source<u32>(c, plan.instruction)[i], of);
        if (wrong.empty() && plan.zero_columns != no_slot &&
            source<u64>(c, plan.zero_columns)[i] != 0) {
            wrong =
                "multiplies with a mask of columns that are zero, "
                "which the software device doesn't know";
        }
        if (!wrong.empty()) return raise(c, op, i, Fault::illegal_instruction, wrong);
        const auto product = std::make_unique<TensorMultiplication>(c, op, i, of);
        if (!product->run()) return leave();
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
