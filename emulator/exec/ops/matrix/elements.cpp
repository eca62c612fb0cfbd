#include "emulator/exec/ops/matrix/elements.hpp"

namespace lode::emulator::exec {

bool split_elements(Element element, const u32* raw, std::size_t count, i32 zero, f32* significands,
                    i32* exponents) noexcept {
    // By Element; doubles and integers aren't split.
    static constexpr decltype(&split<f16_number>) functions[] = {&split<f16_number>,
                                                                 &split<bf16_number>,
                                                                 &split<tf32_number>,
                                                                 &split<f32_number>,
                                                                 nullptr,
                                                                 &split<e4m3_number>,
                                                                 &split<e5m2_number>,
                                                                 &split<e2m3_number>,
                                                                 &split<e3m2_number>,
                                                                 &split<e2m1_number>,
                                                                 &split<e2m1_x2_number>};
    static_assert(std::size(functions) == static_cast<std::size_t>(Element::s8));
    return functions[static_cast<u32>(element)](raw, count, zero, significands, exponents);
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
