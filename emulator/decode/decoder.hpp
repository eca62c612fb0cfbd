// Decoder: makes ops of one function's instructions. Private to emulator/exec.
#pragma once

#include "emulator/decode/module_parts.hpp"
#include "emulator/decode/ops/load_store.hpp"
#include "emulator/decode/ops/table.hpp"

#include <initializer_list>
#include <map>
#include <optional>

namespace lode::emulator::decode {

/// What functions of one kernel share while they are decoded.
struct KernelBuild {
    const ModuleParts* module = nullptr;
    Kernel* kernel = nullptr;
    std::unordered_map<u32, Code*> codes;                  ///< By function index.
    std::unordered_map<const ptx::Variable*, u32> shared;  ///< Offsets.
    std::map<std::array<u32, 4>, u32> parameter_slots;
};

class Decoder {
public:
    Decoder(KernelBuild& build, const ptx::Function& function, Code& code)
        : build_(build), function_(function), code_(code) {}

    /// Decodes the whole body. A form that can't run ends it with a Refusal.
    std::optional<Refusal> run();

private:
    /// The register behind a destination operand, which may be wider than what the op writes.
    struct Target {
        Slot written = no_slot;  ///< What the op writes.
        Slot wanted = no_slot;   ///< The register, when a conversion must follow.
        char from = 0, to = 0;
        bool sign = false;
    };
    /// The words of an opcode in the grammar's order. A decoder takes each word that it
    /// understands; an instruction with a word that nobody took is refused, so that none is ever
    /// skipped.
    class Parts {
    public:
        void split(std::string_view opcode) noexcept;
        [[nodiscard]] u32 count() const noexcept { return count_; }
        /// The name's first word, which is always taken.
        [[nodiscard]] std::string_view base() const noexcept { return part_[0]; }
        /// A word, without taking it; empty behind the last.
        [[nodiscard]] std::string_view peek(u32 i) const noexcept {
            return i < count_ ? part_[i] : std::string_view{};
        }
        std::string_view take(u32 i) noexcept;
        /// The last word, which is the type of most opcodes.
        std::string_view take_last() noexcept { return take(count_ - 1); }
        /// Takes a modifier; false where it isn't there.
        bool take(std::string_view name) noexcept;
        /// Takes the modifiers that begin so; false where there is none.
        bool take_prefix(std::string_view start) noexcept;
        /// Takes what makes no difference here.
        void ignore(std::initializer_list<std::string_view> names) noexcept;
        void take_all() noexcept { taken_ = ~u32{0}; }
        /// The first word that nobody took; empty where all are.
        [[nodiscard]] std::string_view left_over() const noexcept;

    private:
        std::array<std::string_view, 24> part_;
        u32 count_ = 0;
        u32 taken_ = 0;  ///< A bit a word.
    };
    using Family = void (Decoder::*)();

    // decode_function.cpp
    void lay_out();
    void find_aliases();
    void one(const ptx::Instruction& instruction);
    void move_register_parameters(bool results);
    void count_instructions();
    void fix_targets();
    void finish_constants();
    static const std::unordered_map<std::string_view, Family>& families();

    // decode_operands.cpp
    void refuse(std::string_view why = {});
    /// Refuses the whole function: "… the function f with `why`".
    void refuse_function(std::string_view why);
    [[nodiscard]] const ptx::Operand& operand(u32 index) const;
    [[nodiscard]] u32 operand_count() const noexcept { return instruction_->count; }
    [[nodiscard]] std::span<const ptx::Operand> list(const ptx::Operand& operand) const;
    Op& emit(Handler handler, std::initializer_list<Slot> slots, u8 defines = 1);
    void emit_row(std::string_view key, std::initializer_list<Slot> slots, u8 defines = 1);
    Slot constant(u64 low, u32 bytes, u64 high = 0);
    Slot predicate_constant(bool value);
    Slot temporary(char letter);
    Slot source_of(const ptx::Operand& operand, char letter, bool sign = false);
    Slot register_source(u32 index, char letter, bool sign);
    Slot converted(Slot from, char have, char want, bool sign);
    Slot special_source(std::string_view name, char letter);
    Slot predicate_source(const ptx::Operand& operand);
    Target target_of(const ptx::Operand& operand, char letter, bool sign = false);
    Target target_register(u32 index, char letter, bool sign);
    void settle(const Target& target);
    [[nodiscard]] char letter_of(u32 reg) const noexcept;
    /// The value of an address operand that is known now: of variables and symbols.
    std::optional<u64> fixed_address(const ptx::Operand& operand);
    Slot carry_slot();
    /// The value of a 32-bit operand that the program fixes: a number, or a register that is
    /// written once with one.
    [[nodiscard]] std::optional<u32> known_number(const ptx::Operand& operand) const;

    // decode_arithmetic.cpp
    void table_row();
    void real_arithmetic();
    void carry_arithmetic();
    void row_with_key(std::string_view key, u16 flags = 0);
    u32 take_combine();  ///< .and, .or or .xor of a comparison; 0: none.
    void set_predicate();
    void set_value();
    void convert();
    void convert_packed();
    void move();
    void move_vector(u32 vector, std::string_view type);
    void pack_or_unpack(bool pack);
    void address_conversion();
    void slct();
    void test_property();

    // decode_composed.cpp
    void mixed_arithmetic(const std::string& base, std::string_view half, u16 flags);
    void paired_arithmetic(const std::string& key, u16 flags);
    void extreme_of_three(const std::string& base, bool flush, u16 flags);
    void logic3();

    // decode_memory.cpp
    u32 take_vector();               ///< Of .v2 and the like; 1 without.
    exec::MemorySpace take_space();  ///< generic where none is named.
    void ignore_scope();             ///< A fence is one for everybody here.
    void ignore_caches();            ///< There are none here.
    void load();
    void store();
    void load_or_store(bool store);
    void parameter_access(bool store, const ptx::Operand& address, std::string_view type,
                          std::span<const ptx::Operand> data);
    void atomic();
    void async_copy();
    void memory_barrier();
    void bulk();
    void nothing();
    void fence_op();
    void is_space_op();
    void cache_policy();
    /// Slot, window flags of an address for ops that go lane by lane; adds to Op::imm.
    Slot lane_addresses(const ptx::Operand& operand, bool shared, u16& flags2, u64& offset);
    /// 64-bit addresses with their offset added.
    Slot whole_addresses(const ptx::Operand& operand);
    u32 bounds_slot() { return build_.kernel->bounds++; }

    // decode_control.cpp
    void branch();
    void branch_indexed();
    void exit_op();
    void return_op();
    /// A call's result in a register: where, and the row that it comes from.
    struct Result {
        const ptx::Operand* to;
        Slot row;
    };
    void call();
    std::vector<ParameterRows> argument_rows(const ptx::Operand& operands,
                                             const std::vector<ptx::Variable>& formals,
                                             std::vector<Result>* results);
    void pass_value(const ptx::Operand& item, u32 bytes, bool is_real, Slot row);
    Slot fresh_rows(u32 bytes);
    void barrier();
    void warp_op();
    void sleep_op();
    void trap_op();
    void video();
    void scalar_video();
    ParameterRows rows_of(u32 variable);

    KernelBuild& build_;
    const ptx::Function& function_;
    Code& code_;
    const ptx::Instruction* instruction_ = nullptr;
    Parts parts_;
    std::optional<Refusal> refusal_;
    std::vector<Slot> slots_;         ///< By register.
    std::vector<u8> definitions_;     ///< By register: how often written, up to 2.
    std::vector<u32> rows_;           ///< By variable: frame offset of its rows, or ~0.
    std::vector<u32> locals_;         ///< By variable: offset in local memory, or ~0.
    std::vector<u32> entry_offsets_;  ///< By variable: offset in the parameter block, or ~0.
    std::map<std::array<u64, 3>, Slot> constants_;
    std::vector<u8> constant_bytes_;
    std::vector<std::pair<u32, u32>> branches_;  ///< Op, instruction.
    std::vector<std::pair<u32, u32>> skips_;     ///< Op, op: around guarded instructions.
    std::vector<u32> first_op_;                  ///< By instruction.
    std::vector<u8> defines_;                    ///< By op: which of r[] it writes.
    std::array<std::vector<Slot>, 5> free_temporaries_;
    std::vector<std::pair<char, Slot>> used_temporaries_;
    Slot carry_ = no_slot;
    u32 frame_ = 0;
    std::vector<std::pair<const Op**, u32>> jump_fixes_;  ///< Place, instruction.
};

/// Decodes an entry and everything it may reach.
std::unique_ptr<Kernel> decode_kernel(const ModuleParts& module, u32 function);

constexpr u32 bytes_of_letter(char letter) noexcept {
    switch (letter) {
        case 'b':
            return 1;
        case 'h':
            return 2;
        case 'w':
            return 4;
        case 'd':
            return 8;
        case 'q':
            return 16;
        default:
            return 0;
    }
}
constexpr char letter_of_bytes(u32 bytes) noexcept {
    switch (bytes) {
        case 1:
            return 'b';
        case 2:
            return 'h';
        case 4:
            return 'w';
        case 8:
            return 'd';
        default:
            return 'q';
    }
}

}  // namespace lode::emulator::decode
