// Clocks, and what two of them know together.
#include "emulator/exec/checks/race/order.hpp"

#include <algorithm>

namespace lode::emulator::exec {

u32 Clock::time_of(u64 who) const noexcept {
    const auto at = std::ranges::lower_bound(entries, who, {}, &Entry::who);
    return at != entries.end() && at->who == who ? at->time : 0;
}

namespace {

/// Whether `a` knows all that `b` does.
bool covers(const Clock& a, const Clock& b) noexcept {
    if (a.entries.size() < b.entries.size()) return false;
    constexpr std::size_t steps = 16;  // A search takes about as many.
    if (b.entries.size() <= a.entries.size() / steps) {
        return std::ranges::all_of(b.entries, [&](const Clock::Entry& entry) {
            return a.time_of(entry.who) >= entry.time;
        });
    }
    auto x = a.entries.begin();
    for (const Clock::Entry& entry : b.entries) {
        while (x != a.entries.end() && x->who < entry.who)
            ++x;
        if (x == a.entries.end() || x->who != entry.who || x->time < entry.time) return false;
    }
    return true;
}

}  // namespace

ClockRef joined(const ClockRef& a, const ClockRef& b) {
    if (b == nullptr || a == b) return a;
    if (a == nullptr) return b;
    // Most often nothing is new; a clock may have an entry for every thread.
    if (covers(*a, *b)) return a;
    if (covers(*b, *a)) return b;
    auto both = std::make_shared<Clock>();
    both->entries.resize(a->entries.size() + b->entries.size());
    auto to = both->entries.begin();
    auto x = a->entries.begin();
    auto y = b->entries.begin();
    while (x != a->entries.end() && y != b->entries.end()) {
        if (x->who == y->who) {
            *to++ = {x->who, std::max(x->time, y->time)};
            ++x;
            ++y;
        } else {
            *to++ = x->who < y->who ? *x++ : *y++;
        }
    }
    to = std::copy(x, a->entries.end(), to);
    to = std::copy(y, b->entries.end(), to);
    both->entries.erase(to, both->entries.end());
    return both;
}

}  // namespace lode::emulator::exec
