// The race check of warpgroups' products: what wgmma reads and writes is its own until a wait.
//
// Shared memory is read by another thread, which ends with the wait. Registers are noted while a
// product is pending: mov passes the note on and overwrites nothing, because compilers give
// accumulators other names between products; every other use is a finding.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/isa/tensor.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

ProductOrder& products_in(WarpContext& c) {
    auto& products = c.block->order->warps[c.warp->index].products;
    if (!products) products = std::make_unique<ProductOrder>();
    return *products;
}

void report_pending(WarpContext& c, const Op* op, const ProductRegister& pending,
                    const char* what) {
    if (!is_new_finding(c, op, Finding::product_wait)) return;
    const EarlierPlace place = place_of_op(*c.launch, *pending.code, pending.op);
    report_finding(c, op, static_cast<u32>(std::countr_zero(c.mask)), Finding::product_wait,
                   fmt::format("{} the product{} {}, without a wgmma.wait_group\nproduct:{}", what,
                               place.brief, pending.is_result ? "computes" : "reads", place.text),
                   {place.stack});
}

/// The pending use of a register of the running function; nullptr if there is none.
const ProductRegister* pending_in(const WarpContext& c, const ProductOrder& products,
                                  const u8* row) {
    const auto at = products.pending.find(row);
    if (at == products.pending.end() || at->second.code != c.frame->code) return nullptr;
    return &at->second;
}

bool is_equal_shape(const ProductRegister& pending, const WarpgroupProduct& plan) {
    const auto& other = *static_cast<const WarpgroupProduct*>(pending.op->table);
    return other.columns == plan.columns && other.product.d.element == plan.product.d.element;
}

template <class F>
void each_row(WarpContext& c, const std::vector<Slot>& slots, F&& f) {
    for (const Slot slot : slots) {
        if (slot != no_slot && slot >> area_shift == static_cast<u32>(Area::frame))
            f(static_cast<const u8*>(source<u8>(c, slot)));
    }
}

}  // namespace

void order_product_fence(WarpContext& c) {
    ProductOrder& products = products_in(c);
    products.fenced = true;
    products.written.clear();
}

void order_product(WarpContext& c, const Op* op) {
    ProductOrder& products = products_in(c);
    const auto& plan = *static_cast<const WarpgroupProduct*>(op->table);
    const auto report_fence = [&](const std::string& what, const EarlierPlace& place) {
        if (is_new_finding(c, op, Finding::product_fence))
            report_finding(c, op, 0, Finding::product_fence, "lacks a wgmma.fence " + what,
                           {place.stack});
    };
    if (!products.fenced) report_fence("before its first product", {});
    const auto check_written = [&](const u8* row) {
        const auto at = products.written.find(row);
        if (at == products.written.end()) return;
        const EarlierPlace place = place_of_op(*c.launch, *c.frame->code, at->second);
        report_fence(fmt::format("after the write{} of a register of this product\nwrite:{}",
                                 place.brief, place.text),
                     place);
    };
    const auto group = static_cast<u32>(products.commits.size());
    each_row(c, plan.product.a.slots, [&](const u8* row) {
        check_written(row);
        const ProductRegister* const pending = pending_in(c, products, row);
        if (pending != nullptr && pending->is_result)
            report_pending(c, op, *pending, "multiplies what");
        if (pending == nullptr) products.pending[row] = {c.frame->code, op, group, false, false};
        if (pending != nullptr && !pending->is_result) products.pending[row].group = group;
    });
    const bool adds = (predicate(c, op->r[2]) & 1) != 0;
    each_row(c, plan.product.d.slots, [&](const u8* row) {
        if (adds) check_written(row);
        const ProductRegister* const pending = pending_in(c, products, row);
        if (pending != nullptr && !pending->is_result)
            report_pending(c, op, *pending, "overwrites what");
        if (pending != nullptr && pending->is_result && adds && !is_equal_shape(*pending, plan))
            report_pending(c, op, *pending, "adds, in another shape, to what");
        products.pending[row] = {c.frame->code, op, group, true, false};
        products.written.erase(row);
    });
}

void order_product_read(WarpContext& c, const Op* op, u32 offset) {
    BlockOrder& order = *c.block->order;
    if (order.spent || u64{offset} + 16 > c.shared_bytes) return;
    const Noted noted{Access::read, 16, nullptr};
    RaceAccess a = race_access(c, op, true, noted);
    a.own = stamp_of(stamp_products, order.time, 0, c.warp->index * lanes);
    alignas(32) u64 addresses[lanes] = {};
    addresses[0] = offset;
    check_lane(a, 0, addresses);
}

void order_product_commit(WarpContext& c) {
    BlockOrder& order = *c.block->order;
    products_in(c).commits.push_back(order.time);
    order.tick();
}

void order_product_wait(WarpContext& c, u32 left) {
    BlockOrder& order = *c.block->order;
    ProductOrder& products = products_in(c);
    if (products.commits.size() <= left) return;
    const std::size_t complete = products.commits.size() - left;
    std::erase_if(products.pending, [&](const auto& one) { return one.second.group < complete; });
    auto clock = std::make_shared<Clock>();
    const u32 first = c.warp->index / warpgroup_warps * warpgroup_warps;
    const u32 end = std::min(first + warpgroup_warps, c.block->warp_count);
    for (u32 w = first; w < end; ++w) {
        const auto& others = order.warps[w].products;
        if (!others || others->commits.size() < complete) continue;
        clock->entries.push_back({key_of_thread(products_of(order.block), w * lanes, false),
                                  others->commits[complete - 1]});
    }
    const ClockRef made = std::move(clock);
    FineOrder& fine = order.fine(c.warp->index);
    ClockRef before, after;
    each_lane(c.mask, [&](u32 i) {
        ClockRef& known = fine.known[i];
        if (after == nullptr || known != before) {
            before = known;
            after = joined(known, made);
        }
        known = after;
    });
}

const Op* note_product_registers(WarpContext& c, const Op* op) {
    if (!c.race || !c.block->order->warps[c.warp->index].products) return op + 1;
    ProductOrder& products = products_in(c);
    const auto& registers = *static_cast<const ProductRegisters*>(op->table);
    if (registers.copies) {
        ProductRegister passed;
        const Op* writer = nullptr;
        each_row(c, registers.reads, [&](const u8* row) {
            const ProductRegister* const pending = pending_in(c, products, row);
            if (pending != nullptr && pending->is_result) passed = *pending;
            if (const auto at = products.written.find(row); at != products.written.end())
                writer = at->second;
        });
        passed.is_copy = true;
        each_row(c, registers.writes, [&](const u8* row) {
            if (passed.op != nullptr) {
                products.pending[row] = passed;
            } else {
                products.pending.erase(row);
            }
            if (writer != nullptr) {
                products.written[row] = writer;
            } else {
                products.written.erase(row);
            }
        });
        return op + 1;
    }
    each_row(c, registers.reads, [&](const u8* row) {
        const ProductRegister* const pending = pending_in(c, products, row);
        if (pending != nullptr && pending->is_result) report_pending(c, op, *pending, "uses what");
    });
    each_row(c, registers.writes, [&](const u8* row) {
        const ProductRegister* const pending = pending_in(c, products, row);
        if (pending != nullptr && !pending->is_copy)
            report_pending(c, op, *pending, "overwrites what");
        products.pending.erase(row);
        products.written[row] = op;
    });
    return op + 1;
}

}  // namespace lode::emulator::exec
