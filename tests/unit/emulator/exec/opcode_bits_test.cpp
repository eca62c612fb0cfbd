// Logic, shifts, bit fields and permutations, computed bit by bit.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

namespace lode::emulator::exec::testing {

namespace {

bool bit_of(Bits a, u64 k) {
    return k < 64 && ((a >> k) & 1) != 0;
}
/// The word whose bit k is f(k).
template <class F>
Bits bitwise(u32 width, F f) {
    Bits result = 0;
    for (u32 k = 0; k < width; ++k)
        result |= Bits{f(k)} << k;
    return result;
}
u32 highest(Bits a) {
    u32 found = ~0u;
    for (u32 k = 0; k < 64; ++k) {
        if (bit_of(a, k)) found = k;
    }
    return found;
}

void add(Comparisons& all, const std::string& opcode, const std::string& types, Reference f,
         const std::string& text = {}) {
    all.push_back(compared(Form{opcode, types, std::move(f), text}));
}

void add_logic(Comparisons& all, u32 width) {
    const std::string t = ".b" + std::to_string(width);
    const std::string one = "b" + std::to_string(width) + " b" + std::to_string(width);
    const std::string two = one + " b" + std::to_string(width);
    add(all, "and" + t, two, [=](Bits a, Bits b, Bits) {
        return bitwise(width, [=](u32 k) { return bit_of(a, k) && bit_of(b, k); });
    });
    add(all, "or" + t, two, [=](Bits a, Bits b, Bits) {
        return bitwise(width, [=](u32 k) { return bit_of(a, k) || bit_of(b, k); });
    });
    add(all, "xor" + t, two, [=](Bits a, Bits b, Bits) {
        return bitwise(width, [=](u32 k) { return bit_of(a, k) != bit_of(b, k); });
    });
    add(all, "not" + t, one,
        [=](Bits a, Bits, Bits) { return bitwise(width, [=](u32 k) { return !bit_of(a, k); }); });
    add(all, "cnot" + t, one, [](Bits a, Bits, Bits) { return Bits{a == 0}; });
    const std::string shift = one + " u32";
    add(all, "shl" + t, shift, [=](Bits a, Bits b, Bits) {
        return bitwise(width, [=](u32 k) { return k >= b && bit_of(a, k - b); });
    });
    for (const char kind : {'b', 'u', 's'}) {
        const std::string name = std::string("shr.") + kind + std::to_string(width);
        add(all, name, shift, [=](Bits a, Bits b, Bits) {
            const bool fill = kind == 's' && bit_of(a, width - 1);
            return bitwise(width, [=](u64 k) { return k + b < width ? bit_of(a, k + b) : fill; });
        });
    }
}

void add_counts(Comparisons& all, u32 width) {
    const std::string size = std::to_string(width);
    const std::string types = "u32 b" + size;
    add(all, "popc.b" + size, types, [](Bits a, Bits, Bits) {
        Bits count = 0;
        for (u32 k = 0; k < 64; ++k)
            count += bit_of(a, k);
        return count;
    });
    add(all, "clz.b" + size, types,
        [=](Bits a, Bits, Bits) { return Bits{a == 0 ? width : width - 1 - highest(a)}; });
    add(all, "brev.b" + size, "b" + size + " b" + size, [=](Bits a, Bits, Bits) {
        return bitwise(width, [=](u32 k) { return bit_of(a, width - 1 - k); });
    });
    for (const char kind : {'u', 's'}) {
        const auto found = [=](Bits a) {
            const bool sign = kind == 's' && bit_of(a, width - 1);
            return highest(bitwise(width, [=](u32 k) { return bit_of(a, k) != sign; }));
        };
        add(all, std::string("bfind.") + kind + size, types,
            [=](Bits a, Bits, Bits) { return Bits{found(a)}; });
        add(all, std::string("bfind.shiftamt.") + kind + size, types, [=](Bits a, Bits, Bits) {
            const u32 at = found(a);
            return Bits{at == ~0u ? at : width - 1 - at};
        });
    }
}

/// Positions and lengths. PTX defines 0 to 255. Beyond that, the 32-bit forms use the low byte; the
/// 64-bit forms, which ptxas implements with clamping shifts, use the whole word, as an H200 does.
void add_fields(Comparisons& all, u32 width) {
    const auto edge = [=](Bits a) { return std::min<Bits>(width == 32 ? a & 255 : a, width); };
    const std::string size = std::to_string(width);
    const std::string word = "b" + size;
    for (const char kind : {'u', 's'}) {
        const auto extract = [=](Bits a, Bits position, Bits length) {
            position = edge(position);
            length = edge(length);
            const bool sign = kind == 's' && length != 0 &&
                              bit_of(a, std::min<Bits>(position + length - 1, width - 1));
            return bitwise(width, [=](u32 k) {
                return k < length && position + k < width ? bit_of(a, position + k) : sign;
            });
        };
        const std::string name = std::string("bfe.") + kind + size;
        add(all, name, word + " " + word + " u32 u32", extract);
        for (const u32 length : {0u, 1u, 8u, 31u, 32u, 64u, 255u}) {
            add(
                all, name, word + " " + word + " u32",
                [=](Bits a, Bits b, Bits) { return extract(a, b, length); },
                name + " d, a, b, " + std::to_string(length) + ";");
        }
    }
    for (const u32 length : {0u, 1u, 9u, 31u, 32u, 33u, 64u, 255u}) {
        const std::string name = "bfi.b" + size;
        add(
            all, name, word + " " + word + " " + word + " u32",
            [=](Bits a, Bits b, Bits position) {
                position = edge(position);
                return bitwise(width, [=](u32 k) {
                    const bool inside = k >= position && k < position + length;
                    return inside ? bit_of(a, k - position) : bit_of(b, k);
                });
            },
            name + " d, a, b, c, " + std::to_string(length) + ";");
    }
    add(
        all, "bfi.b" + size, word + " " + word + " " + word + " u32",
        [=](Bits a, Bits b, Bits c) {
            c = edge(c);
            return bitwise(width, [=](u32 k) {
                return k >= c && k < 2 * c ? bit_of(a, k - c) : bit_of(b, k);
            });
        },
        "bfi.b" + size + " d, a, b, c, c;");
}

/// Byte `pick` & 7 of b:a; if bit 3 of `pick` is set, the byte's sign bit repeated.
Bits picked(Bits a, Bits b, u32 pick) {
    const Bits byte = (((b << 32) | a) >> (8 * (pick & 7))) & 255;
    return (pick & 8) != 0 ? (byte > 127 ? 255 : 0) : byte;
}

void add_permutations(Comparisons& all) {
    const std::string types = "b32 b32 b32 b32";
    const auto permuted = [](Bits a, Bits b, const std::array<u32, 4>& picks) {
        Bits result = 0;
        for (u32 k = 0; k < 4; ++k)
            result |= picked(a, b, picks[k]) << (8 * k);
        return result;
    };
    add(all, "prmt.b32", types, [=](Bits a, Bits b, Bits c) {
        std::array<u32, 4> picks{};
        for (u32 k = 0; k < 4; ++k)
            picks[k] = static_cast<u32>(c >> (4 * k)) & 15;
        return permuted(a, b, picks);
    });
    // By mode and the selector's low two bits: the source of each byte, lowest first.
    using Table = std::array<std::array<u32, 4>, 4>;
    static constexpr std::pair<const char*, Table> modes[] = {
        {"f4e", {{{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}}},
        {"b4e", {{{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}}},
        {"rc8", {{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}}},
        {"ecl", {{{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}}},
        {"ecr", {{{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}}},
        {"rc16", {{{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}}},
    };
    for (const auto& [name, table] : modes) {
        add(all, std::string("prmt.b32.") + name, types,
            [=, &rows = table](Bits a, Bits b, Bits c) { return permuted(a, b, rows[c & 3]); });
    }
    for (u32 truth = 0; truth < 256; truth += truth % 16 == 8 ? 1 : 4) {
        add(
            all, "lop3.b32", types,
            [=](Bits a, Bits b, Bits c) {
                return bitwise(32, [=](u32 k) {
                    return bit_of(truth, 4u * bit_of(a, k) + 2u * bit_of(b, k) + bit_of(c, k));
                });
            },
            "lop3.b32 d, a, b, c, " + std::to_string(truth) + ";");
    }
}

void add_funnels(Comparisons& all) {
    const std::string types = "b32 b32 b32 u32";
    for (const bool clamp : {false, true}) {
        const std::string mode = clamp ? ".clamp.b32" : ".wrap.b32";
        const auto amount = [=](Bits c) { return clamp ? std::min<Bits>(c, 32) : c & 31; };
        add(all, "shf.l" + mode, types, [=](Bits a, Bits b, Bits c) {
            const Bits n = amount(c);
            return bitwise(
                32, [=](u32 k) { return k >= n ? bit_of(b, k - n) : bit_of(a, 32 + k - n); });
        });
        add(all, "shf.r" + mode, types, [=](Bits a, Bits b, Bits c) {
            const Bits n = amount(c);
            return bitwise(
                32, [=](u32 k) { return k + n < 32 ? bit_of(a, k + n) : bit_of(b, k + n - 32); });
        });
    }
}

void add_masks(Comparisons& all) {
    const std::string two = "b32 u32 u32";
    for (const bool clamp : {false, true}) {
        const std::string mode = clamp ? ".clamp" : ".wrap";
        const auto amount = [=](Bits n) { return clamp ? n : n & 31; };
        add(all, "bmsk" + mode + ".b32", two, [=](Bits a, Bits b, Bits) {
            return bitwise(32, [=](u32 k) { return k >= amount(a) && k < amount(a) + amount(b); });
        });
        for (const char kind : {'u', 's'}) {
            add(all, "szext" + mode + "." + kind + "32", two, [=](Bits a, Bits b, Bits) {
                const Bits n = std::min<Bits>(amount(b), 32);
                const bool fill = kind == 's' && n > 0 && bit_of(a, n - 1);
                return bitwise(32, [=](u32 k) { return k < n ? bit_of(a, k) : fill; });
            });
        }
    }
    // The |c|-th set bit counted from bit b, upwards, or downwards if c is negative.
    add(
        all, "fns.b32", "b32 b32 u32 s32",
        [](Bits a, Bits b, Bits c) -> Bits {
            const auto base = static_cast<u32>(b & 31);
            if ((c & 0x60) == 0x60) return 0;
            const i32 wanted = static_cast<i32>(c & 31) - 15;
            if (wanted == 0) return bit_of(a, base) ? base : 0xffff'ffff;
            i32 seen = 0;
            for (u32 n = 0; n < 32; ++n) {
                const u32 at = wanted > 0 ? base + n : base - n;
                if (at < 32 && bit_of(a, at) && ++seen == std::abs(wanted)) return at;
            }
            return 0xffff'ffff;
        },
        // Offsets from -15 to 16, and the least one.
        "and.b32 b, b, 31; and.b32 d, c, 0x60; setp.eq.u32 p, d, 0x60; and.b32 c, c, 31; "
        "sub.s32 c, c, 15; @p mov.b32 c, 0x80000000; fns.b32 d, a, b, c;");
}

}  // namespace

static Comparisons bit_family() {
    Comparisons all;
    for (const u32 width : {16u, 32u, 64u})
        add_logic(all, width);
    for (const u32 width : {32u, 64u}) {
        add_counts(all, width);
        add_fields(all, width);
    }
    add_permutations(all);
    add_funnels(all);
    add_masks(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: logic, shifts and bit fields equal their reference bit by bit",
                   bit_family)

}  // namespace lode::emulator::exec::testing
