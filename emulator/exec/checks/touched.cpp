// What a launch touches in global memory, for the check of order between operations.
#include "emulator/exec/checks/race/access.hpp"
#include "emulator/memory/shared_bytes.hpp"
#include "emulator/memory/touched_bytes.hpp"

#include <bit>
#include <cstring>

namespace lode::emulator::exec {
namespace {

/// Whether a lane's store leaves the bytes at an address as they are.
bool stores_the_same(WarpContext& c, const Op* op, u32 lane, u64 address, const Noted& noted) {
    if (noted.fetch == nullptr) return false;
    u8 stored[64];
    u8 now[64];
    noted.fetch(c, op, lane, stored);
    copy_shared_bytes(now, reinterpret_cast<const u8*>(address), noted.bytes);
    return std::memcmp(stored, now, noted.bytes) == 0;
}

Touch touch_of(WarpContext& c, const Op* op, u32 lane, u64 address, const Noted& noted) {
    const bool is_strong = (strength_of(op, noted.access) & stamp_gpu) != 0;
    if (noted.access == Access::read) return is_strong ? Touch::strong_read : Touch::read;
    if (is_strong) return Touch::strong_write;
    return stores_the_same(c, op, lane, address, noted) ? Touch::same_write : Touch::write;
}

/// Whether an address is in the barrier of a cooperative grid, which is the launch's own.
bool is_in_workspace(const WarpContext& c, u64 address) {
    constexpr u64 workspace_bytes = 256;
    return c.launch->workspace != 0 && address - c.launch->workspace < workspace_bytes;
}

}  // namespace

void touch_lanes(WarpContext& c, const Op* op, const u64* addresses, const Noted& noted) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        if (is_in_workspace(c, addresses[i])) continue;
        c.touched->add(touch_of(c, op, i, addresses[i], noted), addresses[i], noted.bytes);
    }
}

void touch_pattern(WarpContext& c, const Op* op, Pattern pattern, u64 first, u64 second,
                   const Noted& noted) {
    const bool is_run = pattern == Pattern::run || pattern == Pattern::half_runs;
    const u64 step = is_run ? noted.bytes : 0;
    const Touch touch = touch_of(c, op, 0, first, noted);
    const bool depends_on_value = touch == Touch::write || touch == Touch::same_write;
    alignas(32) u64 addresses[lanes];
    bool is_alike = true;
    for (u32 i = 0; depends_on_value && i < lanes; ++i) {
        addresses[i] = (i < lanes / 2 ? first : second) + i % (lanes / 2) * step;
        const bool is_same = stores_the_same(c, op, i, addresses[i], noted);
        is_alike = is_alike && is_same == (touch == Touch::same_write);
    }
    if (!is_alike) return touch_lanes(c, op, addresses, noted);
    const u64 bytes = is_run ? u64{noted.bytes} * lanes / 2 : noted.bytes;
    c.touched->add(touch, first, bytes);
    c.touched->add(touch, second, bytes);
}

}  // namespace lode::emulator::exec
