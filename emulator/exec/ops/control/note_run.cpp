#include "emulator/exec/ops/control/note_run.hpp"

#include "emulator/exec/checks/race/order.hpp"
#include "emulator/exec/checks/race/quick.hpp"
#include "emulator/exec/ops/memory/memory_lanes.hpp"

#include <algorithm>

namespace lode::emulator::exec {

namespace {

/// Keeps the exception that is being handled, for compiled code to throw again.
void keep_exception(WarpContext& c) noexcept {
    c.thrown = std::current_exception();
    c.has_thrown = true;
}

template <class T, bool store, bool shared, bool uniform>
bool note_run(WarpContext& c, const Op* op, u64 first) noexcept {
    try {
        if constexpr (has_race_quick(store, sizeof(T), uniform)) {
            if (!c.init && c.touched == nullptr &&
                race_quick<shared, store, sizeof(T), uniform>(c, op, first))
                return true;
        }
        const Noted noted = noted_access<T, 1>(op, store ? Access::write : Access::read);
        const u64 second = uniform ? first : first + lanes / 2 * sizeof(T);
        constexpr Pattern pattern = uniform ? Pattern::uniform : Pattern::run;
        note_pattern(c, op, shared, pattern, first, second, noted);
        return true;
    } catch (...) {
        keep_exception(c);
        return false;
    }
}

template <class T, bool store>
NoteRun choose(bool shared, bool uniform) {
    if (uniform) return shared ? &note_run<T, store, true, true> : &note_run<T, store, false, true>;
    return shared ? &note_run<T, store, true, false> : &note_run<T, store, false, false>;
}

template <class T>
NoteRun choose(bool store, bool shared, bool uniform) {
    return store ? choose<T, true>(shared, uniform) : choose<T, false>(shared, uniform);
}

}  // namespace

NoteRun note_run_of(u32 bytes, bool store, bool shared, bool uniform) {
    switch (bytes) {
        case 1:
            return choose<u8>(store, shared, uniform);
        case 2:
            return choose<u16>(store, shared, uniform);
        case 4:
            return choose<u32>(store, shared, uniform);
        default:
            return choose<u64>(store, shared, uniform);
    }
}

NotedSums note_sums(WarpContext& c, const Op* op, const u32* offsets) noexcept {
    try {
        if (c.race && !(releases_nothing(c, op) && acquires_nothing(c)))
            return NotedSums::need_handler;
        alignas(32) u64 addresses[lanes];
        std::copy_n(offsets, lanes, addresses);
        const Noted noted{Access::atomic, 4, nullptr};
        if (c.init) init_lanes(c, op, true, addresses, noted);
        if (c.race) race_lanes(c, op, true, addresses, noted);
        return NotedSums::reported;
    } catch (...) {
        keep_exception(c);
        return NotedSums::thrown;
    }
}

}  // namespace lode::emulator::exec
