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
    const auto& [name, numbers, least, is_specific] = *needs.family;
    const bool is_listed = std::ranges::find(numbers, number) != numbers.end();
    return (is_listed || (least != 0 && number >= least)) &&
           (is_specific ? target.suffix() == ArchSuffix::specific
                        : target.suffix() != ArchSuffix::none);
}

Device device_of(const Module& module) {
    return {Arch::parse(module.target).value_or(Arch()), module.version};
}

}  // namespace lode::emulator::ptx
