// ld and st of every space. r[0 … n) are the data, r[n] the addresses, imm the offset. One op moves
// n parts of type T a lane; parts wider or narrower than their registers are converted by ops of
// their own.
#include <emulator/exec/ops/load_store.hpp>
#include <emulator/exec/ops/local.hpp>
#include <emulator/exec/ops/memory.hpp>

namespace lode::emulator {

namespace {

template <class T, u32 n>
struct Parts {
    Parts(Context& c, const Op* op) {
        for (u32 k = 0; k < n; ++k)
            data[k] = destination<T>(c, op->r[k]);
    }
    T* data[n];
};
template <class T, u32 n>
struct Values {
    Values(Context& c, const Op* op) {
        for (u32 k = 0; k < n; ++k)
            data[k] = source<T>(c, op->r[k]);
    }
    const T* data[n];
};

template <class T, u32 n>
[[gnu::always_inline]] inline void load_lane(T* const* to, u32 lane, const u8* from) {
    T element[n];
    std::memcpy(element, from, sizeof element);
    for (u32 k = 0; k < n; ++k)
        to[k][lane] = element[k];
}
template <class T, u32 n>
[[gnu::always_inline]] inline void store_lane(const T* const* from, u32 lane, u8* to) {
    T element[n];
    for (u32 k = 0; k < n; ++k)
        element[k] = from[k][lane];
    std::memcpy(to, element, sizeof element);
}

/// `count` lanes from `first` on get what one address holds.
template <class T, u32 n>
[[gnu::always_inline]] inline void broadcast(T* const* to, const u8* from, u32 first = 0,
                                             u32 count = lanes) {
    T element[n];
    std::memcpy(element, from, sizeof element);
    for (u32 k = 0; k < n; ++k) {
        for (u32 i = 0; i < count; ++i) {
            to[k][first + i] = element[k];
        }
    }
}

/// A full warp whose addresses are no single run: by halves if they are simple, else by lanes.
/// `pointer` gives the host address of a lane's bytes.
template <class T, u32 n, class A, class P>
[[gnu::always_inline]] inline void gather_full(T* const* to, const A* a, P&& pointer) {
    switch (halves_of<sizeof(T) * n>(a)) {
        case Halves::runs:
            spread_run<T, n>(to, pointer(0), 0, 16);
            spread_run<T, n>(to, pointer(16), 16, 16);
            break;
        case Halves::uniform:
            broadcast<T, n>(to, pointer(0), 0, 16);
            broadcast<T, n>(to, pointer(16), 16, 16);
            break;
        case Halves::any:
            for (u32 i = 0; i < lanes; ++i) {
                load_lane<T, n>(to, i, pointer(i));
            }
            break;
    }
}

u8* host(u64 address) {
    return reinterpret_cast<u8*>(address);
}

// Global -----------------------------------------------------------------------------------------

template <class T, u32 n>
[[gnu::noinline]] const Op* load_global_any(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    const u64* a = source<u64>(c, op->r[n]);
    const u64 offset = op->imm;
    if (!all_inside(c.bounds[op->cache], a, offset, bytes, c.mask) &&
        !check_global(c, op, a, offset, bytes, Access::read)) {
        return leave();
    }
    const Parts<T, n> to(c, op);
    // The destination may be the register of the addresses.
    alignas(32) u64 at[lanes];
    std::memcpy(at, a, sizeof at);
    if (c.mask != all_lanes) {
        each_lane(c.mask, [&](u32 i) { load_lane<T, n>(to.data, i, host(at[i] + offset)); });
    } else {
        gather_full<T, n>(to.data, at, [&](u32 i) { return host(at[i] + offset); });
    }
    return op + 1;
}

template <class T, u32 n>
const Op* load_global(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    if (c.mask == all_lanes) {
        const u64* a = source<u64>(c, op->r[n]);
        const Pattern pattern = pattern_of<bytes>(a);
        const u64 first = a[0] + op->imm;
        if (pattern != Pattern::any && (first & (bytes - 1)) == 0) {
            const u64 run = pattern == Pattern::contiguous ? bytes * lanes : bytes;
            if (inside(c.bounds[op->cache], first, run)) {
                const Parts<T, n> to(c, op);
                if (pattern == Pattern::contiguous) {
                    spread_run<T, n>(to.data, host(first), 0, lanes);
                } else {
                    broadcast<T, n>(to.data, host(first));
                }
                return op + 1;
            }
        }
    }
    return load_global_any<T, n>(c, op);
}

template <class T, u32 n>
[[gnu::noinline]] const Op* store_global_any(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    const u64* a = source<u64>(c, op->r[n]);
    const u64 offset = op->imm;
    if (!all_inside(c.bounds[op->cache], a, offset, bytes, c.mask) &&
        !check_global(c, op, a, offset, bytes, Access::write)) {
        return leave();
    }
    const Values<T, n> from(c, op);
    if (c.mask == all_lanes && halves_of<bytes>(a) == Halves::runs) {
        gather_run<T, n>(host(a[0] + offset), from.data, 0, 16);
        gather_run<T, n>(host(a[16] + offset), from.data, 16, 16);
    } else {
        each_lane(c.mask, [&](u32 i) { store_lane<T, n>(from.data, i, host(a[i] + offset)); });
    }
    return op + 1;
}

template <class T, u32 n>
const Op* store_global(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    if (c.mask == all_lanes) {
        const u64* a = source<u64>(c, op->r[n]);
        const u64 first = a[0] + op->imm;
        if (pattern_of<bytes>(a) == Pattern::contiguous && (first & (bytes - 1)) == 0 &&
            inside(c.bounds[op->cache], first, bytes * lanes)) {
            gather_run<T, n>(host(first), Values<T, n>(c, op).data, 0, lanes);
            return op + 1;
        }
    }
    return store_global_any<T, n>(c, op);
}

// Shared -----------------------------------------------------------------------------------------

template <class T, u32 n, class A>
const Op* load_shared(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (c.race) note_shared(c, op, a, bytes, Access::read);
    const Parts<T, n> to(c, op);
    if (c.mask == all_lanes) {
        const Pattern pattern = pattern_of<bytes>(a);
        if (pattern != Pattern::any && (a[0] & (bytes - 1)) == 0) {
            const u32 run = pattern == Pattern::contiguous ? bytes * lanes : bytes;
            if (a[0] < c.shared_bytes && run <= c.shared_bytes - a[0]) {
                if (pattern == Pattern::contiguous) {
                    spread_run<T, n>(to.data, c.shared + a[0], 0, lanes);
                } else {
                    broadcast<T, n>(to.data, c.shared + a[0]);
                }
                return op + 1;
            }
        }
    }
    if (!shared_inside(c, a, bytes) && !check_shared(c, op, a, bytes, Access::read)) {
        return leave();
    }
    if (c.mask != all_lanes) {
        each_lane(c.mask, [&](u32 i) { load_lane<T, n>(to.data, i, c.shared + a[i]); });
    } else {
        gather_full<T, n>(to.data, a, [&](u32 i) { return c.shared + a[i]; });
    }
    return op + 1;
}

template <class T, u32 n, class A>
const Op* store_shared(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (c.race) note_shared(c, op, a, bytes, Access::write);
    const Values<T, n> from(c, op);
    if (c.mask == all_lanes && pattern_of<bytes>(a) == Pattern::contiguous &&
        (a[0] & (bytes - 1)) == 0 && a[0] < c.shared_bytes &&
        bytes * lanes <= c.shared_bytes - a[0]) {
        gather_run<T, n>(c.shared + a[0], from.data, 0, lanes);
        return op + 1;
    }
    if (!shared_inside(c, a, bytes) && !check_shared(c, op, a, bytes, Access::write)) {
        return leave();
    }
    if (c.mask == all_lanes && halves_of<bytes>(a) == Halves::runs) {
        gather_run<T, n>(c.shared + a[0], from.data, 0, 16);
        gather_run<T, n>(c.shared + a[16], from.data, 16, 16);
    } else {
        each_lane(c.mask, [&](u32 i) { store_lane<T, n>(from.data, i, c.shared + a[i]); });
    }
    return op + 1;
}

// Local -----------------------------------------------------------------------------------------

template <class T, u32 n, class A>
const Op* load_local(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (!local_inside(c, a, bytes) && !check_local(c, op, a, bytes, Access::read)) return leave();
    const Parts<T, n> to(c, op);
    if constexpr (sizeof(T) == 4) {
        if (c.mask == all_lanes && pattern_of<bytes>(a) == Pattern::uniform) {
            for (u32 k = 0; k < n; ++k) {
                std::memcpy(to.data[k], c.local + (a[0] / 4 + k) * lanes * 4, lanes * 4);
            }
            return op + 1;
        }
    }
    each_lane(c.mask, [&](u32 i) {
        u8 buffer[bytes];
        read_local<bytes>(c, i, a[i], buffer);
        load_lane<T, n>(to.data, i, buffer);
    });
    return op + 1;
}

template <class T, u32 n, class A>
const Op* store_local(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (!local_inside(c, a, bytes) && !check_local(c, op, a, bytes, Access::write)) return leave();
    const Values<T, n> from(c, op);
    if constexpr (sizeof(T) == 4) {
        if (c.mask == all_lanes && pattern_of<bytes>(a) == Pattern::uniform) {
            for (u32 k = 0; k < n; ++k) {
                std::memcpy(c.local + (a[0] / 4 + k) * lanes * 4, from.data[k], lanes * 4);
            }
            return op + 1;
        }
    }
    each_lane(c.mask, [&](u32 i) {
        u8 buffer[bytes];
        store_lane<T, n>(from.data, i, buffer);
        write_local<bytes>(c, i, a[i], buffer);
    });
    return op + 1;
}

// Kernel parameters by computed address ----------------------------------------------------------

template <class T, u32 n>
const Op* load_parameter(Context& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<u64>(c, op->r[n]), op->imm);
    if (!check_parameters(c, op, a, bytes)) return leave();
    const Parts<T, n> to(c, op);
    each_lane(c.mask, [&](u32 i) { load_lane<T, n>(to.data, i, c.parameters + a[i]); });
    return op + 1;
}

// Generic: the window of each address decides ----------------------------------------------------

const Op* wrong_window(Context& c, const Op* op, u64 address) {
    return raise(c, op, static_cast<u32>(std::countr_zero(c.mask)), Fault::invalid_address_space,
                 describe_bad_window(address));
}

template <class F>
[[gnu::noinline]] const Op* by_window(Context& c, const Op* op, const u64* addresses, F&& run) {
    alignas(32) u64 a[lanes];
    std::memcpy(a, addresses, sizeof a);
    const u32 whole = c.mask;
    const Op* next = op + 1;
    for (u32 left = whole; left != 0 && next == op + 1;) {
        const u64 window = (a[std::countr_zero(left)] + op->imm) >> window_shift;
        u32 same = 0;
        each_lane(left, [&](u32 i) {
            if ((a[i] + op->imm) >> window_shift == window) same |= 1u << i;
        });
        c.mask = same;
        left &= ~same;
        next = window <= 3 ? run(static_cast<Window>(window))
                           : wrong_window(c, op, a[std::countr_zero(same)] + op->imm);
    }
    c.mask = whole;
    return next;
}

template <class T, u32 n>
const Op* load_generic(Context& c, const Op* op) {
    const u64* a = source<u64>(c, op->r[n]);
    u64 windows = 0;
    for (u32 i = 0; i < lanes; ++i) {
        windows |= (a[i] + op->imm) & (0 - static_cast<u64>((c.mask >> i) & 1));
    }
    if (windows >> window_shift == 0) return load_global<T, n>(c, op);
    return by_window(c, op, a, [&](Window window) {
        switch (window) {
            case Window::shared:
                return load_shared<T, n, u64>(c, op);
            case Window::local:
                return load_local<T, n, u64>(c, op);
            case Window::param:
                return load_parameter<T, n>(c, op);
            default:
                return load_global<T, n>(c, op);
        }
    });
}

template <class T, u32 n>
const Op* store_generic(Context& c, const Op* op) {
    const u64* a = source<u64>(c, op->r[n]);
    u64 windows = 0;
    for (u32 i = 0; i < lanes; ++i) {
        windows |= (a[i] + op->imm) & (0 - static_cast<u64>((c.mask >> i) & 1));
    }
    if (windows >> window_shift == 0) return store_global<T, n>(c, op);
    return by_window(c, op, a, [&](Window window) {
        switch (window) {
            case Window::shared:
                return store_shared<T, n, u64>(c, op);
            case Window::local:
                return store_local<T, n, u64>(c, op);
            case Window::param:
                return wrong_window(c, op, a[std::countr_zero(c.mask)]);
            default:
                return store_global<T, n>(c, op);
        }
    });
}

template <class T, u32 n>
Handler choose(MemorySpace space, bool store, bool narrow) {
    switch (space) {
        case MemorySpace::global:
            return store ? &store_global<T, n> : &load_global<T, n>;
        case MemorySpace::generic:
            return store ? &store_generic<T, n> : &load_generic<T, n>;
        case MemorySpace::shared:
            if (narrow) return store ? &store_shared<T, n, u32> : &load_shared<T, n, u32>;
            return store ? &store_shared<T, n, u64> : &load_shared<T, n, u64>;
        case MemorySpace::local:
            if (narrow) return store ? &store_local<T, n, u32> : &load_local<T, n, u32>;
            return store ? &store_local<T, n, u64> : &load_local<T, n, u64>;
        case MemorySpace::parameter:
            return store ? nullptr : &load_parameter<T, n>;
    }
    return nullptr;
}

template <class T>
Handler choose(MemorySpace space, bool store, bool narrow, u32 parts) {
    switch (parts) {
        case 1:
            return choose<T, 1>(space, store, narrow);
        case 2:
            return choose<T, 2>(space, store, narrow);
        case 4:
            return choose<T, 4>(space, store, narrow);
        default:
            return nullptr;
    }
}

}  // namespace

Handler memory_handler(MemorySpace space, bool store, u32 bytes, u32 parts, bool narrow) {
    switch (bytes) {
        case 1:
            return choose<u8>(space, store, narrow, parts);
        case 2:
            return choose<u16>(space, store, narrow, parts);
        case 4:
            return choose<u32>(space, store, narrow, parts);
        case 8:
            return choose<u64>(space, store, narrow, parts);
        case 16:
            return parts == 1 ? choose<u128, 1>(space, store, narrow) : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace lode::emulator
