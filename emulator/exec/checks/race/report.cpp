// The text of the race check's findings.
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/access.hpp"

#include <string>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// For example "(1,0,0)".
std::string block_text(const RaceAccess& a, u64 number) {
    const Dim3 grid = a.c.launch->shape.grid;
    const u64 block = number - a.c.launch->accesses->first_block;
    return fmt::format("({},{},{})", block % grid.x, block / grid.x % grid.y,
                       block / grid.x / grid.y);
}

std::string thread_text(const RaceAccess& a, Stamp before) {
    const Dim3 shape = a.c.launch->shape.block;
    const u32 thread = stamp_thread(before);
    std::string text = fmt::format("thread ({},{},{})", thread % shape.x,
                                   thread / shape.x % shape.y, thread / shape.x / shape.y);
    if (a.shared && stamp_block(before) == stamp_products)
        return "the product (wgmma) by the warp of " + text;
    if (const u64 number = block_of(a, before); number != a.order.block)
        text += " of block " + block_text(a, number);
    if ((before & stamp_async) != 0) text = "an asynchronous copy by " + text;
    return text;
}

std::string shared_text(const RaceAccess& a, u32 offset) {
    std::string text = shared_place(*a.c.launch, offset);
    if (&a.home == &a.order) return text;
    return text + ", of block " + block_text(a, a.home.block);
}

}  // namespace

namespace {

/// Whether an earlier access is at the source line of this one.
bool is_same_line(const RaceAccess& a, const EarlierPlace& place) {
    if (place.stack.empty()) return false;
    const auto here =
        source_stack(*a.c.launch->module, *a.c.frame->code, a.c.frame->code->instruction(a.op));
    const SourcePlace& there = place.stack.front();
    return !here.empty() && here.front().line == there.line && here.front().file == there.file;
}

/// What orders two accesses.
std::string_view cure_for(const RaceAccess& a, Stamp before, bool strong, bool same_line) {
    if (strong) return "cure: widen the scope of both accesses, e.g. to .gpu or .sys";
    if ((before & stamp_async) != 0)
        return "cure: wait for the copy, e.g. with __pipeline_wait_prior or a barrier's wait";
    if (a.shared && stamp_block(before) == stamp_products)
        return "cure: wait with wgmma.wait_group";
    if (block_of(a, before) != a.order.block)
        return "cure: use atomics, or do the two accesses in two launches";
    if (same_line) return "cure: use atomics, or give each thread its own element";
    return "cure: put a __syncthreads() between the two, or use atomics";
}

/// Tells apart what one op races with: the variable or allocation, and the earlier op.
u64 cause_of(const RaceAccess& a, u64 address, const EarlierAccess& earlier, bool wrote) {
    u64 thing = 0;
    if (a.shared) {
        const auto* const in = shared_variable_near(*a.c.launch, static_cast<u32>(address));
        thing = in != nullptr ? in->offset + 1 : 0;
    } else if (const auto* const variable = a.c.launch->module->variable_near(address)) {
        thing = variable->address;
    } else {
        thing = a.c.launch->memory->bounds(address)[0];
    }
    return thing | u64{earlier.site} << 48 | u64{wrote} << 63;
}

}  // namespace

void report_race(const RaceAccess& a, u32 lane, u64 address, const EarlierAccess& earlier,
                 bool benign) {
    const Finding kind = benign ? Finding::benign_race : Finding::race;
    const Stamp before = earlier.stamp;
    const bool wrote = earlier.wrote || stamp_is_covered(before);
    const u64 cause = cause_of(a, address, earlier, wrote);
    if (!is_new_finding(a.c, a.op, kind, cause)) return;
    std::string order = "with no order between the two";
    const bool by_product = a.shared && stamp_block(before) == stamp_products;
    if ((before & stamp_async) != 0 || by_product) order = "which hasn't been waited for";
    const bool both_strong = a.strength != 0 && !stamp_is_weak(before) && !stamp_is_covered(before);
    if (both_strong) order += "; their scope is smaller than the distance of the threads";
    if (a.op->order.data && !a.writes()) order += "; volatile makes none";
    const EarlierPlace place = earlier_place(*a.c.launch, earlier.site, wrote);
    const auto offset = static_cast<u32>(address);
    const GlobalSpot spot = a.shared ? GlobalSpot{{},
                                                  shared_thing(*a.c.launch, offset),
                                                  "address: " + shared_text(a, offset)}
                                     : global_spot(*a.c.launch, address, a.noted.bytes);
    const std::string_view verb = a.writes() ? "writes" : "reads";
    report_finding(
        a.c, a.op, lane, kind,
        fmt::format("{} {} in a {} with the {}{}\nrace: it {} what {} has {}{}, {}\n{}\n{}", verb,
                    spot.thing, benign ? "benign race of equal values" : "race",
                    wrote ? "write" : "read", place.brief, verb, thread_text(a, before),
                    wrote ? "written" : "read", place.text, order, spot.facts,
                    benign ? "benign: both store the same value, so their order doesn't matter"
                           : cure_for(a, before, both_strong, is_same_line(a, place))),
        {place.stack, spot.thing}, cause);
}

}  // namespace lode::emulator::exec
