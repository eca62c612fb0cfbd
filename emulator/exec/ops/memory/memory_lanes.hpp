// Loads and stores of global and shared memory by handlers: the lanes' addresses as one pattern or
// one by one. A Space says where the addresses come from.
#pragma once

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/bytes.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/cluster.hpp"
#include "emulator/isa/load_store.hpp"

namespace lode::emulator::exec {

template <class T, u32 n>
struct Parts {
    Parts(WarpContext& c, const Op* op) {
        for (u32 k = 0; k < n; ++k)
            data[k] = destination<T>(c, op->r[k]);
    }
    T* data[n];
};
template <class T, u32 n>
struct Values {
    Values(WarpContext& c, const Op* op) {
        for (u32 k = 0; k < n; ++k)
            data[k] = source<T>(c, op->r[k]);
    }
    const T* data[n];
};

template <class B, class T, u32 n>
[[gnu::always_inline]] inline void load_lane(T* const (&to)[n], u32 lane, const u8* from) {
    T element[n];
    for (u32 k = 0; k < n; ++k)
        element[k] = B::template read<T>(from + k * sizeof(T));
    for (u32 k = 0; k < n; ++k)
        to[k][lane] = element[k];
}
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void store_lane(const T* const (&from)[n], u32 lane, u8* to) {
    for (u32 k = 0; k < n; ++k)
        B::write(to + k * sizeof(T), from[k][lane]);
}

/// Copies `count` consecutive elements of n parts each into n lane vectors, starting at lane `at`.
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void spread_run(T* const (&to)[n], const u8* from, u32 at,
                                              u32 count) {
    if constexpr (n == 1) {
        B::read_run(to[0] + at, from, count);
    } else {
        T elements[lanes * n];
        B::read_run(elements, from, count * n);
        for (u32 k = 0; k < n; ++k) {
            for (u32 i = 0; i < count; ++i)
                to[k][at + i] = elements[i * n + k];
        }
    }
}
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void gather_run(u8* to, const T* const (&from)[n], u32 at,
                                              u32 count) {
    if constexpr (n == 1) {
        B::write_run(to, from[0] + at, count);
    } else {
        T elements[lanes * n];
        for (u32 k = 0; k < n; ++k) {
            for (u32 i = 0; i < count; ++i)
                elements[i * n + k] = from[k][at + i];
        }
        B::write_run(to, elements, count * n);
    }
}

/// Sets `count` lanes, starting at `first`, to the element at one address.
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void broadcast(T* const (&to)[n], const u8* from, u32 first = 0,
                                             u32 count = lanes) {
    T element[n];
    for (u32 k = 0; k < n; ++k)
        element[k] = B::template read<T>(from + k * sizeof(T));
    for (u32 k = 0; k < n; ++k) {
        for (u32 i = 0; i < count; ++i) {
            to[k][first + i] = element[k];
        }
    }
}

/// Loads with a simple pattern; `first` and `second` are the addresses of lanes 0 and 16.
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void load_pattern(T* const (&to)[n], Pattern pattern, const u8* first,
                                                const u8* second) {
    switch (pattern) {
        case Pattern::run:
            spread_run<B>(to, first, 0, lanes);
            break;
        case Pattern::uniform:
            broadcast<B>(to, first);
            break;
        case Pattern::half_runs:
            spread_run<B>(to, first, 0, 16);
            spread_run<B>(to, second, 16, 16);
            break;
        default:
            broadcast<B>(to, first, 0, 16);
            broadcast<B>(to, second, 16, 16);
            break;
    }
}

/// Stores 32 elements as one run, or as one run for each half.
template <class B, class T, u32 n>
[[gnu::always_inline]] inline void store_runs(const T* const (&from)[n], Pattern pattern, u8* first,
                                              u8* second) {
    if (pattern == Pattern::run) return gather_run<B>(first, from, 0, lanes);
    gather_run<B>(first, from, 0, 16);
    gather_run<B>(second, from, 16, 16);
}

/// The number of bytes that lanes 0 to 15, and lanes 16 to 31, access in a simple pattern.
template <u32 bytes>
constexpr u32 half_bytes(Pattern pattern) {
    return pattern == Pattern::run || pattern == Pattern::half_runs ? 16 * bytes : bytes;
}

/// Whether a simple pattern is aligned and inside the bounds.
template <u32 bytes>
[[gnu::always_inline]] inline bool pattern_inside(const Bounds& bounds, Pattern pattern, u64 first,
                                                  u64 second) {
    const u64 run = half_bytes<bytes>(pattern);
    return ((first | second) & (bytes - 1)) == 0 && inside(bounds, first, run) &&
           inside(bounds, second, run);
}

/// Calls f for each active lane, with a plain loop if all are active.
template <class F>
[[gnu::always_inline]] inline void active_lanes(const WarpContext& c, F&& f) {
    if (c.mask != all_lanes) return each_lane(c.mask, f);
    for (u32 i = 0; i < lanes; ++i) {
        f(i);
    }
}

// Global and shared ------------------------------------------------------------------------------

/// Global memory: 64-bit host addresses, which other blocks access too.
struct GlobalSpace {
    using Bytes = SharedBytes;
    using Register = u64;
    using Address = u64;

    static constexpr bool has_clusters = false;
    static constexpr bool shared = false;
    [[gnu::always_inline]] static Bounds bounds(const WarpContext& c, const Op* op) noexcept {
        return c.bounds[op->cache];
    }
    [[gnu::always_inline]] static u8* host(const WarpContext&, Address address) noexcept {
        return reinterpret_cast<u8*>(address);
    }
    template <u32 bytes>
    [[gnu::always_inline]] static Pattern pattern(const Op*, const Register* a) noexcept {
        return pattern_of<bytes>(a);
    }
    [[gnu::always_inline]] static Address address(const WarpContext&, const Op* op,
                                                  Register a) noexcept {
        return a + op->imm;
    }
    [[gnu::always_inline]] static void addresses(const WarpContext&, const Op* op, Address* to,
                                                 const Register* from) noexcept {
        for (u32 i = 0; i < lanes; ++i)
            to[i] = from[i] + op->imm;
    }
    [[gnu::always_inline]] static bool check(WarpContext& c, const Op* op, const Address* a,
                                             u32 bytes, Access access) {
        return !c.check_memory || all_inside(c.bounds[op->cache], a, 0, bytes, c.mask) ||
               check_global(c, op, a, bytes, access);
    }
};

/// A block's shared memory: 32-bit offsets, from registers of type R.
template <class R>
struct SharedSpace {
    using Bytes = OwnBytes;
    using Register = R;
    using Address = u32;

    static constexpr bool has_clusters = true;
    static constexpr bool shared = true;
    [[gnu::always_inline]] static Bounds bounds(const WarpContext& c, const Op* op) noexcept {
        return shared_bounds(c, op);
    }
    [[gnu::always_inline]] static u8* host(const WarpContext& c, Address address) noexcept {
        return c.shared + address;
    }
    template <u32 bytes>
    [[gnu::always_inline]] static Pattern pattern(const Op*, const Register* a) noexcept {
        return pattern_of<bytes>(a);
    }
    [[gnu::always_inline]] static Address address(const WarpContext&, const Op* op,
                                                  Register a) noexcept {
        return static_cast<Address>(a) + static_cast<Address>(op->imm);
    }
    [[gnu::always_inline]] static void addresses(const WarpContext&, const Op* op, Address* to,
                                                 const Register* from) noexcept {
        narrow_addresses(to, from, op->imm);
    }
    [[gnu::always_inline]] static bool check(WarpContext& c, const Op* op, const Address* a,
                                             u32 bytes, Access access) {
        return !c.check_memory || shared_inside(c, op, a, bytes) ||
               check_shared(c, op, a, bytes, access);
    }
};

/// The pattern of a full warp's addresses, with those of lanes 0 and 16; `any` if it isn't simple,
/// aligned and inside the bounds.
template <class Space>
struct Simple {
    Pattern pattern = Pattern::any;
    typename Space::Address first = 0;
    typename Space::Address second = 0;
};

template <class Space, u32 bytes>
[[gnu::always_inline]] inline Simple<Space> simple_pattern(const WarpContext& c, const Op* op,
                                                           const typename Space::Register* a) {
    if (c.mask != all_lanes) return {};
    const Pattern pattern = Space::template pattern<bytes>(op, a);
    if (pattern == Pattern::any) return {};
    const auto first = Space::address(c, op, a[0]);
    const auto second = Space::address(c, op, a[16]);
    if (c.check_memory) {
        if (!pattern_inside<bytes>(Space::bounds(c, op), pattern, first, second)) return {};
    } else if (Space::has_clusters && c.clustered) {
        return {};  // Only the slow path tells other blocks' addresses apart.
    }
    return {pattern, first, second};
}

template <class T, u32 n>
void fetch_stored(WarpContext& c, const Op* op, u32 lane, u8* to) {
    store_lane<OwnBytes>(Values<T, n>(c, op).data, lane, to);
}

template <class T, u32 n>
Noted noted_access(const Op* op, Access access) {
    return {access,
            sizeof(T) * n,
            access == Access::write ? &fetch_stored<T, n> : nullptr,
            n,
            op->flags.as<AccessFlags>().copies,
            op->flags.as<AccessFlags>().padding};
}

/// The host addresses of the lanes in the shared memory of the cluster; false after a fault.
inline bool cluster_pointers(WarpContext& c, const Op* op, const u32* addresses, const Noted& noted,
                             u8** to) {
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        to[i] = shared_pointer(c, op, i, addresses[i], noted);
        if (to[i] == nullptr) return false;
    }
    return true;
}

template <class T, u32 n>
[[gnu::noinline]] const Op* load_cluster(WarpContext& c, const Op* op, const u32* a) {
    u8* from[lanes];
    if (!cluster_pointers(c, op, a, noted_access<T, n>(op, Access::read), from)) return leave();
    const Parts<T, n> to(c, op);
    each_lane(c.mask, [&](u32 i) { load_lane<OwnBytes>(to.data, i, from[i]); });
    if (!c.race || !op->order.is_strong()) return op + 1;
    each_lane(c.mask,
              [&](u32 i) { order_after(c, op, i, reinterpret_cast<u64>(from[i]), false, true); });
    return op + 1;
}

template <class T, u32 n>
[[gnu::noinline]] const Op* store_cluster(WarpContext& c, const Op* op, const u32* a) {
    u8* to[lanes];
    if (!cluster_pointers(c, op, a, noted_access<T, n>(op, Access::write), to)) return leave();
    const Values<T, n> from(c, op);
    if (c.race && op->order.is_strong()) {
        each_lane(c.mask, [&](u32 i) {
            order_before(c, op, i, reinterpret_cast<u64>(to[i]), false, true);
        });
    }
    each_lane(c.mask, [&](u32 i) { store_lane<OwnBytes>(from.data, i, to[i]); });
    return op + 1;
}

/// Whether an active lane's address is that of another block.
inline bool leaves_block(const WarpContext& c, const u32* a) {
    u32 seen = 0;
    for (u32 i = 0; i < lanes; ++i)
        seen |= a[i] & (0 - ((c.mask >> i) & 1));
    return seen >> rank_shift != 0;
}

/// What a strong access orders, before and after it takes effect.
template <class Space>
void order_lanes(WarpContext& c, const Op* op, const typename Space::Address* a, bool before,
                 bool writes) {
    if (!c.race || !op->order.is_strong()) return;
    // In a cluster, other blocks know shared memory by its host address, too.
    const bool by_offset = Space::shared && !c.clustered;
    each_lane(c.mask, [&](u32 i) {
        const u64 place = by_offset ? a[i] : reinterpret_cast<u64>(Space::host(c, a[i]));
        if (before) {
            order_before(c, op, i, place, by_offset, writes);
        } else {
            order_after(c, op, i, place, by_offset, !writes);
        }
    });
}

template <class Space, class T, u32 n>
[[gnu::noinline]] const Op* load_any(WarpContext& c, const Op* op) {
    // A copy, because the destination may be the address register.
    alignas(32) typename Space::Address a[lanes];
    Space::addresses(c, op, a, source<typename Space::Register>(c, op->r[n]));
    if constexpr (Space::has_clusters) {
        if (c.clustered && leaves_block(c, a)) return load_cluster<T, n>(c, op, a);
    }
    if (!Space::check(c, op, a, sizeof(T) * n, Access::read)) return leave();
    // Some lanes may wait for a word that others of the warp set.
    constexpr i64 turns_of_load = 64;  // In backward branches.
    if (op->order.is_strong()) c.budget -= turns_of_load;
    if (c.watch && !op->order.is_strong())
        note_lanes(c, op, a, noted_access<T, n>(op, Access::read));
    const Parts<T, n> to(c, op);
    active_lanes(
        c, [&](u32 i) { load_lane<typename Space::Bytes>(to.data, i, Space::host(c, a[i])); });
    if (c.watch) {
        // A writer on another worker is noted before it stores: a reader of its value is noted
        // later.
        if (op->order.is_strong()) note_lanes(c, op, a, noted_access<T, n>(op, Access::read));
        order_lanes<Space>(c, op, a, false, false);
    }
    return op + 1;
}

template <class Space, class T, u32 n>
const Op* load(WarpContext& c, const Op* op) {
    const auto simple =
        simple_pattern<Space, sizeof(T) * n>(c, op, source<typename Space::Register>(c, op->r[n]));
    if (simple.pattern == Pattern::any) return load_any<Space, T, n>(c, op);
    if (c.watch) [[unlikely]] {
        if (op->order.is_strong()) return load_any<Space, T, n>(c, op);
        note_pattern(c, op, Space::shared, simple.pattern, simple.first, simple.second,
                     noted_access<T, n>(op, Access::read));
    }
    load_pattern<typename Space::Bytes>(Parts<T, n>(c, op).data, simple.pattern,
                                        Space::host(c, simple.first),
                                        Space::host(c, simple.second));
    return op + 1;
}

template <class Space, class T, u32 n>
[[gnu::noinline]] const Op* store_any(WarpContext& c, const Op* op) {
    alignas(32) typename Space::Address a[lanes];
    Space::addresses(c, op, a, source<typename Space::Register>(c, op->r[n]));
    if constexpr (Space::has_clusters) {
        if (c.clustered && leaves_block(c, a)) return store_cluster<T, n>(c, op, a);
    }
    if (!Space::check(c, op, a, sizeof(T) * n, Access::write)) return leave();
    if (c.watch) {
        note_lanes(c, op, a, noted_access<T, n>(op, Access::write));
        order_lanes<Space>(c, op, a, true, true);
    }
    const Values<T, n> from(c, op);
    active_lanes(
        c, [&](u32 i) { store_lane<typename Space::Bytes>(from.data, i, Space::host(c, a[i])); });
    return op + 1;
}

template <class Space, class T, u32 n>
const Op* store(WarpContext& c, const Op* op) {
    const auto simple =
        simple_pattern<Space, sizeof(T) * n>(c, op, source<typename Space::Register>(c, op->r[n]));
    if (simple.pattern != Pattern::run && simple.pattern != Pattern::half_runs)
        return store_any<Space, T, n>(c, op);
    if (c.watch) [[unlikely]] {
        if (op->order.is_strong()) return store_any<Space, T, n>(c, op);
        note_pattern(c, op, Space::shared, simple.pattern, simple.first, simple.second,
                     noted_access<T, n>(op, Access::write));
    }
    const Values<T, n> from(c, op);
    store_runs<typename Space::Bytes>(from.data, simple.pattern, Space::host(c, simple.first),
                                      Space::host(c, simple.second));
    return op + 1;
}

template <class Space, class T, u32 n>
Handler global_or_shared(bool stores) {
    return stores ? &store<Space, T, n> : &load<Space, T, n>;
}

}  // namespace lode::emulator::exec
