// ld and st for every space. r[0 … n) are the data, r[n] the addresses, imm the offset. One op
// moves n parts of type T per lane; other ops convert parts that differ in size from their
// registers.
#include "emulator/exec/ops/memory/generic.hpp"
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

template <class T, u32 n>
Handler choose(MemorySpace space, bool store, bool narrow) {
    switch (space) {
        case MemorySpace::global:
            return global_or_shared<GlobalSpace, T, n>(store);
        case MemorySpace::generic:
            return generic_handler(store, sizeof(T), n);
        case MemorySpace::shared:
            return narrow ? global_or_shared<SharedSpace<u32>, T, n>(store)
                          : global_or_shared<SharedSpace<u64>, T, n>(store);
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

}  // namespace lode::emulator::exec
