// Emits code for values: which are known as one number and a stride, which are in vector registers,
// and which only in their rows in memory.
#pragma once

#if defined(__x86_64__)

#include "emulator/exec/compiled/region.hpp"

#include <array>
#include <map>
#include <optional>
#include <vector>

#include <xbyak/xbyak.h>

namespace lode::emulator::exec {

/// A value of 32 or 64 bits in each lane: a number that the code computes, plus the lane times a
/// stride.
struct Scalar {
    enum class Place : u8 { stack, launch, constant };
    Place place = Place::stack;
    u64 at = 0;  ///< Offset on the stack or in the launch area; or the constant itself.
    u32 stride = 0;
    bool wide = false;  ///< It has 64 bits.
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
    /// Makes eax, or rax if `wide`, the value of a slot of the frame, in lane 0, with a stride.
    void define_scalar(Slot slot, u32 stride, bool wide = false);
    /// Copies a number between places on the stack; changes rax.
    void move_number(u32 from, u32 to, bool wide);
    /// A new place on the stack.
    [[nodiscard]] u32 take_stack(bool wide);
    [[nodiscard]] bool is_full() const noexcept { return stack_ + 64 > scratch_begin; }

    /// A register that holds a quarter of a row. It is valid until the next release().
    Xbyak::Ymm quarter(Slot slot, u32 q);
    /// A register for a result.
    Xbyak::Ymm fresh();
    /// Makes a register the quarter of a slot of the frame, and stores it.
    void define_quarter(Slot slot, u32 q, const Xbyak::Ymm& value);
    /// All quarters of a slot have been defined.
    void finish_row(Slot slot);
    /// The registers that quarter() and fresh() gave may be taken for others.
    void release() noexcept { pinned_ = 0; }
    /// Calls a function whose arguments are in their registers. Vector registers hold nothing
    /// afterwards.
    void call_host(const void* host);

    /// Slots of the frame whose rows in memory are out of date, with their values.
    struct Pending {
        Slot slot;
        Scalar value;
    };
    [[nodiscard]] std::vector<Pending> pending() const;
    /// Stores the row of a number. Changes no register but ymm0 and ymm1.
    void store_row(const Pending& one);
    /// Stores the row of a slot if it is out of date.
    void settle(Slot slot);
    /// Forgets what overlaps these bytes of the frame, after storing rows that are out of date.
    void settle_and_forget(Slot slot, u32 bytes);
    /// Something else writes the row.
    void forget(Slot slot);
    /// The value of a slot of the frame or of a warp's area is a number on the stack.
    void assume_number(Slot slot, const Scalar& value, bool is_pending);

    /// What is known at one place in the code.
    class State;
    [[nodiscard]] State state() const;
    /// Goes on as at another place; what is after it on the stack is no longer needed.
    void restore(const State& state);

    static constexpr u32 scratch_begin = 960;  ///< After the places of numbers.
    static constexpr u32 scratch_bytes = 192;
    static constexpr u32 stack_bytes = scratch_begin + scratch_bytes;

protected:
    /// 8 times 32 bits of data after the code; or 4 times 64 bits, the q-th of eight.
    Xbyak::Address iota(u32 stride, u32 q);
    Xbyak::Address wide_iota(u32 stride, u32 q);
    Xbyak::Address lane_bits(u32 q);
    /// The last three bits of eight lanes, for vpermd.
    Xbyak::Address permutation(const u32* from);
    Xbyak::Address nan();
    void emit_data();

    const Code& function;
    const WarpContext& warp;

private:
    struct Known {
        Scalar value;
        bool pending = false;
    };
    struct Held {
        Slot slot = no_slot;
        u32 q = 0;
        u32 used = 0;  ///< When, for choosing the one to replace.
    };
    static constexpr u32 first_register = 4;
    static constexpr u32 register_end = 15;
    static constexpr u32 all_quarters = 4;

public:
    class State {
        friend class Values;
        std::map<Slot, Known> known_;
        std::array<Held, register_end> held_;
        u32 stack_ = 0;
    };

private:
    Xbyak::Ymm take(Slot slot, u32 q);
    void forget_registers() noexcept;

    std::map<Slot, Known> known_;
    std::array<Held, register_end> held_;
    u32 pinned_ = 0;  ///< A bit for each register.
    u32 clock_ = 0;
    u32 stack_ = 0;
    std::map<std::pair<u32, u32>, Xbyak::Label> strides_, wide_strides_;
    std::map<const u32*, Xbyak::Label> permutations_;
    Xbyak::Label nan_, bits_;
};

}  // namespace lode::emulator::exec

#endif
