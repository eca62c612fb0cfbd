#include "emulator/exec/ops/arithmetic/rows.hpp"

namespace lode::emulator::exec {

namespace {

/// The product of polynomials over GF(2).
u128 carryless_product(u64 a, u64 b) {
    u128 sum = 0;
    for (u32 k = 0; k < 64; ++k)
        sum ^= (b >> k & 1) != 0 ? u128{a} << k : 0;
    return sum;
}

constexpr Handler wide_integer_table[] = {
#include "emulator/isa/rows/wide_integer.def"
};

}  // namespace

std::span<const Handler> wide_integer_handlers() {
    return wide_integer_table;
}

}  // namespace lode::emulator::exec
