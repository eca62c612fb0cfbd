#include "emulator/exec/ops/memory/generic.hpp"

#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

/// A local address of another thread means something else here.
[[gnu::noinline]] const Op* foreign_local(WarpContext& c, const Op* op, u32 lane, u32 owner,
                                          const MemoryAccess& access) {
    const Dim3 shape = c.launch->shape.block;
    const u32 thread = owner - 1;
    return raise(c, op, lane, Fault::illegal_address,
                 fmt::format("{} {} of another thread's local memory\nowner: thread "
                             "({},{},{}); each thread has its own local memory",
                             access.stores ? "writes" : "reads",
                             bytes_text(u64{access.bytes} * access.parts), thread % shape.x,
                             thread / shape.x % shape.y, thread / shape.x / shape.y));
}

/// The first lane with a local address of another thread; `lanes` if there is none.
u32 first_foreign(const WarpContext& c, const u64* a, u64 offset) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u64 address = a[i] + offset;
        const u32 owner = owner_of(address);
        // An offset below 0 is outside of local memory anyway.
        const bool is_negative = (address & 0x8000'0000) != 0;
        if (owner != 0 && owner != c.warp->index * lanes + i + 1 && !is_negative) return i;
    }
    return lanes;
}

}  // namespace

Windows::Windows(const MemoryAccess& generic) : access(generic) {
    MemoryAccess one = generic;
    const auto handler = [&](MemorySpace space) {
        one.space = space;
        return access_handler(one);
    };
    handlers[static_cast<u32>(Window::global)] = handler(MemorySpace::global);
    handlers[static_cast<u32>(Window::shared)] = handler(MemorySpace::shared);
    handlers[static_cast<u32>(Window::local)] = handler(MemorySpace::local);
    handlers[static_cast<u32>(Window::param)] = handler(MemorySpace::parameter);
}

const Op* run_by_window(WarpContext& c, const Op* op, const Windows& windows) {
    alignas(32) u64 a[lanes];
    std::memcpy(a, source<u64>(c, op->r[windows.access.parts]), sizeof a);
    const u32 whole = c.mask;
    const Op* next = op + 1;
    for (u32 left = whole; left != 0 && next == op + 1;) {
        const u64 first = a[std::countr_zero(left)] + op->imm;
        const u64 window = first >> window_shift;
        u32 same = 0;
        each_lane(left,
                  [&](u32 i) { same |= u32{(a[i] + op->imm) >> window_shift == window} << i; });
        c.mask = same;
        left &= ~same;
        if (window == static_cast<u64>(Window::local) && c.check_memory) {
            if (const u32 i = first_foreign(c, a, op->imm); i < lanes) {
                c.mask = whole;
                return foreign_local(c, op, i, owner_of(a[i] + op->imm), windows.access);
            }
        }
        const bool is_known = window < std::size(windows.handlers);
        const Handler run = is_known ? windows.handlers[window] : nullptr;
        next = run != nullptr ? run(c, op)
                              : raise(c, op, static_cast<u32>(std::countr_zero(c.mask)),
                                      Fault::illegal_address, describe_bad_window(first));
    }
    c.mask = whole;
    return next;
}

const Op* generic_local_address(WarpContext& c, const Op* op) {
    u64* const to = destination<u64>(c, op->r[0]);
    const u64* const from = source<u64>(c, op->r[1]);
    const u64 tag = window_tag(Window::local);
    const u32 first = c.warp->index * lanes;
    each_lane(c.mask,
              [&](u32 i) { to[i] = static_cast<u32>(from[i]) | tag | owner_tag(first + i); });
    return op + 1;
}

}  // namespace lode::emulator::exec
