// The values on which opcodes are tested.
#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

namespace {

struct Layout {
    int exponent, fraction;
};

std::vector<Bits> real_edges(std::string_view type) {
    if (type == "f32") {
        return {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff, 0x7f7fffff, 0x00800000,
                0x3f000000, 0x40200000, 0xc0600000, 0x4f000000, 0xcf000000, 0x4f800000,
                0x5f000000, 0x3dcccccd, 0x3f7fffff, 0x43e00000, 0x477ff000, 0x33000000};
    }
    if (type == "f64") {
        return {0,
                0x8000000000000000,
                0x3ff0000000000000,
                0xbff8000000000000,
                0x7ff0000000000000,
                0xfff0000000000000,
                0x7ff8000000000000,
                0x0000000000000001,
                0x800fffffffffffff,
                0x7fefffffffffffff,
                0x0010000000000000,
                0x4004000000000000,
                0x41e0000000000000,
                0xc1e0000000200000,
                0x43e0000000000000,
                0xc3e0000000000000,
                0x43f0000000000000,
                0x3fb999999999999a,
                0x3e70000000000000,
                0x47efffffefffffff,
                0x36a0000000000000,
                0x3ff0020000001000};
    }
    if (type == "f16") {
        return {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x0001,
                0x83ff, 0x7bff, 0x0400, 0x3555, 0x4100, 0x6400, 0xc500, 0x7ff7, 0xfff7};
    }
    return {0,      0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x0001,
            0x807f, 0x7f7f, 0x0080, 0x3eaa, 0x4049, 0xc2c8, 0x4f00, 0x7ff7, 0xfff7};
}

std::vector<Bits> integer_edges() {
    return {0,
            ~Bits{0},
            1,
            0x80000000,
            0x8000000000000000,
            0x7fffffff,
            0x7fffffffffffffff,
            32,
            31,
            33,
            64,
            2,
            0x8000,
            0x7fff,
            0x80,
            0x7f,
            3,
            7,
            63,
            100,
            0xff,
            0xffff,
            0xffffffff,
            0xfffffffe,
            0x12345678,
            0xfedcba9876543210,
            0x807f80ff01fe8081};
}

/// Mostly near one, so that sums and products stay finite; often with few bits, so that ties occur.
Bits random_real(corpus::Random& random, Layout layout) {
    const u64 exponents = u64{1} << layout.exponent;
    u64 exponent = random.bits() % exponents;
    if (random.bits() % 4 != 0) {
        const u64 spread = exponents / 4 < 24 ? exponents / 4 : 24;
        exponent = exponents / 2 - 1 + random.bits() % (2 * spread) - spread;
    }
    u64 fraction = random.bits() & ((u64{1} << layout.fraction) - 1);
    const u64 cut = random.bits() % (2 * static_cast<u64>(layout.fraction));
    if (cut < static_cast<u64>(layout.fraction)) fraction &= ~u64{0} << cut;
    const u64 sign = random.bits() & 1;
    return (((sign << layout.exponent) | exponent) << layout.fraction) | fraction;
}

Bits random_integer(corpus::Random& random) {
    const u64 bits = random.bits();
    return bits >> (random.bits() % 3 == 0 ? random.bits() % 64 : 0);
}

}  // namespace

std::vector<Bits> values(std::string_view type, std::size_t count) {
    corpus::Random random(count);
    std::vector<Bits> made;
    if (type.ends_with("x2")) {
        if (type.starts_with("e")) {
            for (Bits k = 0; k < count; ++k)
                made.push_back(k < 256 ? k | ((255 - k) << 8) : random.bits() & 0xffff);
            return made;
        }
        const auto halves = values(type.substr(0, type.size() - 2), 64);
        for (std::size_t k = 0; made.size() < count; ++k) {
            const Bits high =
                halves[k < halves.size() ? halves.size() - 1 - k : random.bits() % halves.size()];
            made.push_back(halves[k % halves.size()] | (high << 16));
        }
        return made;
    }
    if (type == "pred") return {0, 1};
    const bool real = type[0] == 'f' || type.starts_with("bf");
    const unsigned width = static_cast<unsigned>(
        std::stoul(std::string(type.substr(type.find_first_of("0123456789")))));
    const Bits kept = width >= 64 ? ~Bits{0} : (Bits{1} << width) - 1;
    if (real) {
        const Layout layout = type == "f64"   ? Layout{11, 52}
                              : type == "f32" ? Layout{8, 23}
                              : type == "f16" ? Layout{5, 10}
                                              : Layout{8, 7};
        made = real_edges(type);
        while (made.size() < count)
            made.push_back(random_real(random, layout));
    } else {
        made = integer_edges();
        while (made.size() < count)
            made.push_back(random_integer(random));
        for (Bits& one : made)
            one &= kept;
    }
    return made;
}

}  // namespace lode::emulator::exec::testing
