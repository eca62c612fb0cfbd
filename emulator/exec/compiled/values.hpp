// Emits code for values: which are known as one number and a stride, which are in vector registers,
// and which only in their rows in memory.
#pragma once

#if defined(__x86_64__)

#include "emulator/exec/compiled/region.hpp"

#include <array>
#include <compare>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <xbyak/xbyak.h>

namespace lode::emulator::exec {

/// What is added to lane 0's value in each lane: a term for each bit of the lane's number. Indices
/// of threads have such shapes in blocks whose sizes are powers of two, and what is computed from
/// them by sums and constant factors.
struct Shape {
    static constexpr u32 bits = 5;
    static constexpr i64 most = i64{1} << 24;  ///< The largest size of a term.
    std::array<i32, bits> terms{};

    /// The lane times a stride.
    static constexpr Shape linear(i32 stride) noexcept {
        return {{stride, 2 * stride, 4 * stride, 8 * stride, 16 * stride}};
    }
    /// a + factor * b; nothing if a term is too large.
    static std::optional<Shape> sum(const Shape& a, const Shape& b, i64 factor = 1) noexcept;
    [[nodiscard]] std::optional<Shape> times(i64 factor) const noexcept {
        return sum({}, *this, factor);
    }
    [[nodiscard]] i32 at(u32 lane) const noexcept;
    [[nodiscard]] i32 lowest() const noexcept;
    [[nodiscard]] i32 highest() const noexcept;
    [[nodiscard]] bool is_uniform() const noexcept { return *this == Shape{}; }
    auto operator<=>(const Shape&) const = default;
};

/// A value of 32 or 64 bits in each lane: a number that the code computes, plus what its shape
/// adds.
struct Scalar {
    enum class Place : u8 { stack, launch, constant };
    Place place = Place::stack;
    u64 at = 0;  ///< Offset on the stack or in the launch area; or the constant itself.
    Shape shape;
    bool wide = false;  ///< It has 64 bits.

    [[nodiscard]] bool is_constant() const noexcept {
        return place == Place::constant && shape.is_uniform();
    }
};

/// Registers: rbx the context, r12 to r15 its areas, ymm4 to ymm14 quarters of rows (eight lanes),
/// ymm15 the canonical NaN. Others are scratch.
class Values : public Xbyak::CodeGenerator {
public:
    Values(const Code& code, const WarpContext& context);

    /// Where a slot is in memory, `bytes` after its first byte.
    [[nodiscard]] Xbyak::Address memory_of(Slot slot, u32 bytes = 0) const;
    /// The slot's value as a number, if that is known. `wide`: the slot has 64 bits.
    [[nodiscard]] std::optional<Scalar> scalar(Slot slot, bool wide = false) const;
    /// Loads a number: its value in lane 0; of 64 bits into the whole register.
    void load_number(const Xbyak::Reg32& to, const Scalar& from);
    /// Emits an instruction whose source is a number: emit(operand), which may be of 64 bits if the
    /// number is. Changes rcx.
    template <class F>
    void with_number(const Scalar& from, const F& emit) {
        const bool is_short = !from.wide || static_cast<i64>(from.at) == static_cast<i32>(from.at);
        if (from.place == Scalar::Place::constant && is_short) {
            emit(static_cast<u32>(from.at));
        } else if (from.place == Scalar::Place::constant) {
            load_number(ecx, from);
            emit(from.wide ? static_cast<const Xbyak::Reg&>(rcx) : ecx);
        } else {
            const Xbyak::Reg64& base = from.place == Scalar::Place::stack ? rsp : r13;
            emit(ptr[base + from.at]);
        }
    }
    /// If a number is a parameter or a size of the launch, makes it the constant that it is now:
    /// the code is to be entered only while it is. False for others.
    bool assume_constant(Scalar& number);
    /// Emits code that jumps if one of these isn't what it was; none if there are none.
    void test_constants(const Xbyak::Label& otherwise);
    /// Multiplies eax by a number of 32 bits. Changes rcx.
    void multiply_eax(const Scalar& by);
    /// Makes eax, or rax if `wide`, the value of a slot of the frame in lane 0.
    void define_scalar(Slot slot, const Shape& shape, bool wide = false);
    /// Copies a number between places on the stack; changes rax.
    void move_number(u32 from, u32 to, bool wide);
    /// A new place on the stack.
    [[nodiscard]] u32 take_stack(bool wide);
    [[nodiscard]] bool is_full() const noexcept { return stack_ + 64 > scratch_begin; }

    /// A register that holds a quarter of a row. It is valid until the next release().
    Xbyak::Ymm quarter(Slot slot, u32 q);
    /// Loads the low halves of eight 64-bit values from their row.
    void load_low_halves(const Xbyak::Ymm& to, Slot slot, u32 q);
    /// A register for a result.
    Xbyak::Ymm fresh();
    /// Makes a register the quarter of a slot of the frame. Its row is stored when the register is
    /// needed for others, at exits, or by settle().
    void define_quarter(Slot slot, u32 q, const Xbyak::Ymm& value);
    /// Nothing reads a quarter any more.
    void drop_quarter(Slot slot, u32 q) noexcept;
    /// A register that has been made a quarter of a slot is another one of it, too.
    void share_quarter(const Xbyak::Ymm& value, u32 q);
    /// Whether a register holds nothing but one quarter of a slot.
    [[nodiscard]] bool is_own(Slot slot, u32 q, const Xbyak::Ymm& value) const noexcept {
        const Held& held = held_[value.getIdx()];
        return held.slot == slot && held.quarters == 1u << q;
    }
    /// All quarters of a slot have been defined.
    void finish_row(Slot slot);
    /// A register that quarter() gave may be taken for others, unless it is one of these.
    void unpin(const Xbyak::Ymm& one, std::span<const Xbyak::Ymm> but) noexcept;
    /// The registers that quarter() and fresh() gave may be taken for others.
    void release() noexcept { pinned_ = 0; }
    /// Makes the processor flush denormals, or not, from here on.
    void set_flushing(bool flushing);
    /// Reads the processor's settings. Without this, the code flushes nothing.
    void read_settings();
    /// What the code has set there.
    [[nodiscard]] bool is_flushing() const noexcept { return flushing_; }
    /// At a place that is reached from others, all of which have set it.
    void assume_flushing(bool flushing) noexcept { flushing_ = flushing; }
    /// Calls a function whose arguments are in their registers, after storing quarters that are out
    /// of date. Vector registers hold nothing afterwards.
    void call_host(const void* host);

    /// Slots of the frame whose rows in memory are out of date, with their values.
    struct Pending {
        Slot slot;
        Scalar value;
        u32 quarters = 0;  ///< A bit for each.
        u32 in = 0;        ///< The register that holds them; 0: the value is a number.
    };
    [[nodiscard]] std::vector<Pending> pending() const;
    /// Stores the row of a number, or a quarter. Changes no register but ymm0 and ymm1.
    void store_row(const Pending& one);
    /// Stores the row of a slot if it is out of date.
    void settle(Slot slot);
    /// Stores the quarters that are out of date.
    void settle_quarters();
    /// Forgets what overlaps these bytes of the frame, after storing rows that are out of date.
    void settle_and_forget(Slot slot, u32 bytes);
    /// Something else writes the row.
    void forget(Slot slot);
    /// Forgets that a slot is a number; its row is up to date.
    void drop_number(Slot slot) { known_.erase(slot); }
    /// Likewise for the slots whose rows nothing reads.
    template <class F>
    void drop_numbers(const F& is_dead) {
        std::erase_if(known_, [&](const auto& one) {
            return is_dead(Pending{one.first, one.second.value});
        });
    }
    /// The value of a slot of the frame or of a warp's area is a number on the stack.
    void assume_number(Slot slot, const Scalar& value, bool is_pending);

    /// What is known at one place in the code.
    class State;
    [[nodiscard]] State state() const;
    /// Goes on as at another place; what is after it on the stack is no longer needed.
    void restore(const State& state);
    /// Forgets the registers but those of some slots, and loads these.
    void keep_rows(std::span<const Slot> slots);
    /// Emits code after which the code at another place can go on, which has the same numbers.
    /// `pending`: what must be stored unless it is pending there, too.
    void go_to(const State& state, std::span<const Pending> pending);
    /// Whether all that is a number at another place is one of the same shape here, so that the
    /// code there can go on from here.
    [[nodiscard]] bool has_numbers_of(const State& state) const;

    static constexpr u32 scratch_begin = 1984;  ///< After the places of numbers.
    static constexpr u32 scratch_bytes = 192;
    static constexpr u32 stack_bytes = scratch_begin + scratch_bytes;

protected:
    /// 8 times 32 bits of data after the code; or 4 times 64 bits, the q-th of eight.
    Xbyak::Address offsets(const Shape& shape, u32 q);
    Xbyak::Address wide_offsets(const Shape& shape, u32 q);
    Xbyak::Address lane_bits(u32 q);
    /// The last three bits of eight lanes, for vpermd.
    Xbyak::Address permutation(const u32* from);
    Xbyak::Address nan();
    void emit_data();

    /// Whether code from here on may read a slot's row.
    [[nodiscard]] virtual bool is_needed(Slot slot) = 0;

    const Code& function;
    const WarpContext& warp;
    bool assumes = true;  ///< The code may be for values as they are now.

private:
    struct Known {
        Scalar value;
        bool pending = false;
    };
    struct Held {
        Slot slot = no_slot;
        u32 quarters = 0;      ///< A bit for each that it is.
        u32 used = 0;          ///< When, for choosing the one to replace.
        bool pending = false;  ///< Its row in memory is out of date.
    };
    static constexpr u32 first_register = 4;
    static constexpr u32 register_end = 15;
    static constexpr u32 all_quarters = 0xf;

public:
    class State {
        friend class Values;
        std::map<Slot, Known> known_;
        std::array<Held, register_end> held_;
        u32 stack_ = 0;
        bool flushing_ = false;
    };

private:
    Xbyak::Ymm take(Slot slot, u32 quarters);
    void settle_register(u32 held);
    void forget_registers() noexcept;

    std::map<Slot, Known> known_;
    std::map<u64, u32> constants_;  ///< By their offset in the launch area.
    std::array<Held, register_end> held_;
    u32 pinned_ = 0;  ///< A bit for each register.
    u32 clock_ = 0;
    u32 stack_ = 0;
    struct {
        u64 at = 0;
        bool wide = false;
        std::size_t size = 0;  ///< The code's, after which it is there.
    } in_rax_;                 ///< The number on the stack that rax holds.
    u32 settings_ = 0;  ///< On the stack: the processor's usual settings, then those that flush.
    bool flushing_ = false;
    std::map<std::pair<Shape, u32>, Xbyak::Label> offsets_, wide_offsets_;
    std::map<const u32*, Xbyak::Label> permutations_;
    Xbyak::Label nan_, bits_;
};

}  // namespace lode::emulator::exec

#endif
