// f16 and bf16, single and in pairs: every result is rounded once.
#include "tests/unit/emulator/exec/reference_real.hpp"

namespace lode::emulator::exec::testing {

namespace {

struct HalfModifiers {
    std::string text;
    bool ftz = false, sat = false, relu = false;
};

Bits finished(const RealFormat& f, const HalfModifiers& m, Bits a) {
    if (m.ftz) a = flush(f, a);
    if (m.sat) a = saturate(f, a);
    // A negative number becomes +0; a NaN stays a NaN.
    if (m.relu && !is_nan(f, a) && (a & f.sign()) != 0) a = 0;
    return a;
}

using HalfOperation = std::function<Bits(Bits, Bits, Bits)>;

/// Adds the single form and the packed form.
void add_both(Comparisons& all, const std::string& type, const std::string& head, int sources,
              const HalfOperation& one, bool exact_nan = true) {
    const RealFormat& f = format_named(type);
    std::string types = type;
    std::string packed_types = type + "x2";
    for (int k = 0; k < sources; ++k) {
        types += " " + type;
        packed_types += " " + type + "x2";
    }
    const Accepts accepts = exact_nan ? Accepts{} : any_nan(f);
    all.push_back(compared(Form{head + "." + type, types, one, {}, accepts}));
    const Accepts accepts_both = [accepts](Bits got, Bits want) {
        const auto fine = [&](Bits g, Bits w) { return g == w || (accepts && accepts(g, w)); };
        return fine(got & 0xffff, want & 0xffff) && fine(got >> 16, want >> 16);
    };
    all.push_back(compared(Form{head + "." + type + "x2",
                                packed_types,
                                [one](Bits a, Bits b, Bits c) {
                                    const Bits low = one(a & 0xffff, b & 0xffff, c & 0xffff);
                                    return low | (one(a >> 16, b >> 16, c >> 16) << 16);
                                },
                                {},
                                accepts_both}));
}

void add_operation(Comparisons& all, const std::string& type, const std::string& name, int sources,
                   const std::vector<HalfModifiers>& modifiers, const HalfOperation& operation) {
    const RealFormat& f = format_named(type);
    for (const HalfModifiers& m : modifiers) {
        add_both(all, type, name + m.text, sources, [=, &f](Bits a, Bits b, Bits c) {
            const auto get = [&](Bits x) { return m.ftz ? flush(f, x) : x; };
            return finished(f, m, operation(get(a), get(b), get(c)));
        });
    }
}

void add_arithmetic(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    const bool half = type == "f16";
    const std::vector<HalfModifiers> simple =
        half ? std::vector<HalfModifiers>{{"", false, false, false},
                                          {".rn", false, false, false},
                                          {".ftz", true, false, false},
                                          {".sat", false, true, false},
                                          {".rn.ftz.sat", true, true, false}}
             : std::vector<HalfModifiers>{{"", false, false, false}, {".rn", false, false, false}};
    std::vector<HalfModifiers> fused{{".rn", false, false, false},
                                     {".rn.relu", false, false, true}};
    if (half) {
        fused.push_back({".rn.ftz", true, false, false});
        fused.push_back({".rn.sat", false, true, false});
        fused.push_back({".rn.ftz.sat", true, true, false});
        fused.push_back({".rn.ftz.relu", true, false, true});
    }
    add_operation(all, type, "add", 2, simple,
                  [&f](Bits a, Bits b, Bits) { return real_add(f, Way::rn, a, b); });
    add_operation(all, type, "sub", 2, simple,
                  [&f](Bits a, Bits b, Bits) { return real_subtract(f, Way::rn, a, b); });
    add_operation(all, type, "mul", 2, simple,
                  [&f](Bits a, Bits b, Bits) { return real_multiply(f, Way::rn, a, b); });
    add_operation(all, type, "fma", 3, fused,
                  [&f](Bits a, Bits b, Bits c) { return real_fma(f, Way::rn, a, b, c); });
    // A factor that is the NaN of elements outside of a tensor makes the result zero.
    add_operation(all, type, "fma", 3,
                  {{".rn.oob", false, false, false}, {".rn.oob.relu", false, false, true}},
                  [&f](Bits a, Bits b, Bits c) {
                      const auto outside = [](Bits one) { return (one & 0x7fff) == 0x7ff7; };
                      return outside(a) || outside(b) ? Bits{0} : real_fma(f, Way::rn, a, b, c);
                  });
}

void add_extremes(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    for (const bool least : {true, false}) {
        for (const bool ftz : {false, true}) {
            if (ftz && type == "bf16") continue;
            for (const bool nan : {false, true}) {
                const std::string head =
                    std::string(least ? "min" : "max") + (ftz ? ".ftz" : "") + (nan ? ".NaN" : "");
                const auto pick = [=, &f](Bits a, Bits b) {
                    return least ? real_min(f, a, b, nan) : real_max(f, a, b, nan);
                };
                const auto get = [=, &f](Bits a) { return ftz ? flush(f, a) : a; };
                add_both(all, type, head, 2,
                         [=](Bits a, Bits b, Bits) { return pick(get(a), get(b)); });
                add_both(
                    all, type, head + ".xorsign.abs", 2,
                    [=, &f](Bits a, Bits b, Bits) {
                        const Bits size = f.sign() - 1;
                        return pick(get(a) & size, get(b) & size) | ((a ^ b) & f.sign());
                    },
                    false);
            }
        }
    }
}

void add_signs(Comparisons& all, const std::string& type) {
    const RealFormat& f = format_named(type);
    for (const bool ftz : {false, true}) {
        if (ftz && type == "bf16") continue;
        const auto get = [=, &f](Bits a) { return ftz ? flush(f, a) : a; };
        const std::string tail = ftz ? ".ftz" : "";
        add_both(
            all, type, "neg" + tail, 1, [=](Bits a, Bits, Bits) { return get(a) ^ 0x8000; }, false);
        add_both(
            all, type, "abs" + tail, 1, [=](Bits a, Bits, Bits) { return get(a) & 0x7fff; }, false);
    }
}

}  // namespace

static Comparisons half_family() {
    Comparisons all;
    for (const std::string type : {"f16", "bf16"}) {
        add_arithmetic(all, type);
        add_extremes(all, type);
        add_signs(all, type);
    }
    return all;
}

LODE_OPCODE_FAMILY("opcode: f16 and bf16 arithmetic rounds once, alone and in pairs", half_family)

}  // namespace lode::emulator::exec::testing
