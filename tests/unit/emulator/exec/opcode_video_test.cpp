// The scalar video instructions on whole words and parts, and cvt.pack.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

namespace lode::emulator::exec::testing {

namespace {

struct Part {
    const char* name;  ///< ".b0"; "" for the whole word.
    u32 at, width;
};
constexpr Part parts[] = {{"", 0, 32}, {".b0", 0, 8}, {".b3", 24, 8}, {".h1", 16, 16}};

i64 taken(Bits word, const Part& part, bool sign) {
    const u64 value = word >> part.at & ((u64{1} << part.width) - 1);
    if (sign && (value >> (part.width - 1) & 1) != 0)
        return static_cast<i64>(value) - (i64{1} << part.width);
    return static_cast<i64>(value);
}

i64 at_most(i64 value, u32 width, bool sign) {
    const i64 high = sign ? (i64{1} << (width - 1)) - 1 : (i64{1} << width) - 1;
    const i64 low = sign ? -(i64{1} << (width - 1)) : 0;
    return std::max(low, std::min(high, value));
}

std::string type(bool sign) {
    return sign ? ".s32" : ".u32";
}

i64 video_value(std::string_view name, i64 a, i64 b) {
    if (name == "vadd") return a + b;
    if (name == "vsub") return a - b;
    if (name == "vabsdiff") return a < b ? b - a : a - b;
    if (name == "vmin") return a < b ? a : b;
    return a < b ? b : a;
}

void add_sums(Comparisons& all, const std::string& name, u32 signs, const Part& a, const Part& b) {
    const bool d_sign = (signs & 1) != 0;
    const bool a_sign = (signs & 2) != 0;
    const bool b_sign = (signs & 4) != 0;
    const std::string types = type(d_sign) + type(a_sign) + type(b_sign);
    const std::string sources = std::string("a") + a.name + ", b" + b.name;
    const auto value = [=](Bits x, Bits y) {
        return video_value(name, taken(x, a, a_sign), taken(y, b, b_sign));
    };
    all.push_back(
        compared(Form{name + types, "u32 u32 u32 u32",
                      [=](Bits x, Bits y, Bits) { return Bits{static_cast<u32>(value(x, y))}; },
                      name + types + " d, " + sources + ";"}));
    all.push_back(compared(Form{name + types + ".add", "u32 u32 u32 u32",
                                [=](Bits x, Bits y, Bits z) {
                                    return Bits{
                                        static_cast<u32>(value(x, y) + static_cast<i64>(z))};
                                },
                                name + types + ".add d, " + sources + ", c;"}));
    all.push_back(compared(Form{name + types, "u32 u32 u32 u32",
                                [=](Bits x, Bits y, Bits z) {
                                    const u32 byte = static_cast<u32>(value(x, y)) & 255;
                                    return Bits{(static_cast<u32>(z) & 0xff00ffff) | byte << 16};
                                },
                                name + types + " d.b2, " + sources + ", c;"}));
}

void add_shifts(Comparisons& all, bool left, bool sign, bool wrap) {
    const std::string opcode = std::string(left ? "vshl" : "vshr") + ".u32" + type(sign) + ".u32" +
                               (wrap ? ".wrap" : ".clamp");
    all.push_back(compared(Form{opcode, "u32 u32 u32 u32",
                                [=](Bits x, Bits y, Bits) {
                                    const i64 a = taken(x, parts[3], sign);
                                    const u64 by = wrap ? y & 31 : std::min<u64>(y, 32);
                                    const i64 moved = left ? a * (i64{1} << by) : a >> by;
                                    return Bits{static_cast<u32>(moved)};
                                },
                                opcode + " d, a.h1, b;"}));
}

void add_products(Comparisons& all, bool a_sign, bool b_sign) {
    const std::string opcode = "vmad.u32" + type(a_sign) + type(b_sign);
    all.push_back(compared(Form{opcode, "u32 u32 u32 u32",
                                [=](Bits x, Bits y, Bits z) {
                                    const i128 a = taken(x, parts[0], a_sign);
                                    const i128 b = taken(y, parts[1], b_sign);
                                    return Bits{static_cast<u32>(a * b + static_cast<u32>(z))};
                                },
                                opcode + " d, a, b.b0, c;"}));
}

Comparisons scalar_video() {
    Comparisons all;
    for (const char* const name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax"}) {
        for (u32 signs = 0; signs < 8; ++signs)
            add_sums(all, name, signs, parts[signs % 4], parts[(signs / 2 + 1) % 4]);
    }
    for (u32 k = 0; k < 8; ++k)
        add_shifts(all, (k & 1) != 0, (k & 2) != 0, (k & 4) != 0);
    for (u32 k = 0; k < 4; ++k)
        add_products(all, (k & 1) != 0, (k & 2) != 0);
    static constexpr std::pair<const char*, bool (*)(i64, i64)> orders[] = {
        {"eq", [](i64 a, i64 b) { return a == b; }}, {"ne", [](i64 a, i64 b) { return a != b; }},
        {"lt", [](i64 a, i64 b) { return a < b; }},  {"le", [](i64 a, i64 b) { return a <= b; }},
        {"gt", [](i64 a, i64 b) { return a > b; }},  {"ge", [](i64 a, i64 b) { return a >= b; }}};
    for (const auto& [name, holds] : orders) {
        const std::string opcode = std::string("vset.s32.u32.") + name;
        const auto f = holds;
        all.push_back(compared(Form{opcode, "u32 u32 u32 u32",
                                    [f](Bits x, Bits y, Bits) {
                                        return Bits{
                                            f(taken(x, parts[3], true), taken(y, parts[2], false))};
                                    },
                                    opcode + " d, a.h1, b.b3;"}));
    }
    return all;
}

Comparisons packing() {
    Comparisons all;
    for (const bool sign : {true, false}) {
        for (const u32 bits : {16u, 8u, 4u, 2u}) {
            const std::string opcode = std::string("cvt.pack.sat.") + (sign ? "s" : "u") +
                                       std::to_string(bits) + ".s32" + (bits < 16 ? ".b32" : "");
            all.push_back(compared(Form{
                opcode, "u32 s32 s32 u32",
                [=](Bits x, Bits y, Bits z) {
                    const u64 mask = (u64{1} << bits) - 1;
                    const u64 a = static_cast<u64>(at_most(static_cast<i32>(x), bits, sign)) & mask;
                    const u64 b = static_cast<u64>(at_most(static_cast<i32>(y), bits, sign)) & mask;
                    const u64 rest = bits < 16 ? z << (2 * bits) : 0;
                    return Bits{static_cast<u32>(rest | a << bits | b)};
                },
                opcode + (bits < 16 ? " d, a, b, c;" : " d, a, b;")}));
        }
    }
    return all;
}

}  // namespace

LODE_OPCODE_FAMILY("opcodes: scalar video instructions on words and parts", scalar_video)
LODE_OPCODE_FAMILY("opcodes: cvt.pack", packing)

}  // namespace lode::emulator::exec::testing
