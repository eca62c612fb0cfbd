#include "emulator/isa/atomic.hpp"

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/ops/memory/bulk.hpp"
#include "emulator/exec/ops/memory/memory.hpp"
#include "emulator/isa/half.hpp"

#include <array>
#include <utility>

namespace lode::emulator::exec {

namespace {

// The new value from the old value and the operand. T is the type of the computation.
template <class T>
T combined(AtomicOp what, T old, T b) {
    switch (what) {
        case AtomicOp::add:
            if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
                using U = std::make_unsigned_t<T>;  // Wraps on overflow.
                return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
            } else {
                return static_cast<T>(old + b);
            }
        case AtomicOp::min:
            return old < b ? old : b;
        case AtomicOp::max:
            return old > b ? old : b;
        case AtomicOp::exch:
            return b;
        default:
            break;
    }
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, u128>) {
        switch (what) {
            case AtomicOp::bit_and:
                return old & b;
            case AtomicOp::bit_or:
                return old | b;
            case AtomicOp::bit_xor:
                return old ^ b;
            case AtomicOp::inc:
                return old >= b ? T{0} : static_cast<T>(old + 1);
            case AtomicOp::dec:
                return old == 0 || old > b ? b : static_cast<T>(old - 1);
            default:
                break;
        }
    }
    return b;
}

u16 half_combined(AtomicOp what, u16 old, u16 b, bool bfloat) {
    const f32 x = bfloat ? bfloat_to_real(old) : half_to_real(old);
    const f32 y = bfloat ? bfloat_to_real(b) : half_to_real(b);
    const f32 value = what == AtomicOp::add   ? x + y
                      : what == AtomicOp::min ? least(x, y)
                      : what == AtomicOp::max ? greatest(x, y)
                                              : y;
    return bfloat ? real_to_bfloat(value) : real_to_half(value);
}

/// The representation in memory, and its conversion.
template <AtomicType type>
struct Kind;
#define LODE_KIND(name, storage, compute)                                                     \
    template <>                                                                               \
    struct Kind<AtomicType::name> {                                                           \
        using Storage = storage;                                                              \
        using Compute = compute;                                                              \
        static Storage next(AtomicOp what, Storage old, Storage b, bool) {                    \
            return static_cast<Storage>(                                                      \
                combined<compute>(what, static_cast<compute>(old), static_cast<compute>(b))); \
        }                                                                                     \
    };
LODE_KIND(u16, u16, u16)
LODE_KIND(u32, u32, u32)
LODE_KIND(s32, u32, i32)
LODE_KIND(u64, u64, u64)
LODE_KIND(s64, u64, i64)
LODE_KIND(b128, u128, u128)
#undef LODE_KIND

template <>
struct Kind<AtomicType::f32> {
    using Storage = u32;
    using Compute = f32;
    static u32 next(AtomicOp what, u32 old, u32 b, bool flush) {
        const f32 x = flush ? flushed(real32(old)) : real32(old);
        const f32 y = flush ? flushed(real32(b)) : real32(b);
        if (what != AtomicOp::add) return what == AtomicOp::exch ? b : combined_ends(what, x, y);
        const f32 sum = canonical(x + y);
        return bits_of(flush ? flushed(sum) : sum);
    }
    static u32 combined_ends(AtomicOp what, f32 x, f32 y) {
        return bits_of(what == AtomicOp::min ? least(x, y) : greatest(x, y));
    }
};
template <>
struct Kind<AtomicType::f64> {
    using Storage = u64;
    using Compute = f64;
    static u64 next(AtomicOp what, u64 old, u64 b, bool) {
        return what == AtomicOp::add ? bits_of(real64(old) + real64(b)) : b;
    }
};
template <bool bfloat, bool two>
struct HalfKind {
    using Storage = std::conditional_t<two, u32, u16>;
    using Compute = f32;
    static Storage next(AtomicOp what, Storage old, Storage b, bool) {
        const u32 low = half_combined(what, static_cast<u16>(old), static_cast<u16>(b), bfloat);
        if constexpr (!two) return static_cast<u16>(low);
        const u32 high = half_combined(what, static_cast<u16>(u32{old} >> 16),
                                       static_cast<u16>(u32{b} >> 16), bfloat);
        return static_cast<Storage>(low | (high << 16));
    }
};
template <>
struct Kind<AtomicType::f16> : HalfKind<false, false> {};
template <>
struct Kind<AtomicType::bf16> : HalfKind<true, false> {};
template <>
struct Kind<AtomicType::f16x2> : HalfKind<false, true> {};
template <>
struct Kind<AtomicType::bf16x2> : HalfKind<true, true> {};

/// Atomically applies next() to *at: other workers may access global memory.
template <class K, class S>
S update_shared_memory_of_host(S* at, AtomicOp what, S b, S c, bool flush) {
    if constexpr (sizeof(S) == 16) {
        for (;;) {
            const S old = __sync_val_compare_and_swap(at, S{0}, S{0});
            const S fresh = what == AtomicOp::cas ? (old == b ? c : old) : b;
            if (__sync_bool_compare_and_swap(at, old, fresh)) return old;
        }
    } else {
        if (what == AtomicOp::cas) {
            S expected = b;
            __atomic_compare_exchange_n(at, &expected, c, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
            return expected;
        }
        if constexpr (std::is_integral_v<typename K::Compute>) {
            if (what == AtomicOp::add) return __atomic_fetch_add(at, b, __ATOMIC_SEQ_CST);
        }
        S old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n(at, &old, K::next(what, old, b, flush), true,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return old;
    }
}

/// Updates shared memory for one lane; no other worker accesses it.
template <class K, class S>
[[gnu::always_inline]] inline S update_own(u8* at, AtomicOp what, S b, S c, bool flush) {
    S old;
    std::memcpy(&old, at, sizeof old);
    const S fresh = what == AtomicOp::cas ? (old == b ? c : old) : K::next(what, old, b, flush);
    std::memcpy(at, &fresh, sizeof fresh);
    return old;
}

/// Notices a warp that spins on a lock: a compare-and-swap or an exchange of which no lane changes
/// memory. It soon gives up its turn, so that the lane with the lock can run.
class SpinWatch {
public:
    explicit SpinWatch(AtomicOp what) noexcept
        : swaps_(what == AtomicOp::cas), changed_(!swaps_ && what != AtomicOp::exch) {}
    template <class S>
    [[gnu::always_inline]] void see(S old, S b) noexcept {
        changed_ |= (old == b) == swaps_;
    }
    void end(WarpContext& c) const noexcept {
        constexpr i64 cost = 512;  // In backward branches.
        if (!changed_) c.budget -= cost;
    }

private:
    bool swaps_;
    bool changed_;
};

Access atomic_access(const Op* op) {
    return op->flags.as<AtomicFlags>().overwrites ? Access::exchange : Access::atomic;
}

/// Updates shared memory for a warp: one check for all lanes, then each lane in order.
template <class K, class S>
const Op* update_block_memory(WarpContext& c, const Op* op, const u8* addresses, const S* b,
                              const S* e, S* d) {
    alignas(32) u32 a[lanes];
    if (op->addressing.narrow) {
        narrow_addresses(a, reinterpret_cast<const u32*>(addresses), op->imm);
    } else {
        narrow_addresses(a, reinterpret_cast<const u64*>(addresses), op->imm);
    }
    if (c.check_memory && !shared_inside(c, op, a, sizeof(S)) &&
        !check_shared(c, op, a, sizeof(S), Access::atomic)) {
        return leave();
    }
    if (c.watch) [[unlikely]] {
        note_lanes(c, op, a, {atomic_access(op), sizeof(S), nullptr});
        if (c.race && !releases_nothing(c, op))
            each_lane(c.mask, [&](u32 i) { order_before(c, op, i, a[i], true, true); });
    }
    const auto what = op->flags.as<AtomicFlags>().operation;
    const bool flush = op->flags.as<AtomicFlags>().flush;
    u8* const shared = c.shared;
    if (what == AtomicOp::add) {
        // The most common case, with the operation as a compile-time constant.
        const auto add = [&](u32 i) {
            const S old = update_own<K, S>(shared + a[i], AtomicOp::add, b[i], b[i], flush);
            if (d != nullptr) d[i] = old;
        };
        if (c.mask == all_lanes) {
            for (u32 i = 0; i < lanes; ++i)
                add(i);
        } else {
            each_lane(c.mask, add);
        }
    } else {
        SpinWatch spin(what);
        each_lane(c.mask, [&](u32 i) {
            const S old = update_own<K, S>(shared + a[i], what, b[i], e[i], flush);
            spin.see(old, b[i]);
            if (d != nullptr) d[i] = old;
        });
        spin.end(c);
    }
    if (c.race && !acquires_nothing(c)) [[unlikely]]
        each_lane(c.mask, [&](u32 i) { order_after(c, op, i, a[i], true, true); });
    return op + 1;
}

/// Updates global memory for a warp: one check for all lanes, then each lane in order.
template <class K, class S>
const Op* update_global_memory(WarpContext& c, const Op* op, const u64* a, const S* b, const S* e,
                               S* d) {
    if (!all_inside(c.bounds[op->cache], a, 0, sizeof(S), c.mask) &&
        !check_global(c, op, a, sizeof(S), atomic_access(op))) {
        return leave();
    }
    if (c.watch) [[unlikely]]
        note_lanes(c, op, a, {atomic_access(op), sizeof(S), nullptr});
    const auto what = op->flags.as<AtomicFlags>().operation;
    const bool flush = op->flags.as<AtomicFlags>().flush;
    SpinWatch spin(what);
    each_lane(c.mask, [&](u32 i) {
        if (c.race) [[unlikely]]
            order_before(c, op, i, a[i], false, true);
        const S old =
            update_shared_memory_of_host<K>(reinterpret_cast<S*>(a[i]), what, b[i], e[i], flush);
        if (c.race) [[unlikely]]
            order_after(c, op, i, a[i], false, true);
        spin.see(old, b[i]);
        if (d != nullptr) d[i] = old;
    });
    spin.end(c);
    return op + 1;
}

/// Whether all active lanes' addresses are in global memory.
bool are_global(const u64* addresses, u32 mask) {
    u64 windows = 0;
    for (u32 i = 0; i < lanes; ++i)
        windows |= (addresses[i] >> window_shift) & (u64{0} - ((mask >> i) & 1));
    static_assert(static_cast<u64>(Window::global) == 0);
    return windows == 0;
}

template <AtomicType type>
const Op* atomic(WarpContext& c, const Op* op) {
    using K = Kind<type>;
    using S = typename K::Storage;
    const auto what = op->flags.as<AtomicFlags>().operation;
    const bool flush = op->flags.as<AtomicFlags>().flush;
    const Window window = op->addressing.window;
    const bool narrow = op->addressing.narrow;
    const u8* addresses = source<u8>(c, op->r[1]);
    const S* b = source<S>(c, op->r[2]);
    const S* e = source<S>(c, op->r[what == AtomicOp::cas ? 3 : 2]);
    S* d = op->r[0] != no_slot ? destination<S>(c, op->r[0]) : nullptr;
    if (window == Window::shared && !c.clustered)
        return update_block_memory<K, S>(c, op, addresses, b, e, d);
    if (window != Window::shared) {
        alignas(32) u64 a[lanes];
        for (u32 i = 0; i < lanes; ++i)
            a[i] = lane_address(addresses, narrow, i) + op->imm;
        if (are_global(a, c.mask)) return update_global_memory<K, S>(c, op, a, b, e, d);
    }
    SpinWatch spin(what);
    for (u32 left = c.mask; left != 0; left &= left - 1) {
        const auto i = static_cast<u32>(std::countr_zero(left));
        const u64 address = lane_address(addresses, narrow, i) + op->imm;
        u8* const at = lane_pointer(c, op, i, address, sizeof(S), window, atomic_access(op));
        if (at == nullptr) return leave();
        const bool own =
            window == Window::shared ||
            (window == Window::code && address >> window_shift == static_cast<u64>(Window::shared));
        // In a cluster, other blocks know shared memory by its host address, too.
        const bool here = is_own_shared(c, at) && !c.clustered;
        const u64 place = here  ? static_cast<u64>(at - c.shared)
                          : own ? reinterpret_cast<u64>(at)
                                : address;
        if (c.race) [[unlikely]]
            order_before(c, op, i, place, here, true);
        // Only the unit of global memory flushes, even for generic addresses.
        const S old = own ? update_own<K, S>(at, what, b[i], e[i], false)
                          : update_shared_memory_of_host<K>(reinterpret_cast<S*>(at), what, b[i],
                                                            e[i], flush);
        if (c.race) [[unlikely]]
            order_after(c, op, i, place, here, true);
        spin.see(old, b[i]);
        if (d != nullptr) d[i] = old;
    }
    spin.end(c);
    return op + 1;
}

template <AtomicType type>
void combine_range(AtomicOp what, u8* to, const u8* from, u32 bytes, bool own) {
    using K = Kind<type>;
    using S = typename K::Storage;
    constexpr bool flush = false;  // Unlike red.
    for (u32 at = 0; at + sizeof(S) <= bytes; at += sizeof(S)) {
        S value;
        std::memcpy(&value, from + at, sizeof value);
        if (own) {
            update_own<K, S>(to + at, what, value, value, flush);
        } else {
            update_shared_memory_of_host<K>(reinterpret_cast<S*>(to + at), what, value, value,
                                            flush);
        }
    }
}

/// Calls f with an index_sequence of all types, for a table.
constexpr auto of_all_types(auto f) {
    return f(std::make_index_sequence<static_cast<std::size_t>(AtomicType::b128) + 1>());
}

}  // namespace

void combine_elements(AtomicType type, AtomicOp what, u8* to, const u8* from, u32 bytes, bool own) {
    static constexpr auto functions = of_all_types([]<std::size_t... k>(std::index_sequence<k...>) {
        return std::array{&combine_range<static_cast<AtomicType>(k)>...};
    });
    functions[static_cast<u32>(type)](what, to, from, bytes, own);
}

Handler atomic_handler(AtomicType type) noexcept {
    static constexpr auto handlers = of_all_types([]<std::size_t... k>(std::index_sequence<k...>) {
        return std::array<Handler, sizeof...(k)>{&atomic<static_cast<AtomicType>(k)>...};
    });
    return handlers[static_cast<u32>(type)];
}

}  // namespace lode::emulator::exec
