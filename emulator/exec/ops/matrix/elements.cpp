#include "emulator/exec/ops/matrix/elements.hpp"

namespace lode::emulator::exec {

bool split_elements(Element element, const u32* raw, std::size_t count, i32 zero, f32* significands,
                    i32* exponents) noexcept {
    switch (element) {
        case Element::f16:
            return split<f16_number>(raw, count, zero, significands, exponents);
        case Element::bf16:
            return split<bf16_number>(raw, count, zero, significands, exponents);
        case Element::tf32:
            return split<tf32_number>(raw, count, zero, significands, exponents);
        case Element::f32:
            return split<f32_number>(raw, count, zero, significands, exponents);
        case Element::e4m3:
            return split<e4m3_number>(raw, count, zero, significands, exponents);
        case Element::e5m2:
            return split<e5m2_number>(raw, count, zero, significands, exponents);
        case Element::e2m3:
            return split<e2m3_number>(raw, count, zero, significands, exponents);
        case Element::e3m2:
            return split<e3m2_number>(raw, count, zero, significands, exponents);
        case Element::e2m1:
            return split<e2m1_number>(raw, count, zero, significands, exponents);
        default:
            return split<e2m1_x2_number>(raw, count, zero, significands, exponents);
    }
}

void widen_integers(Element element, const u32* raw, std::size_t count, i32* values) noexcept {
    const bool sign = element == Element::s8 || element == Element::s4;
    const u32 spare = 32 - bits_of(element);
    for (std::size_t i = 0; i < count; ++i) {
        const auto high = static_cast<i32>(raw[i] << spare);
        values[i] = sign ? high >> spare : static_cast<i32>(static_cast<u32>(high) >> spare);
    }
}

}  // namespace lode::emulator::exec
