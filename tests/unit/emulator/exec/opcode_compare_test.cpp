// setp and set: every comparison of every type, unordered operands, combinations, flushing.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <cctype>

namespace lode::emulator::exec::testing {

namespace {

/// Whether a comparison holds for an order: -1, 0, 1, or 2 for unordered operands.
bool holds(std::string_view comparison, int order) {
    if (comparison == "num") return order != 2;
    if (comparison == "nan") return order == 2;
    // Maps unsigned comparisons to the plain names. Three-letter names also hold for unordered
    // operands.
    static constexpr std::pair<std::string_view, std::string_view> others[] = {
        {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
    for (const auto& [name, plain] : others) {
        if (comparison == name) comparison = plain;
    }
    if (comparison.size() == 3) {
        if (order == 2) return true;
        comparison = comparison.substr(0, 2);
    }
    if (order == 2) return false;
    if (comparison == "eq") return order == 0;
    if (comparison == "ne") return order != 0;
    if (comparison == "lt") return order < 0;
    if (comparison == "le") return order <= 0;
    if (comparison == "gt") return order > 0;
    return order >= 0;
}

using Order = std::function<int(Bits, Bits)>;

Order order_of(const std::string& type, bool ftz = false) {
    if (type == "s16" || type == "s32" || type == "s64") {
        const int shift = 64 - std::stoi(type.substr(1));
        return [=](Bits a, Bits b) {
            const auto x = static_cast<i64>(a << shift);
            const auto y = static_cast<i64>(b << shift);
            return x < y ? -1 : (x > y ? 1 : 0);
        };
    }
    if (type[0] == 'u' || (type[0] == 'b' && std::isdigit(type[1]) != 0)) {
        return [](Bits a, Bits b) { return a < b ? -1 : (a > b ? 1 : 0); };
    }
    const RealFormat& format = format_named(type);
    return [&format, ftz](Bits a, Bits b) {
        return real_order(format, ftz ? flush(format, a) : a, ftz ? flush(format, b) : b);
    };
}

struct Kind {
    std::string type;
    bool ftz;
    std::vector<std::string> comparisons;
};

std::vector<Kind> kinds() {
    const std::vector<std::string> equal{"eq", "ne"};
    const std::vector<std::string> plain{"eq", "ne", "lt", "le", "gt", "ge"};
    std::vector<std::string> natural = plain;
    natural.insert(natural.end(), {"lo", "ls", "hi", "hs"});
    std::vector<std::string> unordered = plain;
    unordered.insert(unordered.end(), {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
    std::vector<Kind> all;
    for (const std::string width : {"16", "32", "64"}) {
        all.push_back({"b" + width, false, equal});
        all.push_back({"s" + width, false, plain});
        all.push_back({"u" + width, false, natural});
    }
    for (const std::string type : {"f32", "f64", "f16", "bf16"})
        all.push_back({type, false, unordered});
    all.push_back({"f32", true, unordered});
    all.push_back({"f16", true, unordered});
    return all;
}

bool combined(const std::string& how, bool value, bool other) {
    if (how == ".and") return value && other;
    if (how == ".or") return value || other;
    return how == ".xor" ? value != other : value;
}

void add_predicates(Comparisons& all, const Kind& kind) {
    const std::string tail = (kind.ftz ? ".ftz." : ".") + kind.type;
    const std::string two = " " + kind.type + " " + kind.type;
    const Order order = order_of(kind.type, kind.ftz);
    for (const std::string& name : kind.comparisons) {
        all.push_back(compared(Form{"setp." + name + tail, "pred" + two, [=](Bits a, Bits b, Bits) {
                                        return Bits{holds(name, order(a, b))};
                                    }}));
    }
    // Combined with a predicate. Except for halves, the second result combines the complement; bits
    // 0 and 1 of d hold the results.
    const bool half = kind.type == "f16" || kind.type == "bf16";
    const std::string& name = kind.comparisons.back();
    for (const std::string how : {"", ".and", ".or", ".xor"}) {
        for (const bool negated : {false, true}) {
            std::string opcode = "setp." + name + how;
            opcode += tail;
            std::string text = opcode + (half ? " p, a, b" : " p|q, a, b");
            if (!how.empty()) text += negated ? ", !c" : ", c";
            text += half ? "; selp.b32 d, 1, 0, p;"
                         : "; selp.b32 m, 1, 0, p; selp.b32 d, 2, 0, q; or.b32 d, d, m;";
            all.push_back(compared(Form{opcode, "b32" + two + " pred",
                                        [=](Bits a, Bits b, Bits c) {
                                            const bool value = holds(name, order(a, b));
                                            const bool other = (c != 0) != negated;
                                            const Bits first{combined(how, value, other)};
                                            const Bits second{combined(how, !value, other)};
                                            return half ? first : first + 2 * second;
                                        },
                                        text}));
        }
    }
}

Bits truth(const std::string& type) {
    if (type == "f32") return 0x3f800000;
    if (type == "f16") return 0x3c00;
    return type == "bf16" ? 0x3f80 : 0xffff'ffff;
}

void add_values(Comparisons& all, const Kind& kind) {
    const bool half = kind.type == "f16" || kind.type == "bf16";
    std::vector<std::string> results{"u32", "s32", "f32"};
    if (half) results = {kind.type, "u16", "s16", "u32", "s32"};
    const std::string sources = " " + kind.type + " " + kind.type;
    const Order order = order_of(kind.type, kind.ftz);
    const std::string ftz = kind.ftz ? ".ftz" : "";
    for (const std::string& result : results) {
        const Bits yes = truth(result);
        for (const std::string& name : kind.comparisons) {
            const std::string opcode = "set." + name + ftz + "." + result + "." + kind.type;
            all.push_back(compared(Form{opcode, result + sources, [=](Bits a, Bits b, Bits) {
                                            return holds(name, order(a, b)) ? yes : 0;
                                        }}));
        }
        const std::string& name = kind.comparisons.front();
        for (const std::string how : {".and", ".or", ".xor"}) {
            const std::string opcode = "set." + name + how + ftz + "." + result + "." + kind.type;
            all.push_back(compared(Form{opcode, result + sources + " pred",
                                        [=](Bits a, Bits b, Bits c) {
                                            const bool value = holds(name, order(a, b));
                                            return combined(how, value, c != 0) ? yes : 0;
                                        },
                                        opcode + " d, a, b, c;"}));
        }
    }
}

void add_packed(Comparisons& all, const Kind& kind) {
    const std::string packed = kind.type + "x2";
    const Order order = order_of(kind.type, kind.ftz);
    const std::string ftz = kind.ftz ? ".ftz" : "";
    const auto one = [=](const std::string& name, Bits a, Bits b, u32 half) {
        return holds(name, order((a >> (16 * half)) & 0xffff, (b >> (16 * half)) & 0xffff));
    };
    const std::string sources = " " + packed + " " + packed;
    for (const std::string& name : kind.comparisons) {
        for (const std::string& result : {packed, std::string("u32"), std::string("s32")}) {
            const Bits yes = result == packed ? truth(kind.type) : 0xffff;
            const std::string opcode = "set." + name + ftz + "." + result + "." + packed;
            all.push_back(compared(Form{opcode, result + sources, [=](Bits a, Bits b, Bits) {
                                            return (one(name, a, b, 0) ? yes : 0) |
                                                   (one(name, a, b, 1) ? yes << 16 : 0);
                                        }}));
        }
        for (const std::string how : {"", ".and", ".xor"}) {
            const std::string opcode = "setp." + name + how + ftz + "." + packed;
            all.push_back(
                compared(Form{opcode, "b32" + sources + " pred",
                              [=](Bits a, Bits b, Bits c) {
                                  return Bits{combined(how, one(name, a, b, 0), c != 0)} +
                                         2 * Bits{combined(how, one(name, a, b, 1), c != 0)};
                              },
                              opcode + " p|q, a, b" + (how.empty() ? "" : ", c") +
                                  "; selp.b32 m, 1, 0, p; selp.b32 d, 2, 0, q; or.b32 d, d, m;"}));
        }
    }
}

void add_properties(Comparisons& all) {
    for (const std::string type : {"f32", "f64"}) {
        const RealFormat& format = format_named(type);
        const auto add = [&](const std::string& name, auto is) {
            all.push_back(
                compared(Form{"testp." + name + "." + type, "pred " + type,
                              [&format, is](Bits a, Bits, Bits) { return Bits{is(format, a)}; }}));
        };
        const auto small = [](const RealFormat& f, Bits a) {
            const Bits size = a & (f.sign() - 1);
            return size != 0 && size < Bits{1} << f.fraction_bits;
        };
        const auto finite = [](const RealFormat& f, Bits a) {
            return !is_nan(f, a) && !is_infinite(f, a);
        };
        add("finite", finite);
        add("infinite", [](const RealFormat& f, Bits a) { return is_infinite(f, a); });
        add("number", [](const RealFormat& f, Bits a) { return !is_nan(f, a); });
        add("notanumber", [](const RealFormat& f, Bits a) { return is_nan(f, a); });
        add("subnormal", small);
        // PTX counts zeros as normal.
        add("normal", [=](const RealFormat& f, Bits a) { return finite(f, a) && !small(f, a); });
    }
}

}  // namespace

static Comparisons compare_family() {
    Comparisons all;
    for (const Kind& kind : kinds()) {
        add_predicates(all, kind);
        add_values(all, kind);
        if (kind.type == "f16" || kind.type == "bf16") add_packed(all, kind);
    }
    add_properties(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: comparisons equal their reference for every type and every order",
                   compare_family)

}  // namespace lode::emulator::exec::testing
