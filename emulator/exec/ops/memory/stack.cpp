#include "emulator/exec/ops/memory/stack.hpp"

#include "base/align_up.hpp"
#include "emulator/decode/code.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"

#include <algorithm>
#include <new>

#include <fmt/format.h>

namespace lode::emulator::exec {

u32 end_of_variables(const Frame& frame) noexcept {
    return frame.local_base + align_up(frame.code->local_bytes, 16);
}

void grow_local(WarpContext& c, u32 top) {
    Warp& warp = *c.warp;
    if (top <= warp.local_bytes) return;
    warp.local_bytes = top;
    const std::size_t bytes = (std::size_t{top} + 15) / 16 * 16 * lanes;
    if (bytes > FramePool::most) throw std::bad_alloc();
    if (warp.local.size() < bytes) warp.local.grow(std::max(bytes, warp.local.size() * 2));
    c.local = warp.local.data();
    c.local_bytes = top;
}

void forget_local(WarpContext& c, u32 lane, u32 base, u32 top) {
    Warp& warp = *c.warp;
    if (warp.local_written.size() < warp.local.size()) warp.local_written.grow(warp.local.size());
    c.local_written = warp.local_written.data();
    for (u32 word = base / 4; word < (top + 3) / 4; ++word)
        std::fill_n(c.local_written + (std::size_t{word} * lanes + lane) * 4, 4, u8{0});
}

const Op* stack_reset(WarpContext& c, const Op* op) {
    assign(c, destination<u32>(c, op->r[0]), [](u32) { return 0u; });
    return op + 1;
}

const Op* stack_allocate(WarpContext& c, const Op* op) {
    u32* const used = destination<u32>(c, op->r[0]);
    u64* const to = destination<u64>(c, op->r[1]);
    const u64* const sizes = source<u64>(c, op->r[2]);
    Frame& frame = *c.frame;
    const u32 base = end_of_variables(frame);
    const u32 limit = c.launch->options->stack_limit;
    // An address is a multiple of the alignment, and not only its offset in the frame.
    const u64 alignment = op->imm;
    // No bytes have a place of their own, too.
    const auto size = [&](u32 i) { return std::max(sizes[i], u64{1}); };
    u64 most = 0;
    for (u32 rest = c.mask; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<u32>(std::countr_zero(rest));
        const u64 at = align_up(u64{base} + used[i], alignment);
        if (sizes[i] > limit || at + size(i) > limit) {
            return raise(c, op, i, Fault::hardware_stack,
                         fmt::format("allocates {} bytes of stack beyond the limit of "
                                     "{}\nstack: {} bytes are in use",
                                     sizes[i], limit, u64{base} + used[i]));
        }
        most = std::max(most, at + size(i));
    }
    grow_local(c, static_cast<u32>(most));
    frame.allocated = std::max(frame.allocated, static_cast<u32>(most) - base);
    each_lane(c.mask, [&](u32 i) {
        const auto at = static_cast<u32>(align_up(u64{base} + used[i], alignment));
        const u32 top = at + static_cast<u32>(size(i));
        if (c.init) forget_local(c, i, at, top);
        used[i] = top - base;
        to[i] = at;
    });
    return op + 1;
}

const Op* stack_save(WarpContext& c, const Op* op) {
    const u32* used = source<u32>(c, op->r[0]);
    const u64 base = end_of_variables(*c.frame);
    assign(c, destination<u64>(c, op->r[1]), [=](u32 i) { return base + used[i]; });
    return op + 1;
}

const Op* stack_restore(WarpContext& c, const Op* op) {
    u32* const used = destination<u32>(c, op->r[0]);
    const u64* const saved = source<u64>(c, op->r[1]);
    const u64 base = end_of_variables(*c.frame);
    for (u32 rest = c.mask; rest != 0; rest &= rest - 1) {
        const auto i = static_cast<u32>(std::countr_zero(rest));
        if (saved[i] >= base && saved[i] <= base + used[i]) continue;
        return raise(c, op, i, Fault::hardware_stack,
                     fmt::format("restores the stack to an address that its function can't "
                                 "have saved\naddress: 0x{:x}; the function's part ends at 0x{:x}",
                                 saved[i], base + used[i]));
    }
    each_lane(c.mask, [&](u32 i) { used[i] = static_cast<u32>(saved[i] - base); });
    return op + 1;
}

}  // namespace lode::emulator::exec
