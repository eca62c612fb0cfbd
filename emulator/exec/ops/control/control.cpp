#include "emulator/isa/control.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/builtins.hpp"
#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/sync.hpp"
#include "emulator/exec/ops/control/branch.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/ops/memory/stack.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/cluster.hpp"

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// The mask of the lanes whose value equals one.
template <class T>
[[gnu::always_inline]] inline u32 lanes_equal(const T* values, T one) noexcept {
    return lanes_where<T>([=](u32 lane) { return values[lane] == one; });
}

}  // namespace

const Op* branch(WarpContext& c, const Op* op) {
    return go(c, op, op->target);
}
const Op* branch_if(WarpContext& c, const Op* op) {
    return branch_on(c, op, predicate(c, op->r[0]) & c.mask);
}
const Op* branch_unless(WarpContext& c, const Op* op) {
    return branch_on(c, op, ~predicate(c, op->r[0]) & c.mask);
}

const Op* branch_indexed(WarpContext& c, const Op* op) {
    const auto& targets = *static_cast<const std::vector<const Op*>*>(op->table);
    const u32* index = source<u32>(c, op->r[0]);
    const auto first = static_cast<u32>(std::countr_zero(c.mask));
    const u32 same = lanes_equal(index, index[first]) & c.mask;
    if (index[first] >= targets.size()) {
        return raise(c, op, first, Fault::invalid_pc,
                     fmt::format("branches with index {} into a list of {} targets", index[first],
                                 targets.size()));
    }
    if (same != c.mask) add_group(c, op, c.mask & ~same);
    c.mask = same;
    return requeue(c, targets[index[first]]);
}

const Op* exit_threads(WarpContext& c, const Op*) {
    return end_group(c);
}

const Op* return_from(WarpContext& c, const Op* op) {
    Frame* const frame = c.frame;
    if (frame->parent == nullptr) return exit_threads(c, op);
    const auto& site = *static_cast<const CallSite*>(frame->call->table);
    const Op* const resume = frame->call + 1;
    const std::size_t count = std::min(site.returns.size(), frame->code->returns.size());
    for (std::size_t k = 0; k < count; ++k) {
        const ParameterRows from = frame->code->returns[k];
        const ParameterRows to = site.returns[k];
        for (u32 row = 0; row < std::min(from.rows(), to.rows()); ++row) {
            const auto* source_row =
                reinterpret_cast<const u32*>(frame->registers + (from.offset + row * 128));
            auto* row_to =
                reinterpret_cast<u32*>(frame->parent->registers + (to.offset + row * 128));
            each_lane(c.mask, [&](u32 i) { row_to[i] = source_row[i]; });
        }
    }
    frame->mask &= ~c.mask;
    Frame* const parent = frame->parent;
    if (frame->mask == 0) c.worker->frames.give(frame);
    enter_frame(c, parent);
    return requeue(c, resume);
}

namespace {

const Op* call_into(WarpContext& c, const Op* op, const CallSite& site, const Code& code) {
    const u32 base = align_up(end_of_variables(*c.frame) + c.frame->allocated, 16);
    const u32 top = base + code.local_bytes;
    const u32 limit = c.launch->options->stack_limit;
    // Every activation counts at least 64 bytes, so that recursion without local data also ends.
    const u64 claimed = u64{top} + u64{c.frame->depth + 1} * 64;
    if (claimed > limit) {
        return raise(
            c, op, static_cast<u32>(std::countr_zero(c.mask)), Fault::hardware_stack,
            fmt::format("calls {} beyond the stack's limit of {} bytes\nstack: the call at "
                        "depth {} needs {}\ncure: raise CU_LIMIT_STACK_SIZE",
                        brief_name(code.function->name), limit, c.frame->depth + 1,
                        bytes_text(claimed)));
    }
    Frame* const frame = c.worker->frames.take(code);
    frame->code = &code;
    frame->parent = c.frame;
    frame->call = op;
    frame->depth = c.frame->depth + 1;
    frame->mask = c.mask;
    frame->local_base = base;
    frame->allocated = 0;
    const std::size_t count = std::min(site.arguments.size(), code.parameters.size());
    for (std::size_t k = 0; k < count; ++k) {
        const ParameterRows from = site.arguments[k];
        const ParameterRows to = code.parameters[k];
        std::memcpy(frame->registers + to.offset, c.frame->registers + from.offset,
                    std::min(from.rows(), to.rows()) * std::size_t{128});
    }
    grow_local(c, top);
    if (c.init && code.local_bytes != 0)
        each_lane(c.mask, [&](u32 i) { forget_local(c, i, base, top); });
    enter_frame(c, frame);
    // Lanes that don't take part are in a shallower frame, which runs later.
    c.stop = leave();
    return code.ops.data();
}

bool same_sizes(std::span<const ParameterRows> a, std::span<const ParameterRows> b) noexcept {
    return std::ranges::equal(a, b, [](const ParameterRows& one, const ParameterRows& other) {
        return one.bytes == other.bytes || one.bytes == 0 || other.bytes == 0;
    });
}

/// "2 parameters (4 and 8 bytes)"
std::string sizes_text(std::span<const ParameterRows> all, std::string_view what) {
    if (all.empty()) return fmt::format("no {}", what);
    std::string sizes = fmt::format("{}", all[0].bytes);
    for (std::size_t k = 1; k < all.size(); ++k)
        sizes += fmt::format("{}{}", k + 1 == all.size() ? " and " : ", ", all[k].bytes);
    return fmt::format("{} {}{} ({} bytes)", all.size(), what, all.size() == 1 ? "" : "s", sizes);
}

/// A call through a pointer whose prototype has other sizes than the function.
const Op* wrong_prototype(WarpContext& c, const Op* op, u32 lane, const CallSite& site,
                          const Code& code) {
    const auto text = [](std::span<const ParameterRows> parameters,
                         std::span<const ParameterRows> results) {
        return sizes_text(parameters, "parameter") + ", " + sizes_text(results, "result");
    };
    return raise(c, op, lane, Fault::launch_failed,
                 fmt::format("calls {} by a pointer to another kind of function\ncall: {}\n"
                             "function: {}",
                             brief_name(code.function->name), text(site.arguments, site.returns),
                             text(code.parameters, code.returns)));
}

}  // namespace

const Op* call_direct(WarpContext& c, const Op* op) {
    const auto& site = *static_cast<const CallSite*>(op->table);
    return call_into(c, op, site, *site.callee);
}

const Op* call_indirect(WarpContext& c, const Op* op) {
    const auto& site = *static_cast<const CallSite*>(op->table);
    const u64* targets = source<u64>(c, site.target);
    const auto first = static_cast<u32>(std::countr_zero(c.mask));
    const u64 target = targets[first];
    const u32 same = lanes_equal(targets, target) & c.mask;
    const auto found = c.launch->kernel->by_function.find(static_cast<u32>(target));
    if (target >> window_shift != static_cast<u64>(Window::code) ||
        found == c.launch->kernel->by_function.end()) {
        return raise(
            c, op, first, Fault::invalid_pc,
            fmt::format("calls an address that isn't a function's\naddress: 0x{:x}", target));
    }
    const Code& code = *found->second;
    if (!same_sizes(site.arguments, code.parameters) || !same_sizes(site.returns, code.returns))
        return wrong_prototype(c, op, first, site, code);
    if (same != c.mask) add_group(c, op, c.mask & ~same);
    c.mask = same;
    return call_into(c, op, site, code);
}

const Op* call_builtin(WarpContext& c, const Op* op) {
    const auto& site = *static_cast<const CallSite*>(op->table);
    return builtin_handlers[site.builtin](c, op, site);
}

namespace {

/// How many threads arrive with these lanes at a barrier with a count: a warp counts as 32 once its
/// last living lane has arrived.
u32 counted_threads(Warp& warp, u32 id, u32 mask) {
    u32& parts = warp.arrived_parts[id];
    const u32 arrived = parts | mask;
    const bool is_whole = (warp.live & ~arrived) == 0;
    parts = is_whole ? 0 : arrived;
    const auto threads = static_cast<u32>(std::popcount(mask));
    return is_whole ? threads + lanes - static_cast<u32>(std::popcount(arrived)) : threads;
}

}  // namespace

const Op* block_barrier(WarpContext& c, const Op* op) {
    const auto [kind, aligned] = op->flags.as<BarrierFlags>();
    const u32* ids = source<u32>(c, op->r[1]);
    const auto first = static_cast<u32>(std::countr_zero(c.mask));
    const u32 id = ids[first];
    const auto is_constant = [op](u32 operand) {
        return op->r[operand] >> area_shift == static_cast<u32>(Area::constants);
    };
    u32 same = c.mask;
    if (!is_constant(1)) same &= lanes_equal(ids, id);
    const bool one_barrier = same == c.mask;
    if (id > 15) {
        return raise(c, op, first, Fault::illegal_instruction,
                     fmt::format("uses barrier {}, but the last barrier is 15", id));
    }
    u32 expected = 0;
    if (op->r[2] != no_slot) {
        const u32* counts = source<u32>(c, op->r[2]);
        expected = counts[first];
        if (!is_constant(2)) same &= lanes_equal(counts, expected);
        if (expected == 0 || expected % lanes != 0) {
            return raise(c, op, first, Fault::illegal_instruction,
                         fmt::format("waits at barrier {} for {} threads, which isn't a positive "
                                     "multiple of 32",
                                     id, expected));
        }
    }
    if (c.sync && !one_barrier && aligned) check_barrier_ids(c, op);
    if (same != c.mask) add_group(c, op, c.mask & ~same);
    c.mask = same;
    Barrier& barrier = c.block->barriers[id];
    c.block->barriers_used |= 1u << id;
    if (kind >= BarrierKind::popc) {
        const u32 votes = predicate(c, op->r[3]);
        barrier.votes += static_cast<u32>(std::popcount(votes & c.mask));
        barrier.voters += static_cast<u32>(std::popcount(c.mask));
    }
    if (c.race) {
        const u32 everybody = c.block->warp_count * lanes;
        order_arrive(c, id, kind == BarrierKind::arrive || (expected != 0 && expected < everybody));
    }
    // Lanes that have arrived here without waiting.
    const u32 earlier = kind == BarrierKind::arrive ? c.warp->arrived_parts[id] : 0;
    const u32 threads = expected != 0 ? counted_threads(*c.warp, id, c.mask)
                                      : static_cast<u32>(std::popcount(c.mask));
    if (c.sync) check_barrier(c, op, id, threads, expected, earlier);
    if (kind == BarrierKind::arrive) {
        arrive_at_barrier(c, id, threads, expected);
        return op + 1;
    }
    barrier.waiting += static_cast<u32>(std::popcount(c.mask));
    barrier.arrived += threads;
    if (expected != 0) barrier.expected = expected;
    return wait_at_barrier(c, id, op + 1);
}

const Op* trap(WarpContext& c, const Op* op) {
    return raise(c, op, static_cast<u32>(std::countr_zero(c.mask)), Fault::launch_failed,
                 "executes a trap");
}
const Op* multicast_access(WarpContext& c, const Op* op) {
    return raise(c, op, static_cast<u32>(std::countr_zero(c.mask)), Fault::illegal_address,
                 "uses multimem outside of multicast objects, of which this device has none");
}
const Op* sleep(WarpContext& c, const Op* op) {
    return give_up_turn(c, op + 1);
}
const Op* fence(WarpContext& c, const Op* op) {
    if (c.race) order_fence(c, op);
#if defined(__SANITIZE_THREAD__)
    // ThreadSanitizer doesn't support fences; an update of one variable by every fence also orders
    // them.
    static u32 fences = 0;
    __atomic_fetch_add(&fences, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
    return op + 1;
}

namespace {

u64 nanoseconds() {
    return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::steady_clock::now().time_since_epoch())
                                .count());
}

}  // namespace

const Op* read_clock32(WarpContext& c, const Op* op) {
    const auto now = static_cast<u32>(nanoseconds());
    assign(c, destination<u32>(c, op->r[0]), [=](u32) { return now; });
    return op + 1;
}
const Op* read_clock64(WarpContext& c, const Op* op) {
    const u64 now = nanoseconds();
    assign(c, destination<u64>(c, op->r[0]), [=](u32) { return now; });
    return op + 1;
}
const Op* read_globaltimer(WarpContext& c, const Op* op) {
    const auto now = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count());
    assign(c, destination<u64>(c, op->r[0]), [=](u32) { return now; });
    return op + 1;
}

const Op* local_address(WarpContext& c, const Op* op) {
    const u64 address = c.frame->local_base + op->imm;
    assign(c, destination<u64>(c, op->r[0]), [=](u32) { return address; });
    return op + 1;
}

const Op* is_space(WarpContext& c, const Op* op) {
    const u64* a = source<u64>(c, op->r[1]);
    // Constants are among the module's variables, in the global window.
    const auto flags = op->flags.as<SpaceFlags>();
    const bool global = flags.window == static_cast<u8>(Window::global);
    u32 bits = 0;
    each_lane(c.mask, [&](u32 i) {
        if (a[i] >> window_shift != flags.window) return;
        if (flags.own && (static_cast<u32>(a[i]) >> rank_shift) != 0) return;
        const Global* const variable = global ? c.launch->module->variable_near(a[i]) : nullptr;
        const bool constant = variable != nullptr && variable->constant;
        bits |= u32{constant == flags.constants} << i;
    });
    u32& d = predicate_destination(c, op->r[0]);
    d = merged(d, bits, c.mask);
    return op + 1;
}

const Op* load_row(WarpContext& c, const Op* op) {
    const auto* row = reinterpret_cast<const u32*>(c.area[0] + op->r[1]);
    const auto [bytes, offset] = op->flags.as<RowFlags>();
    const u32 shift = offset * 8u;
    switch (bytes) {
        case 1:
            assign(c, destination<u8>(c, op->r[0]),
                   [=](u32 i) { return static_cast<u8>(row[i] >> shift); });
            break;
        case 2:
            assign(c, destination<u16>(c, op->r[0]),
                   [=](u32 i) { return static_cast<u16>(row[i] >> shift); });
            break;
        case 4:
            assign(c, destination<u32>(c, op->r[0]), [=](u32 i) { return row[i]; });
            break;
        case 8:
            assign(c, destination<u64>(c, op->r[0]),
                   [=](u32 i) { return (u64{row[i + lanes]} << 32) | row[i]; });
            break;
        default:
            assign_each(c, destination<u128>(c, op->r[0]), [=](u32 i) {
                const u64 high = (u64{row[i + 3 * lanes]} << 32) | row[i + 2 * lanes];
                return (u128{high} << 64) | (u64{row[i + lanes]} << 32) | row[i];
            });
            break;
    }
    return op + 1;
}

const Op* store_row(WarpContext& c, const Op* op) {
    auto* row = reinterpret_cast<u32*>(c.area[0] + op->r[1]);
    const auto [bytes, offset] = op->flags.as<RowFlags>();
    const u32 shift = offset * 8u;
    const auto put = [&](u32 value_mask, auto&& value) {
        assign(c, row,
               [&](u32 i) { return (row[i] & ~(value_mask << shift)) | (u32{value(i)} << shift); });
    };
    switch (bytes) {
        case 1: {
            const u8* a = source<u8>(c, op->r[0]);
            put(0xff, [=](u32 i) { return a[i]; });
            break;
        }
        case 2: {
            const u16* a = source<u16>(c, op->r[0]);
            put(0xffff, [=](u32 i) { return a[i]; });
            break;
        }
        case 4: {
            const u32* a = source<u32>(c, op->r[0]);
            assign(c, row, [=](u32 i) { return a[i]; });
            break;
        }
        default: {
            const u32 words = bytes / 4u;
            const u32* a = source<u32>(c, op->r[0]);
            for (u32 w = 0; w < words; ++w) {
                assign(c, row + std::size_t{w} * lanes, [=](u32 i) { return a[i * words + w]; });
            }
            break;
        }
    }
    return op + 1;
}

}  // namespace lode::emulator::exec
