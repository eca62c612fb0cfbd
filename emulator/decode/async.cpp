// Asynchronous copies, memory barriers, fences and questions about addresses.
#include "emulator/decode/ops/async.hpp"

#include "emulator/decode/decoder.hpp"
#include "emulator/decode/ops/atomic.hpp"
#include "emulator/decode/ops/control.hpp"

namespace lode::emulator::decode {

using ptx::OperandKind;

// cp.async: copies at once, so groups are always complete.
void Decoder::async_copy() {
    if (parts_.base() == "cp" && parts_.peek(1) == "reduce") return refuse();
    if (parts_.peek(2) == "bulk") return bulk();
    parts_.take("async");
    if (parts_.take("commit_group") || parts_.take("wait_group") || parts_.take("wait_all")) return;
    if (parts_.take("mbarrier")) {
        parts_.ignore({"arrive", "b64"});
        // Arrives when the copies are done, which they are; unless .noinc it has also raised the
        // count of pending arrivals first, so that nothing changes.
        const bool shared = take_space() == exec::MemorySpace::shared;
        if (!parts_.take("noinc")) return;
        u16 flags2 = 0;
        u64 offset = 0;
        const Slot at = lane_addresses(operand(0), shared, flags2, offset);
        if (refusal_) return;
        Op& op = emit(&exec::mbarrier_arrive, {no_slot, at, no_slot}, 0);
        op.flags = exec::arrive_once;
        op.flags2 = flags2;
        op.imm = offset;
        op.cache = bounds_slot();
        return;
    }
    const bool has_policy = parts_.take("L2::cache_hint");
    ignore_caches();
    parts_.take_prefix("shared");
    parts_.take("global");
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
        } else if (k == 3 && !(has_policy && given == 4)) {
            wanted = source_of(extra, 'w');
        }
    }
    if (refusal_) return;
    Op& op = emit(&exec::copy_async, {no_slot, to, from, wanted, ignored}, 0);
    op.flags = static_cast<u16>(bytes);
    op.cache = bounds_slot();
}

// cp.async.bulk of one dimension, and st.bulk.
void Decoder::bulk() {
    if (parts_.base() == "st") {
        parts_.ignore({"bulk", "weak", "shared::cta"});
        const Slot to = whole_addresses(operand(0));
        const Slot size = source_of(operand(1), 'd');
        if (refusal_) return;
        emit(&exec::store_bulk, {no_slot, to, size}, 0).cache = bounds_slot();
        return;
    }
    parts_.ignore({"async", "bulk"});
    if (parts_.take("commit_group")) return;
    if (parts_.take("wait_group")) return parts_.ignore({"read"});
    parts_.take("L2::cache_hint");
    if (parts_.take("prefetch")) {
        parts_.ignore({"L2", "global"});
        const Slot from = whole_addresses(operand(0));
        const Slot size = source_of(operand(1), 'w');
        if (refusal_) return;
        Op& op = emit(&exec::copy_bulk, {no_slot, from, from, size, no_slot}, 0);
        op.flags = 4;
        op.cache = bounds_slot();
        return;
    }
    // cp.async.bulk.<destination>.<source>…
    const bool to_shared = parts_.take(3).starts_with("shared");
    const bool from_shared = parts_.take(4).starts_with("shared");
    const bool counts = parts_.take("mbarrier::complete_tx::bytes");
    parts_.ignore({"bulk_group"});
    const Slot to = whole_addresses(operand(0));
    const Slot from = whole_addresses(operand(1));
    const Slot size = source_of(operand(2), 'w');
    const Slot barrier = counts ? whole_addresses(operand(3)) : no_slot;
    if (refusal_) return;
    Op& op = emit(&exec::copy_bulk, {no_slot, to, from, size, barrier}, 0);
    op.flags = static_cast<u16>((to_shared ? 1 : 0) | (from_shared ? 2 : 0));
    op.cache = bounds_slot();
}

void Decoder::memory_barrier() {
    const std::string_view what = parts_.take(1);
    parts_.take_last();
    const bool shared = take_space() == exec::MemorySpace::shared;
    ignore_scope();
    parts_.ignore({"acquire", "release", "relaxed", "noComplete"});
    if (what == "pending_count") {
        const Target target = target_of(operand(0), 'w');
        const Slot state = source_of(operand(1), 'd');
        if (refusal_) return;
        emit(&exec::mbarrier_pending_count, {target.written, state});
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
        handler = &exec::mbarrier_init;
        value = source_of(operand(1), 'w');
    } else if (what == "inval") {
        handler = &exec::mbarrier_invalidate;
    } else if (test) {
        handler = &exec::mbarrier_test;
        const bool parity = parts_.take("parity");
        flags = static_cast<u16>((parity ? 1 : 0) | (what == "try_wait" ? 2 : 0));
        value = source_of(operand(2), parity ? 'w' : 'd');
        target = target_of(operand(0), 'p');
    } else if (arrives || what == "expect_tx" || what == "complete_tx") {
        handler = &exec::mbarrier_arrive;
        if (what == "expect_tx" || parts_.take("expect_tx")) flags |= exec::arrive_expect_tx;
        if (what == "complete_tx") flags |= exec::arrive_complete;
        if (!arrives) flags |= exec::arrive_nothing;
        if (what == "arrive_drop") flags |= exec::arrive_drop;
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

// Advice to caches and schedulers.
void Decoder::nothing() {
    parts_.take_all();
}

// A policy is opaque, and what takes one here ignores it: there is no cache to advise.
void Decoder::cache_policy() {
    parts_.take_all();
    const Target target = target_of(operand(0), 'd');
    if (refusal_) return;
    emit_row("mov.b64", {target.written, constant(0, 8)});
    settle(target);
}

// One fence is enough for every order, scope and proxy.
void Decoder::fence_op() {
    parts_.take_all();
    emit(&exec::fence, {}, 0);
}

void Decoder::is_space_op() {
    const std::string_view space = parts_.take(1);
    Window window = Window::global;
    if (space.starts_with("shared")) window = Window::shared;
    if (space == "local") window = Window::local;
    if (space.starts_with("param")) window = Window::param;
    const Target target = target_of(operand(0), 'p');
    const Slot a = source_of(operand(1), 'd');
    if (refusal_) return;
    Op& op = emit(&exec::is_space, {target.written, a});
    op.flags = static_cast<u16>(window);
    op.flags2 = space == "const" ? 1 : 0;
}

}  // namespace lode::emulator::decode
