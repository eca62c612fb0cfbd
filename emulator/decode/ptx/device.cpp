// The features that a module's .target and .version provide.
#include "emulator/decode/ptx/grammar.hpp"

#include <algorithm>

namespace lode::emulator::ptx {

bool Device::has(const Needs& needs) const noexcept {
    const int number = target.cc().number();
    if (version < needs.version || number < needs.target) return false;
    if (needs.target_below != 0)
        return number < needs.target_below || version < needs.version_below;
    if (needs.family == nullptr) return true;
    const auto& [name, numbers, least, is_specific, specific] = *needs.family;
    const auto is_in = [&](const auto& list) {
        return std::ranges::find(list, number) != list.end();
    };
    if (target.suffix() == ArchSuffix::specific)
        return is_in(numbers) || is_in(specific) || (least != 0 && number >= least);
    return !is_specific && target.suffix() != ArchSuffix::none &&
           (is_in(numbers) || (least != 0 && number >= least));
}

Device device_of(const Module& module) {
    return {Arch::parse(module.target).value_or(Arch()), module.version};
}

}  // namespace lode::emulator::ptx
