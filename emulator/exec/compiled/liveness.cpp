// Which values ops may still read.
#if defined(__x86_64__)

#include "emulator/exec/compiled/tracer.hpp"

#include <algorithm>

namespace lode::emulator::exec {

bool Tracer::is_live(const Pending& value, const Op* at) {
    const auto [found, fresh] = live_.try_emplace({at, value.slot}, true);
    if (!fresh) return found->second;
    constexpr std::size_t most = 512;  // Ops to look at.
    std::set<const Op*> seen;
    std::vector<const Op*> open{at};
    while (!open.empty()) {
        const Op* const one = open.back();
        open.pop_back();
        if (!seen.insert(one).second) continue;
        if (seen.size() > most) return true;
        const Kind kind = kind_of(*one);
        if (kind.action == Action::stop) return true;
        if (kind.action == Action::leave) {
            if (!regions_.entry_function) return true;
            continue;
        }
        const bool defines = whole_result(kind) == (value.value.wide ? 8 : 4);
        if (std::find(one->r + (defines ? 1 : 0), std::end(one->r), value.slot) != std::end(one->r))
            return true;
        if (defines && one->r[0] == value.slot) continue;
        if (is_branch(kind.action) || kind.action == Action::other_branch)
            open.push_back(one->target);
        if (kind.action != Action::branch) open.push_back(one + 1);
    }
    return found->second = false;
}

bool Tracer::is_needed(Slot slot) {
    return std::ranges::find(here_->r, slot) != std::end(here_->r) || is_live({slot, {}}, here_);
}

std::vector<Values::Pending> Tracer::pending_at(const Op* target) {
    std::vector<Pending> all = pending();
    if (target != nullptr)
        std::erase_if(all, [&](const Pending& one) { return !is_live(one, target); });
    return all;
}

}  // namespace lode::emulator::exec

#endif
