// Operations across the lanes of a warp.
#include "emulator/isa/warp.hpp"

#include "emulator/decode/instructions/instructions.hpp"

#include <algorithm>

namespace lode::emulator::decode {

namespace {

/// The operands of a warp operation.
struct WarpOperands {
    Slot a = no_slot, b = no_slot, c = no_slot;
    Slot members = no_slot;
};

/// Emits an op whose results are the instruction's d|p; d is `to`.
Op& emit_warp(Builder& b, Operation operation, const Destination& to, const WarpOperands& from) {
    const Slot second = b.second_destination(b.operand(0));
    Op& op = b.emit(operation, {to.slot, second, from.a, from.b, from.c});
    op.r[exec::members_operand] = from.members;
    return op;
}

bool take_sync(Builder& b) {
    if (!b.opcode().take("sync")) b.refuse("without .sync");
    return !b.refused();
}

/// The member mask of shfl or vote, operand `index`. The forms without .sync, of targets before
/// sm_70, have none: their members are the lanes that execute them together.
Slot members_of(Builder& b, u32 index) {
    if (b.opcode().take("sync")) return b.source(b.operand(index), 'w');
    const Slot together = b.temporary('w');
    b.emit(Operation::active_mask, {together});
    return together;
}

exec::FixedShuffle fixed_shuffle(exec::Shuffle kind, u32 b, u32 c, u32 members) {
    exec::FixedShuffle made;
    made.members = members;
    for (u32 i = 0; i < lanes; ++i) {
        const exec::SourceLane lane = exec::source_lane(kind, i, b, c);
        made.from[i] = lane.index;
        made.valid |= u32{lane.in_range} << i;
    }
    return made;
}

void shuffle(Builder& b) {
    Opcode& opcode = b.opcode();
    const Slot members_slot = members_of(b, 4);
    opcode.ignore({"idx", "b32"});
    exec::Shuffle kind = exec::Shuffle::index;
    if (opcode.take("up")) kind = exec::Shuffle::up;
    if (opcode.take("down")) kind = exec::Shuffle::down;
    if (opcode.take("bfly")) kind = exec::Shuffle::butterfly;
    const Destination to = b.destination(b.operand(0), 'w');
    WarpOperands from;
    from.a = b.source(b.operand(1), 'w');
    from.b = b.source(b.operand(2), 'w');
    from.c = b.source(b.operand(3), 'w');
    from.members = members_slot;
    if (b.refused()) return;
    const auto lane = b.known_number(b.operand(2));
    const auto clamp = b.known_number(b.operand(3));
    const auto members = b.known_number(b.operand(4));
    const bool fixed = lane && clamp && members;
    Op& op = emit_warp(b, fixed ? Operation::shuffle_fixed : Operation::shuffle, to, from);
    op.flags = kind;
    const ptx::Operand& result = b.operand(0);
    if (result.kind == ptx::OperandKind::reg && !b.shuffled().empty() && b.shuffled()[result.index])
        op.r[5] = b.frame().reg(result.index);
    if (fixed)
        op.table = &b.kernel().shuffles.emplace_back(fixed_shuffle(kind, *lane, *clamp, *members));
    b.write_back(to);
}

void vote(Builder& b) {
    Opcode& opcode = b.opcode();
    const Slot members_slot = members_of(b, 2);
    opcode.ignore({"all", "pred", "b32"});
    exec::Vote kind = exec::Vote::all;
    if (opcode.take("any")) kind = exec::Vote::any;
    if (opcode.take("uni")) kind = exec::Vote::uniform;
    if (opcode.take("ballot")) kind = exec::Vote::ballot;
    const Destination to = b.destination(b.operand(0), kind == exec::Vote::ballot ? 'w' : 'p');
    WarpOperands from;
    from.a = b.predicate(b.operand(1));
    from.members = members_slot;
    if (b.refused()) return;
    emit_warp(b, Operation::vote, to, from).flags = kind;
    b.write_back(to);
}

void match(Builder& b) {
    if (!take_sync(b)) return;
    Opcode& opcode = b.opcode();
    const bool wide = opcode.take_last() == "b64";
    opcode.ignore({"any"});
    const bool all = opcode.take("all");
    const Destination to = b.destination(b.operand(0), 'w');
    WarpOperands from;
    from.a = b.source(b.operand(1), wide ? 'd' : 'w');
    from.members = b.source(b.operand(2), 'w');
    if (b.refused()) return;
    emit_warp(b, wide ? Operation::match64 : Operation::match32, to, from).flags =
        all ? exec::Match::all : exec::Match::any;
    b.write_back(to);
}

void reduce(Builder& b) {
    if (!take_sync(b)) return;
    using exec::Reduction;
    struct Kind {
        Word operation, type;
        Reduction what;
    };
    static constexpr Kind kinds[] = {
        {"add", "u32", Reduction::add},     {"add", "s32", Reduction::add},
        {"min", "u32", Reduction::min_u},   {"max", "u32", Reduction::max_u},
        {"min", "s32", Reduction::min_s},   {"max", "s32", Reduction::max_s},
        {"and", "b32", Reduction::bit_and}, {"or", "b32", Reduction::bit_or},
        {"xor", "b32", Reduction::bit_xor}, {"min", "f32", Reduction::min_f},
        {"max", "f32", Reduction::max_f}};
    Opcode& opcode = b.opcode();
    const Word operation = opcode.take(2);
    const Word type = opcode.take_last();
    const auto* const found = std::ranges::find_if(
        kinds, [&](const Kind& one) { return one.operation == operation && one.type == type; });
    if (found == std::end(kinds)) return b.refuse();
    exec::ReduceFlags flags;
    flags.what = found->what;
    flags.of_magnitudes = opcode.take("abs");
    flags.keeps_nan = opcode.take("NaN");
    const Destination to = b.destination(b.operand(0), 'w');
    WarpOperands from;
    from.a = b.source(b.operand(1), 'w');
    from.members = b.source(b.operand(2), 'w');
    if (b.refused()) return;
    emit_warp(b, Operation::reduce, to, from).flags = flags;
    b.write_back(to);
}

void elect(Builder& b) {
    if (!take_sync(b)) return;
    const Destination to = b.destination(b.operand(0), 'w');
    WarpOperands from;
    from.members = b.source(b.operand(1), 'w');
    if (b.refused()) return;
    emit_warp(b, Operation::elect, to, from);
    b.write_back(to);
}

void active_mask(Builder& b) {
    b.opcode().take_last();
    const Destination to = b.destination(b.operand(0), 'w');
    if (b.refused()) return;
    b.emit(Operation::active_mask, {to.slot});
    b.write_back(to);
}

constexpr OpcodeDecoder warp_decoders[] = {{"shfl", shuffle}, {"vote", vote},
                                           {"match", match},  {"redux", reduce},
                                           {"elect", elect},  {"activemask", active_mask}};

}  // namespace

OpcodeDecoders warp_opcodes() noexcept {
    return warp_decoders;
}

}  // namespace lode::emulator::decode
