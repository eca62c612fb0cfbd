// The features that a module's .target and .version provide.
#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

bool Device::has(const Needs& needs) const noexcept {
    if (version < needs.version || target < needs.target) return false;
    const bool is_10x = target == 100 || target == 103;
    switch (needs.family) {
        case Needs::Family::none:
            return true;
        case Needs::Family::before_sync:
            return target < 70 || version < 604;
        case Needs::Family::suffixed:
            return suffix != ' ';
        case Needs::Family::suffixed_100:
            return suffix != ' ' && target >= 100;
        case Needs::Family::a_of_10x:
            return suffix == 'a' && is_10x;
        case Needs::Family::suffixed_10x:
            return suffix != ' ' && is_10x;
    }
    return true;
}

Device device_of(const Module& module) {
    Device made;
    made.version = module.version;
    std::string_view name = module.target;
    if (!name.starts_with("sm_")) return made;
    for (const char c : name.substr(3)) {
        if (c >= '0' && c <= '9') {
            // No target has this many digits.
            made.target = std::min(made.target * 10 + (c - '0'), 99'999);
        } else {
            made.suffix = c;
        }
    }
    return made;
}

}  // namespace lode::emulator::ptx
