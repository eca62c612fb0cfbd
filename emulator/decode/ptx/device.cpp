// The features that a module's .target and .version provide.
#include "emulator/decode/ptx/grammar.hpp"

namespace lode::emulator::ptx {

bool Device::has(const Needs& needs) const noexcept {
    const int number = target.cc().number();
    if (version < needs.version || number < needs.target) return false;
    const bool is_suffixed = target.suffix() != ArchSuffix::none;
    const bool is_specific = target.suffix() == ArchSuffix::specific;
    const bool is_10x = number == 100 || number == 103;
    switch (needs.family) {
        case Needs::Family::none:
            return true;
        case Needs::Family::before_sync:
            return number < 70 || version < 604;
        case Needs::Family::before_rounding:
            return number < 20 || version < 302;
        case Needs::Family::only_90a:
            return is_suffixed && number == 90;
        case Needs::Family::suffixed:
            return is_suffixed;
        case Needs::Family::suffixed_100:
            return is_suffixed && number >= 100;
        case Needs::Family::a_of_10x:
            return is_specific && is_10x;
        case Needs::Family::suffixed_12x:
            return is_suffixed && (number == 120 || number == 121);
        case Needs::Family::suffixed_10x:
            return is_suffixed && is_10x;
        case Needs::Family::tensor_memory:
            return is_suffixed && (is_10x || number == 110);
        case Needs::Family::tensor_memory_a:
            return is_specific && (is_10x || number == 110);
        case Needs::Family::a_100_or_110:
            return is_specific && (number == 100 || number == 110);
        case Needs::Family::suffixed_103_or_110:
            return is_suffixed && (number == 103 || number == 110);
    }
    return true;
}

Device device_of(const Module& module) {
    return {Arch::parse(module.target).value_or(Arch()), module.version};
}

}  // namespace lode::emulator::ptx
