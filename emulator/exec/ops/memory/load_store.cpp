// ld and st for every space. r[0 … n) are the data, r[n] the addresses, imm the offset. One op
// moves n parts of type T per lane; other ops convert parts that differ in size from their
// registers.
#include "emulator/exec/ops/memory/generic.hpp"
#include "emulator/exec/ops/memory/indexed.hpp"
#include "emulator/exec/ops/memory/local.hpp"
#include "emulator/exec/ops/memory/memory_lanes.hpp"

namespace lode::emulator::exec {

namespace {

// Local -----------------------------------------------------------------------------------------

template <class T, u32 n, class A>
const Op* load_local(WarpContext& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (c.check_memory && !local_inside(c, a, bytes) && !check_local(c, op, a, bytes, Access::read))
        return leave();
    if (c.init) [[unlikely]]
        init_local(c, op, a, noted_access<T, n>(op, Access::read));
    const Parts<T, n> to(c, op);
    if constexpr (sizeof(T) == 4) {
        if (c.mask == all_lanes && pattern_of<bytes>(a) == Pattern::uniform) {
            for (u32 k = 0; k < n; ++k) {
                std::memcpy(to.data[k], c.local + local_word(a[0] / 4 + k, 0), lanes * 4);
            }
            return op + 1;
        }
    }
    each_lane(c.mask, [&](u32 i) {
        u8 buffer[bytes];
        read_local<bytes>(c, i, a[i], buffer);
        load_lane<OwnBytes>(to.data, i, buffer);
    });
    return op + 1;
}

template <class T, u32 n, class A>
const Op* store_local(WarpContext& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<A>(c, op->r[n]), op->imm);
    if (c.check_memory && !local_inside(c, a, bytes) &&
        !check_local(c, op, a, bytes, Access::write))
        return leave();
    if (c.init) [[unlikely]]
        init_local(c, op, a, noted_access<T, n>(op, Access::write));
    const Values<T, n> from(c, op);
    if constexpr (sizeof(T) == 4) {
        if (c.mask == all_lanes && pattern_of<bytes>(a) == Pattern::uniform) {
            for (u32 k = 0; k < n; ++k) {
                std::memcpy(c.local + local_word(a[0] / 4 + k, 0), from.data[k], lanes * 4);
            }
            return op + 1;
        }
    }
    each_lane(c.mask, [&](u32 i) {
        u8 buffer[bytes];
        store_lane<OwnBytes>(from.data, i, buffer);
        write_local<bytes>(c, i, a[i], buffer);
    });
    return op + 1;
}

// Kernel parameters by computed address ----------------------------------------------------------

template <class T, u32 n>
const Op* load_parameter(WarpContext& c, const Op* op) {
    constexpr u32 bytes = sizeof(T) * n;
    alignas(32) u32 a[lanes];
    narrow_addresses(a, source<u64>(c, op->r[n]), op->imm);
    if (c.check_memory && !check_parameters(c, op, a, bytes)) return leave();
    if (c.init) [[unlikely]]
        init_written(c, op, n);
    const Parts<T, n> to(c, op);
    each_lane(c.mask, [&](u32 i) { load_lane<OwnBytes>(to.data, i, c.parameters + a[i]); });
    return op + 1;
}

// Generic ---------------------------------------------------------------------------------------

template <bool stores, u32 bytes, u32 parts>
const Op* generic(WarpContext& c, const Op* op) {
    static const Windows windows(
        {.space = MemorySpace::generic, .stores = stores, .bytes = bytes, .parts = parts});
    const u64* a = source<u64>(c, op->r[parts]);
    u64 seen = 0;
    for (u32 i = 0; i < lanes; ++i) {
        seen |= (a[i] + op->imm) & (0 - static_cast<u64>((c.mask >> i) & 1));
    }
    if (seen >> window_shift == static_cast<u64>(Window::global))
        return windows.handlers[static_cast<u32>(Window::global)](c, op);
    return run_by_window(c, op, windows);
}

template <class T, u32 n>
Handler choose(const MemoryAccess& access) {
    const bool stores = access.stores;
    const bool narrow = access.form == AddressForm::narrow;
    if constexpr (sizeof(T) < 16) {
        if (access.form == AddressForm::index) {
            if (access.space == MemorySpace::global)
                return global_or_shared<Indexed<GlobalSpace>, T, n>(stores);
            return global_or_shared<Indexed<SharedSpace<u64>>, T, n>(stores);
        }
    }
    switch (access.space) {
        case MemorySpace::global:
            return global_or_shared<GlobalSpace, T, n>(stores);
        case MemorySpace::generic:
            return stores ? &generic<true, sizeof(T), n> : &generic<false, sizeof(T), n>;
        case MemorySpace::shared:
            return narrow ? global_or_shared<SharedSpace<u32>, T, n>(stores)
                          : global_or_shared<SharedSpace<u64>, T, n>(stores);
        case MemorySpace::local:
            if (narrow) return stores ? &store_local<T, n, u32> : &load_local<T, n, u32>;
            return stores ? &store_local<T, n, u64> : &load_local<T, n, u64>;
        case MemorySpace::parameter:
            return &load_parameter<T, n>;
    }
    return nullptr;
}

template <class T>
Handler choose_parts(const MemoryAccess& access) {
    switch (access.parts) {
        case 1:
            return choose<T, 1>(access);
        case 2:
            return choose<T, 2>(access);
        case 4:
            return choose<T, 4>(access);
        default:
            return nullptr;
    }
}

}  // namespace

Handler access_handler(const MemoryAccess& access) {
    if (!exists(access)) return nullptr;
    switch (access.bytes) {
        case 1:
            return choose_parts<u8>(access);
        case 2:
            return choose_parts<u16>(access);
        case 4:
            return choose_parts<u32>(access);
        case 8:
            return choose_parts<u64>(access);
        case 16:
            return choose<u128, 1>(access);
        default:
            return nullptr;
    }
}

}  // namespace lode::emulator::exec
