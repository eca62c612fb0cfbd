// The text of the race check's findings.
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
    return text + " of block " + block_text(a, a.home.block);
}

}  // namespace

void report_race(const RaceAccess& a, u32 lane, u64 address, const EarlierAccess& earlier,
                 bool benign) {
    const Finding kind = benign ? Finding::benign_race : Finding::race;
    if (!is_new_finding(a.c, a.op, kind)) return;
    const Stamp before = earlier.stamp;
    const bool wrote = earlier.wrote || stamp_is_covered(before);
    std::string order = "with no order between the two";
    const bool by_product = a.shared && stamp_block(before) == stamp_products;
    if ((before & stamp_async) != 0 || by_product) order = "which hasn't been waited for";
    const bool both_strong = a.strength != 0 && !stamp_is_weak(before) && !stamp_is_covered(before);
    if (both_strong) order += "; their scope is smaller than the distance of the threads";
    if (a.op->order.data && !a.writes()) order += "; volatile makes none";
    const char* const what = benign ? "has a benign race of equal values" : "has a race";
    const EarlierPlace place = earlier_place(*a.c.launch, earlier.site, wrote);
    report_finding(
        a.c, a.op, lane, kind,
        fmt::format("{}: it {} what {} has {}{}, {}, {}", what, a.writes() ? "writes" : "reads",
                    thread_text(a, before), wrote ? "written" : "read", place.text, order,
                    a.shared ? shared_text(a, static_cast<u32>(address))
                             : global_place(*a.c.launch, address, a.noted.bytes)),
        place.stack);
}

}  // namespace lode::emulator::exec
