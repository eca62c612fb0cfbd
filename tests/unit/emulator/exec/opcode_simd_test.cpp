// The SIMD video instructions: selected source parts, written parts, sums. Also lop3 with a
// predicate.
#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <algorithm>

namespace lode::emulator::exec::testing {

namespace {

i64 part_of(Bits a, Bits b, u32 which, u32 width, bool sign) {
    const u64 both = (b & 0xffffffff) << 32 | (a & 0xffffffff);
    const auto value = static_cast<i64>(both >> (which * width) & ((u64{1} << width) - 1));
    return sign && (value >> (width - 1) & 1) != 0 ? value - (i64{1} << width) : value;
}

i64 limited(i64 value, u32 width, bool sign) {
    const i64 high = (i64{1} << (sign ? width - 1 : width)) - 1;
    return std::max<i64>(sign ? -high - 1 : 0, std::min(high, value));
}

i64 simd_value(std::string_view name, i64 a, i64 b) {
    if (name == "vadd") return a + b;
    if (name == "vsub") return a - b;
    if (name == "vabsdiff") return a < b ? b - a : a - b;
    if (name == "vmin") return std::min(a, b);
    if (name == "vmax") return std::max(a, b);
    if (name == "lt") return a < b ? 1 : 0;
    if (name == "ge") return a >= b ? 1 : 0;
    return a == b ? 1 : 0;
}

/// Selectors of d, a and b; an empty one is omitted.
struct Choice {
    const char* d;
    const char* a;
    const char* b;
};
constexpr Choice of_bytes[] = {{"", "", ""},
                               {"", "7610", "0123"},
                               {"20", "", "7777"},
                               {"3", "4567", ""},
                               {"3210", "3333", "5140"}};
constexpr Choice of_halves[] = {
    {"", "", ""}, {"", "20", "13"}, {"1", "", "00"}, {"0", "32", ""}, {"10", "33", "01"}};

enum class Then { merge, saturate, add };

Form form_of(const std::string& name, u32 count, const Choice& choice, u32 signs, Then then) {
    const bool compares = !name.starts_with('v');
    const auto type = [&](u32 bit) { return (signs & bit) != 0 ? ".s32" : ".u32"; };
    const std::string opcode = (compares ? "vset" : name) + std::to_string(count) +
                               (compares ? "" : type(1)) + type(2) + type(4) +
                               (compares ? "." + name : "") +
                               (then == Then::merge      ? ""
                                : then == Then::saturate ? ".sat"
                                                         : ".add");
    const u32 width = 32 / count;
    const char letter = count == 2 ? 'h' : 'b';
    const auto selected = [&](const char* reg, std::string_view selector) {
        return std::string(reg) +
               (selector.empty() ? "" : std::string(".") + letter + std::string(selector));
    };
    const std::string all = count == 2 ? "10" : "3210";
    const std::string written = choice.d[0] != 0 ? choice.d : all;
    const std::string first = choice.a[0] != 0 ? choice.a : all;
    const std::string second = choice.b[0] != 0 ? choice.b : count == 2 ? "32" : "7654";
    return Form{opcode, "u32 u32 u32 u32",
                [=](Bits x, Bits y, Bits z) {
                    auto merged = static_cast<u32>(z);
                    auto sum = static_cast<u32>(z);
                    for (u32 k = 0; k < count; ++k) {
                        if (written.find(static_cast<char>('0' + k)) == written.npos) continue;
                        const auto which = [&](const std::string& digits) {
                            return static_cast<u32>(digits[count - 1 - k] - '0');
                        };
                        i64 value =
                            simd_value(name, part_of(x, y, which(first), width, (signs & 2) != 0),
                                       part_of(x, y, which(second), width, (signs & 4) != 0));
                        if (then == Then::saturate) value = limited(value, width, (signs & 1) != 0);
                        const u32 mask = ((u32{1} << width) - 1) << (k * width);
                        sum += static_cast<u32>(value);
                        merged = (merged & ~mask) | (static_cast<u32>(value) << (k * width) & mask);
                    }
                    return Bits{then == Then::add ? sum : merged};
                },
                opcode + " " + selected("d", choice.d) + ", " + selected("a", choice.a) + ", " +
                    selected("b", choice.b) + ", c;"};
}

Comparisons simd_video() {
    Comparisons all;
    u32 turn = 0;
    for (const u32 count : {2u, 4u}) {
        for (const Choice& choice : count == 2 ? of_halves : of_bytes) {
            for (const char* const name :
                 {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "lt", "ge", "eq"}) {
                const bool compares = name[0] != 'v';
                for (const Then then : {Then::merge, Then::saturate, Then::add}) {
                    if (compares && then == Then::saturate) continue;
                    all.push_back(compared(form_of(name, count, choice, turn++ % 8, then)));
                }
            }
        }
    }
    return all;
}

Comparisons logic_with_predicate() {
    Comparisons all;
    for (const bool both : {false, true}) {
        for (const u32 table : {0x00u, 0x80u, 0x96u, 0xe8u, 0xffu}) {
            const std::string opcode = std::string("lop3.") + (both ? "and" : "or") + ".b32";
            const auto value = [=](Bits x, Bits y, Bits z) {
                u32 made = 0;
                for (u32 k = 0; k < 32; ++k) {
                    const u64 at = (x >> k & 1) << 2 | (y >> k & 1) << 1 | (z >> k & 1);
                    made |= (table >> at & 1) << k;
                }
                return made;
            };
            const std::string end = ", a, b, c, " + std::to_string(table) + ", ";
            const std::string odd =
                "{ .reg .pred q, r; .reg .b32 low;\nand.b32 low, a, 1;\n"
                "setp.ne.u32 q, low, 0;\n" +
                opcode;
            const auto joined = [=](bool any, bool q) { return both ? any && q : any || q; };
            all.push_back(compared(Form{opcode, "u32 u32 u32 u32",
                                        [=](Bits x, Bits y, Bits z) {
                                            const u32 made = value(x, y, z);
                                            const bool p = joined(made != 0, (x & 1) == 0);
                                            return Bits{p ? made : ~made};
                                        },
                                        odd + " d|r" + end + "!q;\n@!r not.b32 d, d; }"}));
            all.push_back(compared(Form{opcode, "u32 u32 u32 u32",
                                        [=](Bits x, Bits y, Bits z) {
                                            return Bits{joined(value(x, y, z) != 0, (x & 1) != 0)};
                                        },
                                        odd + " _|r" + end + "q;\nselp.u32 d, 1, 0, r; }"}));
        }
    }
    return all;
}

}  // namespace

LODE_OPCODE_FAMILY("opcodes: lop3 with a predicate", logic_with_predicate)
LODE_OPCODE_FAMILY("opcodes: SIMD video instructions select and write parts", simd_video)

}  // namespace lode::emulator::exec::testing
