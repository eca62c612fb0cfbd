// ld and st with generic addresses: each lane's address selects the window.
#include "emulator/exec/ops/memory/generic.hpp"

#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/exec/scheduler.hpp"
#include "emulator/isa/load_store.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

const Op* wrong_window(WarpContext& c, const Op* op, u64 address) {
    return raise(c, op, static_cast<u32>(std::countr_zero(c.mask)), Fault::invalid_address_space,
                 describe_bad_window(address));
}

/// The handlers of one width for each window.
template <bool store, u32 bytes, u32 parts>
struct Windows {
    Handler global = memory_handler(MemorySpace::global, store, bytes, parts, false);
    Handler shared = memory_handler(MemorySpace::shared, store, bytes, parts, false);
    Handler local = memory_handler(MemorySpace::local, store, bytes, parts, false);
    Handler parameter = memory_handler(MemorySpace::parameter, store, bytes, parts, false);

    [[nodiscard]] Handler of(u64 window) const noexcept {
        switch (static_cast<Window>(window)) {
            case Window::global:
                return global;
            case Window::shared:
                return shared;
            case Window::local:
                return local;
            case Window::param:
                return parameter;
            default:
                return nullptr;
        }
    }
};

/// A local address of another thread means something else here.
[[gnu::noinline]] const Op* foreign_local(WarpContext& c, const Op* op, u32 lane, u32 owner,
                                          bool store, u32 bytes) {
    const Dim3 shape = c.launch->shape.block;
    const u32 thread = owner - 1;
    return raise(c, op, lane, Fault::illegal_address,
                 fmt::format("{} {} of local memory at the address of a variable of thread "
                             "({},{},{}); each thread has its own local memory",
                             store ? "writes" : "reads", bytes_text(bytes), thread % shape.x,
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

/// Runs the op once for each window among the lanes' addresses.
template <bool store, u32 bytes, u32 parts>
[[gnu::noinline]] const Op* by_window(WarpContext& c, const Op* op,
                                      const Windows<store, bytes, parts>& windows) {
    alignas(32) u64 a[lanes];
    std::memcpy(a, source<u64>(c, op->r[parts]), sizeof a);
    const u32 whole = c.mask;
    const Op* next = op + 1;
    for (u32 left = whole; left != 0 && next == op + 1;) {
        const u64 first = a[std::countr_zero(left)] + op->imm;
        u32 same = 0;
        each_lane(left, [&](u32 i) {
            same |= u32{(a[i] + op->imm) >> window_shift == first >> window_shift} << i;
        });
        c.mask = same;
        left &= ~same;
        if (first >> window_shift == static_cast<u64>(Window::local) && c.check_memory) {
            if (const u32 i = first_foreign(c, a, op->imm); i < lanes)
                return foreign_local(c, op, i, owner_of(a[i] + op->imm), store, bytes * parts);
        }
        const Handler run = windows.of(first >> window_shift);
        next = run != nullptr ? run(c, op) : wrong_window(c, op, first);
    }
    c.mask = whole;
    return next;
}

template <bool store, u32 bytes, u32 parts>
const Op* generic(WarpContext& c, const Op* op) {
    static const Windows<store, bytes, parts> windows;
    const u64* a = source<u64>(c, op->r[parts]);
    u64 seen = 0;
    for (u32 i = 0; i < lanes; ++i) {
        seen |= (a[i] + op->imm) & (0 - static_cast<u64>((c.mask >> i) & 1));
    }
    if (seen >> window_shift == 0) return windows.global(c, op);
    return by_window(c, op, windows);
}

template <bool store, u32 bytes>
Handler choose(u32 parts) {
    switch (parts) {
        case 1:
            return &generic<store, bytes, 1>;
        case 2:
            return &generic<store, bytes, 2>;
        case 4:
            return &generic<store, bytes, 4>;
        default:
            return nullptr;
    }
}

template <bool store>
Handler choose(u32 bytes, u32 parts) {
    switch (bytes) {
        case 1:
            return choose<store, 1>(parts);
        case 2:
            return choose<store, 2>(parts);
        case 4:
            return choose<store, 4>(parts);
        case 8:
            return choose<store, 8>(parts);
        case 16:
            return parts == 1 ? &generic<store, 16, 1> : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace

const Op* generic_local_address(WarpContext& c, const Op* op) {
    u64* const to = destination<u64>(c, op->r[0]);
    const u64* const from = source<u64>(c, op->r[1]);
    const u64 tag = window_tag(Window::local);
    const u32 first = c.warp->index * lanes;
    each_lane(c.mask,
              [&](u32 i) { to[i] = static_cast<u32>(from[i]) | tag | owner_tag(first + i); });
    return op + 1;
}

Handler generic_handler(bool store, u32 bytes, u32 parts) {
    return store ? choose<true>(bytes, parts) : choose<false>(bytes, parts);
}

}  // namespace lode::emulator::exec
