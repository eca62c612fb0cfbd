// f32 and f64 arithmetic in every rounding, with flushing and saturation.
#include "tests/unit/emulator/exec/reference_real.hpp"

namespace lode::emulator::testing {

namespace {

struct Mode {
    std::string text;
    Way way;
};
const std::vector<Mode>& modes() {
    static const std::vector<Mode> all{
        {".rn", Way::rn}, {".rz", Way::rz}, {".rm", Way::rm}, {".rp", Way::rp}};
    return all;
}

/// The modifiers that stand between name and type, in the order of the language.
struct Modifiers {
    bool ftz = false, sat = false;
};

Bits taken(const RealFormat& format, Modifiers m, Bits a) {
    return m.ftz ? flush(format, a) : a;
}
Bits given(const RealFormat& format, Modifiers m, Bits a) {
    if (m.ftz) a = flush(format, a);
    return m.sat ? saturate(format, a) : a;
}
std::string suffix(Modifiers m, const std::string& type) {
    return std::string(m.ftz ? ".ftz" : "") + (m.sat ? ".sat." : ".") + type;
}

using Operation = std::function<Bits(Way, Bits, Bits, Bits)>;

void add_operation(Comparisons& all, const std::string& type, const std::string& name, int sources,
                   const std::vector<Mode>& roundings, const std::vector<Modifiers>& modifiers,
                   const Operation& operation) {
    const RealFormat& format = format_named(type);
    std::string types = type;
    for (int k = 0; k < sources; ++k)
        types += " " + type;
    const Accepts accepts = type == "f64" ? any_nan(format) : Accepts{};
    for (const Mode& mode : roundings) {
        for (const Modifiers m : modifiers) {
            all.push_back(compared(Form{name + mode.text + suffix(m, type),
                                        types,
                                        [=, &format](Bits a, Bits b, Bits c) {
                                            return given(format, m,
                                                         operation(mode.way, taken(format, m, a),
                                                                   taken(format, m, b),
                                                                   taken(format, m, c)));
                                        },
                                        {},
                                        accepts}));
        }
    }
}

void add_arithmetic(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    const bool single = type == "f32";
    const std::vector<Mode> directed = modes();
    std::vector<Mode> any = directed;
    any.push_back({"", Way::rn});
    const std::vector<Modifiers> plain{{}};
    const std::vector<Modifiers> flushed =
        single ? std::vector<Modifiers>{{}, {true, false}} : plain;
    const std::vector<Modifiers> whole =
        single ? std::vector<Modifiers>{{}, {true, false}, {false, true}, {true, true}} : plain;
    add_operation(all, type, "add", 2, any, whole,
                  [&f](Way way, Bits a, Bits b, Bits) { return real_add(f, way, a, b); });
    add_operation(all, type, "sub", 2, any, whole,
                  [&f](Way way, Bits a, Bits b, Bits) { return real_subtract(f, way, a, b); });
    add_operation(all, type, "mul", 2, any, whole,
                  [&f](Way way, Bits a, Bits b, Bits) { return real_multiply(f, way, a, b); });
    const auto fma = [&f](Way way, Bits a, Bits b, Bits c) { return real_fma(f, way, a, b, c); };
    add_operation(all, type, "fma", 3, directed, whole, fma);
    add_operation(all, type, "mad", 3, directed, whole, fma);
    add_operation(all, type, "div", 2, directed, flushed,
                  [&f](Way way, Bits a, Bits b, Bits) { return real_divide(f, way, a, b); });
    add_operation(all, type, "sqrt", 1, directed, flushed,
                  [&f](Way way, Bits a, Bits, Bits) { return real_root(f, way, a); });
    add_operation(all, type, "rcp", 1, directed, flushed,
                  [&f](Way way, Bits a, Bits, Bits) { return real_divide(f, way, f.one(), a); });
}

void add_extremes(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    const bool single = type == "f32";
    const std::vector<Modifiers> flushed =
        single ? std::vector<Modifiers>{{}, {true, false}} : std::vector<Modifiers>{{}};
    const std::vector<Mode> once{{"", Way::rn}};
    for (const bool least : {true, false}) {
        const auto pick = [&f, least](Bits a, Bits b, bool nan) {
            return least ? real_min(f, a, b, nan) : real_max(f, a, b, nan);
        };
        const std::string name = least ? "min" : "max";
        add_operation(all, type, name, 2, once, flushed,
                      [pick](Way, Bits a, Bits b, Bits) { return pick(a, b, false); });
        if (!single) continue;
        for (const bool nan : {false, true}) {
            for (const bool ftz : {false, true}) {
                std::string head = name + (ftz ? ".ftz" : "");
                if (nan) head += ".NaN";
                const auto get = [&f, ftz](Bits a) { return ftz ? flush(f, a) : a; };
                all.push_back(
                    compared(Form{head + ".f32", "f32 f32 f32", [=](Bits a, Bits b, Bits) {
                                      return pick(get(a), get(b), nan);
                                  }}));
                all.push_back(
                    compared(Form{head + ".f32", "f32 f32 f32 f32", [=](Bits a, Bits b, Bits c) {
                                      return pick(pick(get(a), get(b), nan), get(c), nan);
                                  }}));
                all.push_back(compared(Form{head + ".xorsign.abs.f32",
                                            "f32 f32 f32",
                                            [=, &f](Bits a, Bits b, Bits) {
                                                const Bits size = f.sign() - 1;
                                                const Bits picked =
                                                    pick(get(a) & size, get(b) & size, nan);
                                                return picked | ((a ^ b) & f.sign());
                                            },
                                            {},
                                            any_nan(f)}));
            }
        }
    }
}

void add_signs(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    const std::string one = type + " " + type;
    const Accepts accepts = any_nan(f);
    for (const bool ftz : {false, true}) {
        if (ftz && type == "f64") continue;
        const std::string tail = (ftz ? ".ftz." : ".") + type;
        const auto get = [&f, ftz](Bits a) { return ftz ? flush(f, a) : a; };
        all.push_back(compared(Form{"neg" + tail,
                                    one,
                                    [=, &f](Bits a, Bits, Bits) { return get(a) ^ f.sign(); },
                                    {},
                                    accepts}));
        all.push_back(compared(Form{"abs" + tail,
                                    one,
                                    [=, &f](Bits a, Bits, Bits) { return get(a) & ~f.sign(); },
                                    {},
                                    accepts}));
    }
    // The sign is the first source's.
    all.push_back(compared(Form{"copysign." + type, one + " " + type, [&f](Bits a, Bits b, Bits) {
                                    return (a & f.sign()) | (b & ~f.sign());
                                }}));
}

}  // namespace

static Comparisons real_family() {
    Comparisons all;
    for (const std::string type : {"f32", "f64"}) {
        add_arithmetic(all, type);
        add_extremes(all, type);
        add_signs(all, type);
    }
    return all;
}

LODE_OPCODE_FAMILY("opcode: f32 and f64 arithmetic rounds as its exact reference says", real_family)

}  // namespace lode::emulator::testing
