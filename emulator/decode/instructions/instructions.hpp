// The decoders of instructions, a file for each group. A group's table names its opcodes; what
// groups use of one another is declared here too.
#pragma once

#include "emulator/decode/builder.hpp"

#include <span>
#include <string>
#include <string_view>

namespace lode::emulator::decode {

/// Emits the ops of the builder's current instruction, or refuses it.
using InstructionDecoder = void (*)(Builder& b);

/// An opcode's first word and its decoder.
struct OpcodeDecoder {
    std::string_view name;
    InstructionDecoder decode;
};
using OpcodeDecoders = std::span<const OpcodeDecoder>;

[[nodiscard]] OpcodeDecoders arithmetic_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders async_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders atomic_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders call_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders comparison_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders composed_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders control_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders conversion_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders memory_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders move_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders video_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders warp_opcodes() noexcept;

/// The decoder of an opcode's first word; decode_by_table for one that no group names.
[[nodiscard]] InstructionDecoder decoder_of(std::string_view name);

// table_form.cpp
/// One op, of the row whose key is the whole opcode.
void decode_by_table(Builder& b);
/// One op, of the row with that key: its operands are the instruction's in their order, and the
/// last word of the opcode is their type.
void decode_by_table(Builder& b, std::string_view key, u16 flags = 0);

// composed.cpp
/// add, sub and fma of .f32 with operands of the type `half`.
void mixed_arithmetic(Builder& b, const std::string& name, std::string_view half, u16 flags);
/// add, sub, mul and fma of .f32x2: `key` is the row of one float.
void paired_arithmetic(Builder& b, std::string_view key, u16 flags);
/// min and max of three floats.
void extreme_of_three(Builder& b, const std::string& name, bool flush, u16 flags);

// call.cpp
/// The parameters in .reg space get what the caller passed, in front of the body.
void load_register_parameters(Builder& b);
/// The results in .reg space become the caller's, before the body returns.
void store_register_results(Builder& b);

// addresses.cpp
/// The address operand of an op that goes lane by lane: Op's slot, imm and flags2.
struct LaneAddresses {
    Slot slot = no_slot;
    u64 offset = 0;
    u16 window_flags = 0;
};
LaneAddresses lane_addresses(Builder& b, const ptx::Operand& operand, bool shared);
/// 64-bit addresses with their offset added.
Slot whole_addresses(Builder& b, const ptx::Operand& operand);

}  // namespace lode::emulator::decode
