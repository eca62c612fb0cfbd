// f32 and f64 arithmetic in every rounding mode, with flushing and saturation.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

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

/// The modifiers between rounding and type, in PTX order.
struct RealModifiers {
    bool ftz = false, sat = false;
};

using Operation = std::function<Bits(const RealFormat&, Way, Bits, Bits, Bits)>;

/// With .ftz, a result is flushed if it would be below the least normal number with an unlimited
/// exponent range. That differs from flushing a denormal f32: a denormal result has fewer bits and
/// may round up to the least normal number. PTX doesn't specify this; an H200 does it for exact
/// ties, and ptxas for every constant that it folds.
Bits flushed(const Operation& operation, Way way, Bits a, Bits b, Bits c) {
    const auto wide = [](Bits x) {
        return real_convert(f32_wide_format, Way::rn, f32_format, flush(f32_format, x));
    };
    const Bits result = operation(f32_wide_format, way, wide(a), wide(b), wide(c));
    const Bits least = wide(0x00800000);
    const bool minus = (result & f32_wide_format.sign()) != 0;
    if ((result & (f32_wide_format.sign() - 1)) < least) return minus ? f32_format.sign() : 0;
    // Not flushed: rounding once to f32 gives the same bits, or overflows.
    const auto get = [](Bits x) { return flush(f32_format, x); };
    return operation(f32_format, way, get(a), get(b), get(c));
}
std::string suffix(RealModifiers m, const std::string& type) {
    return std::string(m.ftz ? ".ftz" : "") + (m.sat ? ".sat." : ".") + type;
}

void add_operation(Comparisons& all, const std::string& type, const std::string& name, int sources,
                   const std::vector<Mode>& roundings, const std::vector<RealModifiers>& modifiers,
                   const Operation& operation) {
    const RealFormat& format = format_named(type);
    std::string types = type;
    for (int k = 0; k < sources; ++k)
        types += " " + type;
    const Accepts accepts = type == "f64" ? any_nan(format) : Accepts{};
    for (const Mode& mode : roundings) {
        for (const RealModifiers m : modifiers) {
            all.push_back(compared(Form{name + mode.text + suffix(m, type),
                                        types,
                                        [=, &format](Bits a, Bits b, Bits c) {
                                            const Bits d =
                                                m.ftz ? flushed(operation, mode.way, a, b, c)
                                                      : operation(format, mode.way, a, b, c);
                                            return m.sat ? saturate(format, d) : d;
                                        },
                                        {},
                                        accepts}));
        }
    }
}

void add_arithmetic(Comparisons& all, const std::string& type) {
    const bool single = type == "f32";
    const std::vector<Mode> directed = modes();
    std::vector<Mode> any = directed;
    any.push_back({"", Way::rn});
    const std::vector<RealModifiers> plain{{}};
    const std::vector<RealModifiers> flushed =
        single ? std::vector<RealModifiers>{{}, {true, false}} : plain;
    const std::vector<RealModifiers> whole =
        single ? std::vector<RealModifiers>{{}, {true, false}, {false, true}, {true, true}} : plain;
    add_operation(
        all, type, "add", 2, any, whole,
        [](const RealFormat& f, Way way, Bits a, Bits b, Bits) { return real_add(f, way, a, b); });
    add_operation(all, type, "sub", 2, any, whole,
                  [](const RealFormat& f, Way way, Bits a, Bits b, Bits) {
                      return real_subtract(f, way, a, b);
                  });
    add_operation(all, type, "mul", 2, any, whole,
                  [](const RealFormat& f, Way way, Bits a, Bits b, Bits) {
                      return real_multiply(f, way, a, b);
                  });
    const auto fma = [](const RealFormat& f, Way way, Bits a, Bits b, Bits c) {
        return real_fma(f, way, a, b, c);
    };
    add_operation(all, type, "fma", 3, directed, whole, fma);
    add_operation(all, type, "mad", 3, directed, whole, fma);
    add_operation(all, type, "div", 2, directed, flushed,
                  [](const RealFormat& f, Way way, Bits a, Bits b, Bits) {
                      return real_divide(f, way, a, b);
                  });
    add_operation(
        all, type, "sqrt", 1, directed, flushed,
        [](const RealFormat& f, Way way, Bits a, Bits, Bits) { return real_root(f, way, a); });
    add_operation(all, type, "rcp", 1, directed, flushed,
                  [](const RealFormat& f, Way way, Bits a, Bits, Bits) {
                      return real_divide(f, way, f.one(), a);
                  });
}

void add_extremes(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    const bool single = type == "f32";
    const std::vector<RealModifiers> flushed =
        single ? std::vector<RealModifiers>{{}, {true, false}} : std::vector<RealModifiers>{{}};
    const std::vector<Mode> once{{"", Way::rn}};
    for (const bool least : {true, false}) {
        const auto pick = [&f, least](Bits a, Bits b, bool nan) {
            return least ? real_min(f, a, b, nan) : real_max(f, a, b, nan);
        };
        const std::string name = least ? "min" : "max";
        add_operation(all, type, name, 2, once, flushed,
                      [least](const RealFormat& format, Way, Bits a, Bits b, Bits) {
                          return least ? real_min(format, a, b) : real_max(format, a, b);
                      });
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
    // The sign comes from the first source.
    all.push_back(compared(Form{"copysign." + type, one + " " + type, [&f](Bits a, Bits b, Bits) {
                                    return (a & f.sign()) | (b & ~f.sign());
                                }}));
}

/// Products and sums slightly below the least normal number; some of them round up to it in 24
/// bits.
void add_tiny(Comparisons& all) {
    const auto times = [](Bits constant) {
        return [=](const RealFormat& f, Way way, Bits a, Bits, Bits) {
            return real_multiply(f, way, a, real_convert(f, Way::rn, f32_format, constant));
        };
    };
    const auto less = [](Bits constant) {
        return [=](const RealFormat& f, Way way, Bits a, Bits, Bits) {
            return real_fma(f, way, a, real_convert(f, Way::rn, f32_format, constant), a);
        };
    };
    for (const Mode& mode : modes()) {
        const std::string product = "mul" + mode.text + ".ftz.f32";
        const std::string sum = "fma" + mode.text + ".ftz.f32";
        // 0x800001 times the first constant is 2^-126 - 2^-172. The loop after this one computes
        // 0x800000 times 1 - 2^-30 and the like with fma.
        for (const u32 constant : {0x3f7ffffeu, 0xbf7ffffeu, 0x3f7ffffdu}) {
            const Operation f = times(constant);
            all.push_back(compared(
                Form{product, "f32 f32",
                     [=](Bits a, Bits, Bits) { return flushed(f, mode.way, a | 1, 0, 0); },
                     fmt::format("or.b32 a, a, 1; {} d, a, 0f{:08X};", product, constant)}));
        }
        for (const u32 constant : {0xb0800000u, 0xb3800000u, 0xb4000000u}) {
            const Operation f = less(constant);
            all.push_back(compared(Form{
                sum, "f32 f32", [=](Bits a, Bits, Bits) { return flushed(f, mode.way, a, 0, 0); },
                fmt::format("{} d, a, 0f{:08X}, a;", sum, constant)}));
        }
    }
}

}  // namespace

static Comparisons real_family() {
    Comparisons all;
    for (const std::string type : {"f32", "f64"}) {
        add_arithmetic(all, type);
        add_extremes(all, type);
        add_signs(all, type);
    }
    add_tiny(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: f32 and f64 arithmetic rounds like its exact reference", real_family)

}  // namespace lode::emulator::exec::testing
