// The .approx family. PTX documents error bounds from 1 unit in the last place (rcp) to a relative
// 2^-11 (tanh). The executor promises less error than any of them: 1 unit, or 2 for a quotient.
// Results for zeros, denormals, infinities and NaN are documented and exact.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <cmath>

namespace lode::emulator::exec::testing {

namespace {

using Function = double (*)(double);

double value_of_format(const RealFormat& format, Bits a) {
    return value_of<double>(real_convert(f64_format, Way::rn, format, a));
}
Bits nearest_in(const RealFormat& format, double a) {
    return real_convert(format, Way::rn, f64_format, bits_of_value(a));
}

/// Accepts a difference of at most `units` codes of the format.
Accepts within(const RealFormat& format, i64 units) {
    return [&format, units](Bits got, Bits want) {
        if (is_nan(format, got) || is_nan(format, want)) return false;
        const auto place = [&](Bits a) {
            const auto code = static_cast<i128>(a & (format.sign() - 1));
            return (a & format.sign()) != 0 ? -code : code;
        };
        const i128 apart = place(got) - place(want);
        return apart != 0 && apart <= units && -apart <= units;
    };
}
Accepts each_half(const Accepts& accepts) {
    return [accepts](Bits got, Bits want) {
        const auto fine = [&](Bits g, Bits w) { return g == w || accepts(g, w); };
        return fine(got & 0xffff, want & 0xffff) && fine(got >> 16, want >> 16);
    };
}

Bits applied(const RealFormat& format, Function f, bool ftz, Bits a) {
    if (ftz) a = flush(format, a);
    if (is_nan(format, a)) return format.nan;
    const Bits result = nearest_in(format, f(value_of_format(format, a)));
    return ftz ? flush(format, result) : result;
}

/// Accepts an absolute difference of at most `most`.
Accepts within_absolute(double most) {
    return [most](Bits got, Bits want) {
        const auto real = [](Bits a) { return static_cast<double>(value_of<float>(a)); };
        return std::fabs(real(got) - real(want)) <= most;
    };
}
Accepts either(const Accepts& one, const Accepts& other) {
    return [=](Bits got, Bits want) { return one(got, want) || other(got, want); };
}

/// sin and cos. PTX bounds the error within one turn around zero, the executor up to 2^24.
/// Arguments beyond the limit are replaced by infinity.
void add_periodic(Comparisons& all, const std::string& opcode, bool ftz, Function f) {
    struct Range {
        float limit;
        const char* text;
        Accepts on_device;
    };
    const Range ranges[] = {
        {0x1p24f, "0f4B800000", [](Bits got, Bits) { return !is_nan(f32_format, got); }},
        {0x1.921fb6p2f, "0f40C90FDB", within_absolute(0x1p-20)}};
    for (const Range& range : ranges) {
        const std::string tame = std::string("abs.f32 d, a; setp.gt.f32 p, d, ") + range.text +
                                 "; @p mov.b32 a, 0x7f800000; ";
        all.push_back(
            compared(Form{opcode, "f32 f32",
                          [=, limit = range.limit](Bits a, Bits, Bits) {
                              const bool far = std::fabs(value_of<float>(a)) > limit;
                              return applied(f32_format, f, ftz, far ? 0x7f800000 : a);
                          },
                          tame + opcode + " d, a;", within(f32_format, 1), range.on_device}));
    }
}

void add_single(Comparisons& all) {
    struct Row {
        const char* name;
        Function f;
        Accepts on_device;
    };
    const Row rows[] = {
        {"rcp.approx", [](double a) { return 1 / a; }, within(f32_format, 1)},
        {"sqrt.approx", [](double a) { return std::sqrt(a); }, within(f32_format, 3)},
        {"rsqrt.approx", [](double a) { return 1 / std::sqrt(a); }, within(f32_format, 3)},
        {"ex2.approx", [](double a) { return std::exp2(a); }, within(f32_format, 3)},
        {"lg2.approx", [](double a) { return std::log2(a); },
         either(within(f32_format, 5), within_absolute(0x1p-22))},
        {"tanh.approx", [](double a) { return std::tanh(a); }, within(f32_format, 1 << 13)},
    };
    for (const bool ftz : {false, true}) {
        const std::string tail = ftz ? ".ftz.f32" : ".f32";
        for (const Row& row : rows) {
            const std::string opcode = row.name + tail;
            if (opcode == "tanh.approx.ftz.f32") continue;
            all.push_back(compared(Form{
                opcode,
                "f32 f32",
                [f = row.f, ftz](Bits a, Bits, Bits) { return applied(f32_format, f, ftz, a); },
                {},
                within(f32_format, 1),
                row.on_device}));
        }
        add_periodic(all, "sin.approx" + tail, ftz, [](double a) { return std::sin(a); });
        add_periodic(all, "cos.approx" + tail, ftz, [](double a) { return std::cos(a); });
    }
}

void add_quotients(Comparisons& all) {
    for (const std::string name : {"div.approx", "div.full"}) {
        for (const bool ftz : {false, true}) {
            const std::string opcode = name + (ftz ? ".ftz.f32" : ".f32");
            // div.approx makes 0 or NaN of finite divisors beyond 2^126. For div.full, 1 replaces
            // them: its results may be denormals, about which PTX says nothing.
            const bool is_full = name == "div.full";
            const std::string tame =
                is_full ? "abs.f32 d, b; setp.gt.f32 p, d, 0f7E800000; @p mov.b32 b, 0x3f800000; "
                        : "";
            all.push_back(compared(
                Form{opcode, "f32 f32 f32",
                     [=](Bits a, Bits b, Bits) {
                         const Bits size = b & 0x7fff'ffff;
                         if (is_full && size > 0x7e800000 && size <= 0x7f800000) b = 0x3f800000;
                         const auto get = [&](Bits x) { return ftz ? flush(f32_format, x) : x; };
                         if (!is_full && size > 0x7e800000 && size < 0x7f800000)
                             return real_multiply(f32_format, Way::rn, get(a), b & 0x8000'0000);
                         return get(real_divide(f32_format, Way::rn, get(a), get(b)));
                     },
                     tame + opcode + " d, a, b;", within(f32_format, 2)}));
        }
    }
}

/// The approximations of f64 read the upper half of their source and write the upper half of the
/// result.
void add_double(Comparisons& all) {
    static constexpr Bits upper = 0xffff'ffff'0000'0000;
    constexpr std::pair<const char*, Function> rows[] = {
        {"rcp.approx.ftz.f64", [](double a) { return 1 / a; }},
        {"rsqrt.approx.ftz.f64", [](double a) { return 1 / std::sqrt(a); }},
    };
    for (const auto& [opcode, f] : rows) {
        all.push_back(compared(Form{opcode,
                                    "f64 f64",
                                    [f = f](Bits a, Bits, Bits) {
                                        // A NaN may have its only fraction bit in the lower half.
                                        if (is_nan(f64_format, a)) return f64_format.nan;
                                        return applied(f64_format, f, true, a & upper);
                                    },
                                    {},
                                    [](Bits got, Bits want) {
                                        if (any_nan(f64_format)(got, want)) return true;
                                        const bool coarse = (got & ~upper) == 0;
                                        return coarse &&
                                               within(f64_format, i64{1} << 33)(got, want);
                                    }}));
    }
    all.push_back(
        compared(Form{"rsqrt.approx.f64",
                      "f64 f64",
                      [](Bits a, Bits, Bits) {
                          return applied(
                              f64_format, [](double x) { return 1 / std::sqrt(x); }, false, a);
                      },
                      {},
                      [](Bits got, Bits want) {
                          return any_nan(f64_format)(got, want) || within(f64_format, 1)(got, want);
                      }}));
}

void add_halves(Comparisons& all) {
    struct Row {
        const char* head;
        const char* type;
        Function f;
        bool ftz;
    };
    static constexpr Row rows[] = {
        {"ex2.approx.", "f16", [](double a) { return std::exp2(a); }, false},
        {"ex2.approx.ftz.", "bf16", [](double a) { return std::exp2(a); }, true},
        {"tanh.approx.", "f16", [](double a) { return std::tanh(a); }, false},
        {"tanh.approx.", "bf16", [](double a) { return std::tanh(a); }, false},
    };
    for (const Row& row : rows) {
        const RealFormat& format = format_named(row.type);
        const std::string type = row.type;
        const auto one = [&row, &format](Bits a) { return applied(format, row.f, row.ftz, a); };
        all.push_back(compared(Form{row.head + type,
                                    type + " " + type,
                                    [one](Bits a, Bits, Bits) { return one(a); },
                                    {},
                                    within(format, 1)}));
        all.push_back(compared(
            Form{row.head + type + "x2",
                 type + "x2 " + type + "x2",
                 [one](Bits a, Bits, Bits) { return one(a & 0xffff) | (one(a >> 16) << 16); },
                 {},
                 each_half(within(format, 1))}));
    }
}

}  // namespace

static Comparisons approx_family() {
    Comparisons all;
    add_single(all);
    add_quotients(all);
    add_double(all);
    add_halves(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: approximate instructions are within a unit or two in the last place",
                   approx_family)

}  // namespace lode::emulator::exec::testing
