// The instruction decoders, one file per group. A group's table lists its opcodes. Functions shared
// between groups are declared here too.
#pragma once

#include "emulator/decode/builder.hpp"
#include "emulator/isa/atomic.hpp"
#include "emulator/isa/load_store.hpp"
#include "emulator/isa/real.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lode::emulator::decode {

/// Emits the ops of the builder's current instruction, or refuses it.
using InstructionDecoder = void (*)(Builder& b);

/// An opcode's first word and its decoder.
struct OpcodeDecoder {
    Word name;
    InstructionDecoder decode;
};
using OpcodeDecoders = std::span<const OpcodeDecoder>;

[[nodiscard]] OpcodeDecoders arithmetic_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders async_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders atomic_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders call_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders cluster_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders comparison_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders composed_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders control_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders conversion_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders image_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders memory_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders move_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders tensor_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders tensor_copy_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders video_opcodes() noexcept;
[[nodiscard]] OpcodeDecoders warp_opcodes() noexcept;

/// The decoder for an opcode's first word; decode_by_table if no group lists it.
[[nodiscard]] InstructionDecoder decoder_of(Word name);

// table_form.cpp
/// Emits one op: the row whose key is the whole opcode.
void decode_by_table(Builder& b);
/// Emits one op: the row with that key. Its operands are the instruction's, in order; the last word
/// of the opcode is their type.
void decode_by_table(Builder& b, std::string_view key, Flags flags = {});

// composed.cpp
/// add, sub and fma of .f32 with operands of the type `half`.
void mixed_arithmetic(Builder& b, const std::string& name, Word half, exec::RealFlags flags);
/// Packed arithmetic with different types.
void packed_mixed_arithmetic(Builder& b, const std::string& name, exec::RealFlags flags);
void spdecompress(Builder& b);
/// add, sub, mul and fma of .f32x2; `key` is the row for one float.
void paired_arithmetic(Builder& b, std::string_view key, exec::RealFlags flags);
/// min and max of three floats.
void extreme_of_three(Builder& b, const std::string& name, bool flush, exec::RealFlags flags);

// call.cpp
/// Loads the caller's arguments into the parameters in .reg space, before the body.
void load_register_parameters(Builder& b);
/// Stores the results in .reg space for the caller, before the body returns.
void store_register_results(Builder& b);

// atomics.cpp
/// Takes the operation of an atomic instruction or a reduction; nothing if the opcode has none.
std::optional<exec::AtomicOp> take_operation(Opcode& opcode);
/// The type of an atomic instruction or a reduction; `bits128` allows .b128.
std::optional<exec::AtomicType> atomic_type(Word type, bool bits128);

// cluster.cpp
/// Counts transferred bytes at the mbarrier of an asynchronous store.
void emit_complete_bytes(Builder& b, const ptx::Operand& barrier, u32 bytes);

// tensor_copies.cpp
/// cp.async.bulk.tensor and similar instructions.
void copy_tensor(Builder& b);

// addresses.cpp
/// The space of the variable that an address names; generic if it names none.
[[nodiscard]] exec::MemorySpace space_named(Builder& b, const ptx::Operand& address);
/// Takes the state space. As in ptxas, an address without one that names a variable is in the
/// variable's space.
exec::MemorySpace take_space(Builder& b, const ptx::Operand& address);
/// The address operand of a per-lane op: Op's slot, imm and addressing.
struct LaneAddresses {
    Slot slot = no_slot;
    u64 offset = 0;
    LaneAddressing addressing;
};
LaneAddresses lane_addresses(Builder& b, const ptx::Operand& operand, bool shared);
/// The slot of 64-bit addresses with the offset added.
Slot whole_addresses(Builder& b, const ptx::Operand& operand);

}  // namespace lode::emulator::decode
