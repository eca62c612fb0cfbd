// Atomic instructions: atom and red.
#include "emulator/decode/instructions/instructions.hpp"
#include "emulator/decode/instructions/modifiers.hpp"
#include "emulator/isa/atomic.hpp"

#include <optional>

namespace lode::emulator::decode {

using ptx::OperandKind;

std::optional<exec::AtomicType> atomic_type(Word type, bool bits128) {
    static constexpr Meaning<exec::AtomicType> names[] = {
        {"b16", exec::AtomicType::u16},       {"u32", exec::AtomicType::u32},
        {"b32", exec::AtomicType::u32},       {"s32", exec::AtomicType::s32},
        {"u64", exec::AtomicType::u64},       {"b64", exec::AtomicType::u64},
        {"s64", exec::AtomicType::s64},       {"f16", exec::AtomicType::f16},
        {"bf16", exec::AtomicType::bf16},     {"f16x2", exec::AtomicType::f16x2},
        {"bf16x2", exec::AtomicType::bf16x2}, {"f32", exec::AtomicType::f32},
        {"f64", exec::AtomicType::f64}};
    for (const auto& [name, value] : names) {
        if (name == type) return value;
    }
    if (bits128 && type == "b128") return exec::AtomicType::b128;
    return std::nullopt;
}

std::optional<exec::AtomicOp> take_operation(Opcode& opcode) {
    static constexpr Meaning<exec::AtomicOp> operations[] = {
        {"add", exec::AtomicOp::add},   {"min", exec::AtomicOp::min},
        {"max", exec::AtomicOp::max},   {"inc", exec::AtomicOp::inc},
        {"dec", exec::AtomicOp::dec},   {"and", exec::AtomicOp::bit_and},
        {"or", exec::AtomicOp::bit_or}, {"xor", exec::AtomicOp::bit_xor},
        {"exch", exec::AtomicOp::exch}, {"cas", exec::AtomicOp::cas}};
    const auto* const found = opcode.take_row(operations);
    if (found == nullptr) return std::nullopt;
    return found->value;
}

namespace {

// atom d, [address], b{, c} and red [address], b. A vector's elements are processed one after the
// other. Operations are atomic and ordered for every scope; sums of halves never flush.
void atomic(Builder& b) {
    Opcode& opcode = b.opcode();
    // red.async combines at once; in shared memory, it counts the bytes at an mbarrier.
    opcode.ignore({"async"});
    const bool counts = opcode.take("mbarrier::complete_tx::bytes");
    const bool has_result = b.instruction().traits.results != 0;
    const std::optional<exec::AtomicOp> what = take_operation(opcode);
    const u32 at = has_result ? 1 : 0;
    const exec::MemorySpace space = take_space(b, b.operand(at));
    const bool shared = space == exec::MemorySpace::shared;
    const u32 vector = take_vector(opcode);
    const Word type_name = opcode.take_last();
    const bool keeps_subnormals = opcode.take("noftz");
    MemoryOrder order = take_order(opcode);
    if (!order.cta) order.gpu = true;
    const bool exchanges = what == exec::AtomicOp::exch || what == exec::AtomicOp::cas;
    const auto type = atomic_type(type_name, exchanges);
    if (!what || !type) return b.refuse();

    LaneAddresses address = lane_addresses(b, b.operand(at), shared);
    if (space == exec::MemorySpace::global) address.addressing.window = Window::global;
    exec::AtomicFlags flags{.operation = *what};
    // The atomic unit of global memory flushes denormals; that of shared memory doesn't.
    flags.flush = *type == exec::AtomicType::f32 && *what == exec::AtomicOp::add && !shared &&
                  !keeps_subnormals;

    const u32 bytes = exec::atomic_bytes(*type);
    const char letter = letter_of_bytes(bytes);
    const bool sign = is_signed(type_name);
    const auto values = b.list(b.operand(at + 1));
    const auto results = b.list(b.operand(0));
    if (values.size() != vector || (has_result && results.size() != vector))
        return b.refuse("with a vector of the wrong length");
    for (u32 k = 0; k < vector; ++k) {
        const Slot value = b.source(values[k], letter, sign);
        const Slot swap =
            *what == exec::AtomicOp::cas ? b.source(b.operand(at + 2), letter, sign) : no_slot;
        const bool wanted =
            has_result && results[k].kind != OperandKind::sink && b.uses_of(results[k]) != 0;
        const Destination to = wanted ? b.destination(results[k], letter, sign) : Destination{};
        if (b.refused()) return;
        Op& op = b.emit_access(exec::operation_of(*type), {to.slot, address.slot, value, swap});
        flags.overwrites = *what == exec::AtomicOp::exch && !wanted;
        op.flags = flags;
        op.addressing = address.addressing;
        op.order = order;
        op.imm = address.offset + u64{k} * bytes;
        b.write_back(to);
    }
    if (counts) emit_complete_bytes(b, b.operand(2), vector * bytes);
}

constexpr OpcodeDecoder atomic_decoders[] = {{"atom", atomic}, {"red", atomic}};

}  // namespace

OpcodeDecoders atomic_opcodes() noexcept {
    return atomic_decoders;
}

}  // namespace lode::emulator::decode
