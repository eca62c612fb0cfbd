// Asynchronous copies, memory barriers, fences and questions about addresses.
#include <emulator/exec/decoder.hpp>
#include <emulator/exec/ops/async.hpp>
#include <emulator/exec/ops/atomic.hpp>
#include <emulator/exec/ops/control.hpp>

namespace lode::emulator {

namespace {

using ptx::OperandKind;

bool starts(std::string_view text, std::string_view with) {
    return text.starts_with(with);
}

}  // namespace

// cp.async: copies at once, so groups are always complete.
void Decoder::async_copy() {
    if (parts_.has("bulk")) return bulk();
    const std::string_view second = parts_.part[2];
    if (second == "commit_group" || second == "wait_group" || second == "wait_all") return;
    if (second == "mbarrier") {
        // Arrives when the copies are done, which they are; unless .noinc it has also raised the
        // count of pending arrivals first, so that nothing changes.
        if (!parts_.has("noinc")) return;
        u16 flags2 = 0;
        u64 offset = 0;
        bool shared = false;
        for (u32 i = 0; i < parts_.count; ++i)
            shared |= starts(parts_.part[i], "shared");
        const Slot at = lane_addresses(operand(0), shared, flags2, offset);
        if (refusal_) return;
        Op& op = emit(&mbarrier_arrive, {no_slot, at, no_slot}, 0);
        op.flags = arrive_once;
        op.flags2 = flags2;
        op.imm = offset;
        op.cache = bounds_slot();
        return;
    }
    const u32 given = operand_count();
    if (given < 3 || operand(2).kind != OperandKind::integer) return refuse();
    const u64 bytes = operand(2).bits;
    if (bytes != 4 && bytes != 8 && bytes != 16) return refuse("of such a size");
    const Slot to = whole_addresses(operand(0));
    const Slot from = whole_addresses(operand(1));
    Slot wanted = no_slot;
    Slot ignored = no_slot;
    for (u32 k = 3; k < given; ++k) {
        const ptx::Operand& extra = operand(k);
        const bool is_predicate = extra.kind == OperandKind::reg && letter_of(extra.index) == 'p';
        if (is_predicate) {
            ignored = predicate_source(extra);
        } else if (k == 3 && !parts_.has("L2::cache_hint")) {
            wanted = source_of(extra, 'w');
        }
    }
    if (refusal_) return;
    Op& op = emit(&copy_async, {no_slot, to, from, wanted, ignored}, 0);
    op.flags = static_cast<u16>(bytes);
    op.cache = bounds_slot();
}

// cp.async.bulk of one dimension, and st.bulk.
void Decoder::bulk() {
    if (parts_.base() == "st") {
        const Slot to = whole_addresses(operand(0));
        const Slot size = source_of(operand(1), 'd');
        if (refusal_) return;
        emit(&store_bulk, {no_slot, to, size}, 0).cache = bounds_slot();
        return;
    }
    for (u32 i = 0; i < parts_.count; ++i) {
        const std::string_view part = parts_.part[i];
        if (part == "commit_group" || part == "wait_group" || part == "wait_all") return;
        if (part == "tensor" || part == "cp_mask" || starts(part, "multicast") ||
            part == "prefetch::tensor") {
            return refuse();
        }
    }
    const bool prefetch = parts_.has("prefetch");
    if (prefetch) {
        const Slot from = whole_addresses(operand(0));
        const Slot size = source_of(operand(1), 'w');
        if (refusal_) return;
        Op& op = emit(&copy_bulk, {no_slot, from, from, size, no_slot}, 0);
        op.flags = 4;
        op.cache = bounds_slot();
        return;
    }
    // cp.async.bulk.<destination>.<source>…
    const bool to_shared = starts(parts_.part[3], "shared");
    const bool from_shared = starts(parts_.part[4], "shared");
    const bool counts = parts_.has("mbarrier::complete_tx::bytes");
    const Slot to = whole_addresses(operand(0));
    const Slot from = whole_addresses(operand(1));
    const Slot size = source_of(operand(2), 'w');
    const Slot barrier = counts ? whole_addresses(operand(3)) : no_slot;
    if (refusal_) return;
    Op& op = emit(&copy_bulk, {no_slot, to, from, size, barrier}, 0);
    op.flags = static_cast<u16>((to_shared ? 1 : 0) | (from_shared ? 2 : 0));
    op.cache = bounds_slot();
}

void Decoder::memory_barrier() {
    const std::string_view what = parts_.part[1];
    bool shared = false;
    for (u32 i = 0; i < parts_.count; ++i)
        shared |= starts(parts_.part[i], "shared");
    if (what == "pending_count") {
        const Target target = target_of(operand(0), 'w');
        const Slot state = source_of(operand(1), 'd');
        if (refusal_) return;
        emit(&mbarrier_pending_count, {target.written, state});
        return settle(target);
    }
    const bool test = what == "test_wait" || what == "try_wait";
    const bool arrives = what == "arrive" || what == "arrive_drop";
    const bool has_result = test || (arrives && operand_count() > 1 && !operand(0).address);
    const u32 at = has_result ? 1 : 0;
    u16 flags2 = 0;
    u64 offset = 0;
    const Slot address = lane_addresses(operand(at), shared, flags2, offset);
    const bool has_operand = operand_count() > at + 1;
    Handler handler = nullptr;
    u16 flags = 0;
    Target target;
    Slot value = no_slot;
    if (what == "init") {
        handler = &mbarrier_init;
        value = source_of(operand(1), 'w');
    } else if (what == "inval") {
        handler = &mbarrier_invalidate;
    } else if (test) {
        handler = &mbarrier_test;
        const bool parity = parts_.has("parity");
        flags = static_cast<u16>((parity ? 1 : 0) | (what == "try_wait" ? 2 : 0));
        value = source_of(operand(2), parity ? 'w' : 'd');
        target = target_of(operand(0), 'p');
    } else if (arrives || what == "expect_tx" || what == "complete_tx") {
        handler = &mbarrier_arrive;
        if (what == "expect_tx" || parts_.has("expect_tx")) flags |= arrive_expect_tx;
        if (what == "complete_tx") flags |= arrive_complete;
        if (!arrives) flags |= arrive_nothing;
        if (what == "arrive_drop") flags |= arrive_drop;
        if (has_operand) value = source_of(operand(at + 1), 'w');
        if (has_result && operand(0).kind != OperandKind::sink) target = target_of(operand(0), 'd');
    } else {
        return refuse();
    }
    if (refusal_) return;
    Op& op = emit(handler, {target.written, address, value}, target.written == no_slot ? 0 : 1);
    op.flags = flags;
    op.flags2 = flags2;
    op.imm = offset;
    op.cache = bounds_slot();
    settle(target);
}

void Decoder::nothing() {}

// A policy is opaque, and what takes one here ignores it: there is no cache to advise.
void Decoder::cache_policy() {
    const Target target = target_of(operand(0), 'd');
    if (refusal_) return;
    emit_row("mov.b64", {target.written, constant(0, 8)});
    settle(target);
}

void Decoder::fence_op() {
    emit(&fence, {}, 0);
}

void Decoder::is_space_op() {
    const std::string_view space = parts_.part[1];
    Window window = Window::global;
    if (starts(space, "shared")) window = Window::shared;
    if (space == "local") window = Window::local;
    if (starts(space, "param")) window = Window::param;
    const Target target = target_of(operand(0), 'p');
    const Slot a = source_of(operand(1), 'd');
    if (refusal_) return;
    Op& op = emit(&is_space, {target.written, a});
    op.flags = static_cast<u16>(window);
    op.flags2 = space == "const" ? 1 : 0;
}

}  // namespace lode::emulator
