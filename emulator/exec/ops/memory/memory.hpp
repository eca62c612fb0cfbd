// Memory access by handlers: checks, fast access patterns, and access by single lanes.
#pragma once

#include "emulator/decode/code.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/isa/load_store.hpp"

namespace lode::emulator::exec {

/// `exchange`: an atomic that writes without using what it reads.
enum class Access : u8 { read, write, atomic, exchange, prefetch };

/// The slow path of a check: looks up each active lane's bytes, caches the last allocation's bounds
/// for the op, and raises a fault for the first bad lane. If false, the handler must leave.
bool check_global(WarpContext& c, const Op* op, const u64* addresses, u32 bytes, Access access);
/// Like check_global() for the shared window: 32-bit addresses.
bool check_shared(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access);
bool check_local(WarpContext& c, const Op* op, const u32* addresses, u32 bytes, Access access);
bool check_parameters(WarpContext& c, const Op* op, const u32* addresses, u32 bytes);

/// What the optional checks are told of an op's accesses.
struct Noted {
    Access access = Access::read;
    u32 bytes = 0;  ///< By each lane.
    /// Gives the bytes that a lane stores; nullptr if they aren't known.
    void (*fetch)(WarpContext& c, const Op* op, u32 lane, u8* to) = nullptr;
    u32 parts = 1;   ///< Registers of each lane.
    u32 copied = 0;  ///< A bit for each of them that memory is copied through.
    bool may_be_padding = false;
};

// Hooks for the optional checks; only called if WarpContext::watch is set, with addresses that are
// fine. Addresses in shared memory are offsets.
void note_lanes(WarpContext& c, const Op* op, const u32* addresses, const Noted& noted);
void note_lanes(WarpContext& c, const Op* op, const u64* addresses, const Noted& noted);

/// Whether an offset in a block's shared memory is inside and aligned; otherwise raises a fault.
bool shared_fits(WarpContext& c, const Op* op, u32 lane, u32 offset, u32 bytes, Access access);
/// The host address of an address in shared memory, of the block itself or of any block of the
/// cluster; nullptr after a fault.
u8* shared_pointer(WarpContext& c, const Op* op, u32 lane, u32 address, const Noted& noted);
/// The same for an address with a block's rank.
u8* cluster_pointer(WarpContext& c, const Op* op, u32 lane, u32 address, const Noted& noted);
/// Whether a host address is in the block's own shared memory.
inline bool is_own_shared(const WarpContext& c, const u8* at) noexcept {
    return at >= c.shared && at < c.shared + c.shared_bytes;
}
/// The block of the cluster whose shared memory contains a host address.
Block& owner_of_shared(const WarpContext& c, const u8* at) noexcept;
/// For reports: "reads".
std::string_view verb(Access access) noexcept;

/// Checks one lane's address in global, shared or generic space (shared and global windows) and
/// returns its host address; nullptr after a fault. `window` is the op's own space.
u8* lane_pointer(WarpContext& c, const Op* op, u32 lane, u64 address, u32 bytes, Window window,
                 Access access);

/// The address of `lane`, from a 32-bit or 64-bit register.
inline u64 lane_address(const u8* addresses, bool narrow, u32 lane) noexcept {
    return narrow ? reinterpret_cast<const u32*>(addresses)[lane]
                  : reinterpret_cast<const u64*>(addresses)[lane];
}

[[gnu::always_inline]] inline bool inside(const Bounds& bounds, u64 lo, u64 bytes) noexcept {
    // Avoids lo + bytes, which could overflow.
    return lo >= bounds.lo && bytes <= bounds.hi && lo <= bounds.hi - bytes;
}

/// The pattern of a full warp's addresses: one run, one address, or either of these for each half
/// of 16 lanes, as in blocks with 16 columns.
enum class Pattern : u8 { run, uniform, half_runs, half_uniform, any };

/// Hooks for all lanes of a warp; `first` and `second` are the addresses of lanes 0 and 16.
void note_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted);
void race_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted);
void race_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted);
/// For the check of order between operations, global memory alone.
void touch_lanes(WarpContext& c, const Op* op, const u64* addresses, const Noted& noted);
void touch_pattern(WarpContext& c, const Op* op, Pattern pattern, u64 first, u64 second,
                   const Noted& noted);
/// An access to the shared memory of another block of the cluster.
void race_remote(WarpContext& c, const Op* op, u32 lane, Block& owner, u32 offset,
                 const Noted& noted);
/// A load of memory that counts as written: the registers that it copies hold nothing unwritten.
void init_written(WarpContext& c, const Op* op, u32 parts);
void init_remote(WarpContext& c, const Op* op, u32 lane, Block& owner, u32 offset,
                 const Noted& noted);
void init_local(WarpContext& c, const Op* op, const u32* addresses, const Noted& noted);
void init_pattern(WarpContext& c, const Op* op, bool shared, Pattern pattern, u64 first, u64 second,
                  const Noted& noted);
void init_lanes(WarpContext& c, const Op* op, bool shared, const u64* addresses,
                const Noted& noted);

/// Nonzero bits show where addresses in a half warp differ from its first plus 0, stride, 2 *
/// stride, …
template <u32 stride, class A>
[[gnu::always_inline]] inline A off_stride(const A* a) noexcept {
    A low = a[0];
    A high = a[16];
    // Hides the values from the compiler: knowing that a[0] - low is 0, it would peel that lane off
    // and read vectors that straddle those just written by the previous op, which stalls.
    __asm__("" : "+r"(low), "+r"(high));
    A off = 0;
    for (u32 i = 0; i < 16; ++i) {
        const auto want = static_cast<A>(i) * stride;
        off |= ((a[i] - low) ^ want) | ((a[i + 16] - high) ^ want);
    }
    return off;
}

template <u32 stride, class A>
[[gnu::always_inline]] inline Pattern pattern_of(const A* a) noexcept {
    // The first two lanes determine the possible pattern; one pass over all lanes verifies it.
    const A step = a[1] - a[0];
    const A apart = a[16] - a[0];
    if (step == stride && off_stride<stride>(a) == 0) {
        return apart == 16 * stride ? Pattern::run : Pattern::half_runs;
    }
    if (step == 0 && off_stride<0>(a) == 0) {
        return apart == 0 ? Pattern::uniform : Pattern::half_uniform;
    }
    return Pattern::any;
}

/// Whether every active address is aligned and its bytes are inside the bounds.
[[gnu::always_inline]] inline bool all_inside(const Bounds& bounds, const u64* a, u64 offset,
                                              u32 bytes, u32 mask) noexcept {
    const u64 lo = bounds.lo - offset;
    const u64 span = bounds.hi - bytes - bounds.lo;
    u64 bad = span;  // Negative if the bounds are smaller than an access: nothing is inside.
    u64 low = 0;
    for (u32 i = 0; i < lanes; ++i) {
        const u64 active = 0 - static_cast<u64>((mask >> i) & 1);
        const u64 distance = a[i] - lo;
        bad |= (distance | (span - distance)) & active;
        low |= (a[i] + offset) & active;
    }
    return (bad >> 63) == 0 && (low & (bytes - 1)) == 0;
}

/// The low halves of the addresses plus the offset, for the shared window.
template <class A>
[[gnu::always_inline]] inline void narrow_addresses(u32* to, const A* from, u64 offset) {
    for (u32 i = 0; i < lanes; ++i)
        to[i] = static_cast<u32>(from[i]) + static_cast<u32>(offset);
}

/// The bounds of an access to shared memory: its variable, if that is known, or all.
[[gnu::always_inline]] inline Bounds shared_bounds(const WarpContext& c, const Op* op) noexcept {
    const u32 variable = op->r[variable_operand];
    if (variable == no_slot) return {0, c.shared_bytes};
    const SharedVariable& in = c.variables[variable];
    return {in.offset, u64{in.offset} + in.bytes};
}

/// Whether every active address in the shared window is aligned and its bytes are inside.
[[gnu::always_inline]] inline bool shared_inside(const WarpContext& c, const Op* op, const u32* a,
                                                 u32 bytes) {
    const Bounds bounds = shared_bounds(c, op);
    const auto lo = static_cast<u32>(bounds.lo);
    const u32 limit = static_cast<u32>(bounds.hi) - lo - bytes;
    u32 bad = limit;
    u32 low = 0;
    const u32 mask = c.mask;
    for (u32 i = 0; i < lanes; ++i) {
        const u32 active = 0 - ((mask >> i) & 1);
        const u32 distance = a[i] - lo;
        bad |= (distance | (limit - distance)) & active;
        low |= a[i] & active;
    }
    return (bad >> 31) == 0 && (low & (bytes - 1)) == 0;
}

}  // namespace lode::emulator::exec
