#include "tests/unit/emulator/exec/opcode_support.hpp"

#include <cmath>

namespace lode::emulator::testing {

namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

float flush(float a) {
    return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a;
}
float one_nan(float a) {
    return std::isnan(a) ? value_of<float>(0x7fffffff) : a;
}

template <class T>
T lesser(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}
template <class T>
T greater(T a, T b) {
    return -lesser(-a, -b);
}

/// Of plain float arithmetic: one NaN.
template <class F>
Reference single(F f) {
    if constexpr (std::is_invocable_v<F, float, float, float>) {
        return on<float>([f](float a, float b, float c) { return one_nan(f(a, b, c)); });
    } else if constexpr (std::is_invocable_v<F, float, float>) {
        return on<float>([f](float a, float b) { return one_nan(f(a, b)); });
    } else {
        return on<float>([f](float a) { return one_nan(f(a)); });
    }
}

/// A double rounded towards `way`: -1 down, 0 zero, 1 up.
float directed(double exact, int way) {
    const auto near = static_cast<float>(exact);
    if (std::isnan(exact) || double{near} == exact) return one_nan(near);
    const bool lower = way < 0 || (way == 0 && exact > 0);
    if (lower) return double{near} > exact ? std::nextafter(near, -INFINITY) : near;
    return double{near} < exact ? std::nextafter(near, INFINITY) : near;
}

template <class D, class S>
D clamped(S value) {
    constexpr bool wide = sizeof(D) == 8 || sizeof(S) == 8;
    if (std::isnan(value)) return wide ? static_cast<D>(u64{1} << (8 * sizeof(D) - 1)) : D{0};
    if (value <= static_cast<S>(std::numeric_limits<D>::min()))
        return std::numeric_limits<D>::min();
    if (value >= static_cast<S>(std::numeric_limits<D>::max()))
        return std::numeric_limits<D>::max();
    return static_cast<D>(value);
}

}  // namespace

TEST_CASE("opcode: f32 arithmetic equals the reference at the edges") {
    check_form({"add.f32 d, a, b;", "f32 f32 f32", single([](float a, float b) { return a + b; })});
    check_form(
        {"sub.rn.f32 d, a, b;", "f32 f32 f32", single([](float a, float b) { return a - b; })});
    check_form({"mul.f32 d, a, b;", "f32 f32 f32", single([](float a, float b) { return a * b; })});
    check_form({"fma.rn.f32 d, a, b, c;", "f32 f32 f32 f32",
                single([](float a, float b, float c) { return std::fma(a, b, c); })});
    check_form(
        {"div.rn.f32 d, a, b;", "f32 f32 f32", single([](float a, float b) { return a / b; })});
    check_form({"sqrt.rn.f32 d, a;", "f32 f32", single([](float a) { return std::sqrt(a); })});
    check_form({"rcp.rn.f32 d, a;", "f32 f32", single([](float a) { return 1.0f / a; })});
    check_form(
        {"min.f32 d, a, b;", "f32 f32 f32", single([](float a, float b) { return lesser(a, b); })});
    check_form({"max.f32 d, a, b;", "f32 f32 f32",
                single([](float a, float b) { return greater(a, b); })});
    check_form({"neg.f32 d, a;", "f32 f32", on<u32>([](u32 a) { return a ^ 0x80000000; })});
    check_form({"abs.f32 d, a;", "f32 f32", on<u32>([](u32 a) { return a & 0x7fffffff; })});
    check_form({"copysign.f32 d, a, b;", "f32 f32 f32",
                on<u32>([](u32 a, u32 b) { return (a & 0x80000000) | (b & 0x7fffffff); })});
    check_form({"add.ftz.f32 d, a, b;", "f32 f32 f32",
                single([](float a, float b) { return flush(flush(a) + flush(b)); })});
    check_form({"mul.ftz.f32 d, a, b;", "f32 f32 f32",
                single([](float a, float b) { return flush(flush(a) * flush(b)); })});
    check_form(
        {"fma.rn.ftz.f32 d, a, b, c;", "f32 f32 f32 f32", single([](float a, float b, float c) {
             return flush(std::fma(flush(a), flush(b), flush(c)));
         })});
    check_form({"add.sat.f32 d, a, b;", "f32 f32 f32", on<float>([](float a, float b) {
                    const float sum = a + b;
                    return sum >= 1 ? 1.0f : (sum > 0 ? sum : 0.0f);
                })});
}

TEST_CASE("opcode: directed rounding differs from nearest where it should") {
    const auto product = [](int way) {
        return on<float>([way](float a, float b) {
            const double exact = double{a} * b;
            // Infinite and subnormal results round at another place than nextafter's neighbours.
            return directed(exact, way);
        });
    };
    check_form({"mul.rz.f32 d, a, b;", "f32 f32 f32", product(0)});
    check_form({"mul.rm.f32 d, a, b;", "f32 f32 f32", product(-1)});
    check_form({"mul.rp.f32 d, a, b;", "f32 f32 f32", product(1)});
    check_form(
        {"cvt.rz.f32.f64 d, a;", "f32 f64", on<double>([](double a) { return directed(a, 0); })});
    check_form(
        {"cvt.rp.f32.f64 d, a;", "f32 f64", on<double>([](double a) { return directed(a, 1); })});
    check_form({"cvt.rz.f32.s32 d, a;", "f32 s32", on<i32>([](i32 a) { return directed(a, 0); })});
    check_form({"cvt.rm.f32.u32 d, a;", "f32 u32", on<u32>([](u32 a) { return directed(a, -1); })});
}

TEST_CASE("opcode: f64 arithmetic equals the reference at the edges") {
    const auto same_nan = [](auto f) {
        return on<double>([f](double a, double b) { return f(a, b); });
    };
    check_form({"add.f64 d, a, b; setp.nan.f64 p, d, d; selp.f64 d, 0d7ff8000000000000, d, p;",
                "f64 f64 f64", same_nan([](double a, double b) {
                    return std::isnan(a + b) ? value_of<double>(0x7ff8000000000000) : a + b;
                })});
    check_form({"mul.rn.f64 d, a, b; setp.nan.f64 p, d, d; selp.f64 d, 0d7ff8000000000000, d, p;",
                "f64 f64 f64", same_nan([](double a, double b) {
                    return std::isnan(a * b) ? value_of<double>(0x7ff8000000000000) : a * b;
                })});
    check_form({"div.rn.f64 d, a, b; setp.nan.f64 p, d, d; selp.f64 d, 0d7ff8000000000000, d, p;",
                "f64 f64 f64", same_nan([](double a, double b) {
                    return std::isnan(a / b) ? value_of<double>(0x7ff8000000000000) : a / b;
                })});
    check_form({"neg.f64 d, a;", "f64 f64", on<u64>([](u64 a) { return a ^ (u64{1} << 63); })});
}

TEST_CASE("opcode: comparisons of reals know unordered operands") {
    const std::pair<const char*, bool (*)(float, float)> all[] = {
        {"eq", [](float a, float b) { return a == b; }},
        {"ne", [](float a, float b) { return a < b || a > b; }},
        {"lt", [](float a, float b) { return a < b; }},
        {"le", [](float a, float b) { return a <= b; }},
        {"gt", [](float a, float b) { return a > b; }},
        {"ge", [](float a, float b) { return a >= b; }},
        {"equ", [](float a, float b) { return !(a < b || a > b); }},
        {"neu", [](float a, float b) { return !(a == b); }},
        {"ltu", [](float a, float b) { return !(a >= b); }},
        {"leu", [](float a, float b) { return !(a > b); }},
        {"gtu", [](float a, float b) { return !(a <= b); }},
        {"geu", [](float a, float b) { return !(a < b); }},
        {"num", [](float a, float b) { return !std::isnan(a) && !std::isnan(b); }},
        {"nan", [](float a, float b) { return std::isnan(a) || std::isnan(b); }},
    };
    for (const auto& [name, holds] : all) {
        const auto f = holds;
        check_form({std::string("setp.") + name + ".f32 p, a, b; selp.b32 d, 1, 0, p;",
                    "b32 f32 f32", on<float>([f](float a, float b) { return f(a, b) ? 1 : 0; })});
        check_form({std::string("setp.") + name + ".f64 p, a, b; selp.b32 d, 1, 0, p;",
                    "b32 f64 f64", on<double>([f](double a, double b) {
                        const auto narrow = [](double v) { return static_cast<float>(v); };
                        // The edges differ by more than a float's rounding unless they are tiny.
                        if (std::isnan(a) || std::isnan(b)) return f(narrow(a), narrow(b)) ? 1 : 0;
                        return f(a < b ? 0.0f : (a > b ? 2.0f : 1.0f), 1.0f) ? 1 : 0;
                    })});
        check_form({std::string("set.") + name + ".f32.f32 d, a, b;", "f32 f32 f32",
                    on<float>([f](float a, float b) { return f(a, b) ? 1.0f : 0.0f; })});
    }
}

TEST_CASE("opcode: reals become integers by clamping, NaN by its rule") {
    check_form({"cvt.rzi.s32.f32 d, a;", "s32 f32",
                on<float>([](float a) { return clamped<i32>(std::trunc(a)); })});
    check_form({"cvt.rni.s32.f32 d, a;", "s32 f32",
                on<float>([](float a) { return clamped<i32>(std::rint(a)); })});
    check_form({"cvt.rmi.s32.f32 d, a;", "s32 f32",
                on<float>([](float a) { return clamped<i32>(std::floor(a)); })});
    check_form({"cvt.rpi.s32.f32 d, a;", "s32 f32",
                on<float>([](float a) { return clamped<i32>(std::ceil(a)); })});
    check_form({"cvt.rzi.u32.f32 d, a;", "u32 f32",
                on<float>([](float a) { return clamped<u32>(std::trunc(a)); })});
    check_form({"cvt.rzi.s64.f32 d, a;", "s64 f32",
                on<float>([](float a) { return clamped<i64>(std::trunc(a)); })});
    check_form({"cvt.rzi.u64.f64 d, a;", "u64 f64",
                on<double>([](double a) { return clamped<u64>(std::trunc(a)); })});
    check_form({"cvt.rni.s32.f64 d, a;", "s32 f64",
                on<double>([](double a) { return clamped<i32>(std::rint(a)); })});
    check_form(
        {"cvt.rn.f32.s32 d, a;", "f32 s32", on<i32>([](i32 a) { return static_cast<float>(a); })});
    check_form(
        {"cvt.rn.f32.u64 d, a;", "f32 u64", on<u64>([](u64 a) { return static_cast<float>(a); })});
    check_form(
        {"cvt.rn.f64.s64 d, a;", "f64 s64", on<i64>([](i64 a) { return static_cast<double>(a); })});
    check_form({"cvt.rni.f32.f32 d, a;", "f32 f32", single([](float a) { return std::rint(a); })});
    check_form({"cvt.sat.f32.f32 d, a;", "f32 f32",
                on<float>([](float a) { return a >= 1 ? 1.0f : (a > 0 ? a : 0.0f); })});
    check_form({"cvt.rn.f32.f64 d, a;", "f32 f64",
                on<double>([](double a) { return one_nan(static_cast<float>(a)); })});
    check_form({"cvt.f64.f32 d, a; setp.nan.f64 p, d, d; selp.f64 d, 0d0000000000000000, d, p;",
                "f64 f32", on<float>([](float a) { return std::isnan(a) ? 0.0 : double{a}; })});
}

TEST_CASE("opcode: the approximate family is within its documented error") {
    const std::pair<const char*, double (*)(double)> all[] = {
        {"rcp.approx.f32", [](double a) { return 1 / a; }},
        {"sqrt.approx.f32", [](double a) { return std::sqrt(a); }},
        {"rsqrt.approx.f32", [](double a) { return 1 / std::sqrt(a); }},
        {"ex2.approx.f32", [](double a) { return std::exp2(a); }},
        {"lg2.approx.f32", [](double a) { return std::log2(a); }},
        {"sin.approx.f32", [](double a) { return std::sin(a); }},
        {"cos.approx.f32", [](double a) { return std::cos(a); }},
        {"tanh.approx.f32", [](double a) { return std::tanh(a); }},
    };
    for (const auto& [name, f] : all) {
        // The host's value, correctly rounded up to the last bit; nothing worse is accepted.
        Rig rig;
        const auto module = rig.load(ptx_kernel(
            ".param .u64 in, .param .u64 out",
            std::string("mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd1, [in];"
                        "ld.param.u64 %rd2, [out]; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, "
                        "%rd3; ld.global.f32 %f1, [%rd1]; ") +
                name + " %f2, %f1; st.global.f32 [%rd2], %f2;"));
        std::vector<float> in;
        corpus::Random random(3);
        for (int k = 0; k < 512; ++k) {
            in.push_back(static_cast<float>(random.real(0.001, 20) * (k % 2 == 0 ? 1 : 0.01)));
        }
        const auto from = rig.put(in);
        const auto to = rig.put(std::vector<float>(512));
        REQUIRE(rig.run(*module, "k", {1}, {512}, from, to).fault == Fault::none);
        const auto got = rig.get<float>(to, 512);
        for (std::size_t k = 0; k < got.size(); ++k) {
            const double want = f(in[k]);
            INFO(name, " of ", in[k]);
            REQUIRE(std::fabs(double{got[k]} - want) <= std::fabs(want) * 6.0e-8 + 1e-12);
        }
    }
}

TEST_CASE("opcode: halves round once") {
    const auto half = [](Bits bits) { return static_cast<double>(value_of<_Float16>(bits)); };
    const auto code = [](double v) { return bits_of_value(static_cast<_Float16>(v)); };
    const auto finite = [](double v) { return std::isfinite(v); };
    const auto usual = [=](auto f) {
        return [=](Bits a, Bits b, Bits c) {
            const double exact = f(half(a), half(b), half(c));
            if (!finite(exact)) return std::isnan(exact) ? Bits{0x7fff} : code(exact);
            return code(exact);
        };
    };
    check_form({"add.f16 d, a, b;", "f16 f16 f16",
                usual([](double a, double b, double) { return a + b; })});
    check_form({"mul.f16 d, a, b;", "f16 f16 f16",
                usual([](double a, double b, double) { return a * b; })});
    check_form({"fma.rn.f16 d, a, b, c;", "f16 f16 f16 f16",
                usual([](double a, double b, double c) { return a * b + c; })});
    check_form({"cvt.rn.f16.f64 d, a;", "f16 f64", [=](Bits a, Bits, Bits) {
                    const double v = value_of<double>(a);
                    return std::isnan(v) ? Bits{0x7fff} : code(v);
                }});
    // 1 + 2^-11 + 2^-40: rounding by way of f32 would tie to even and lose the last term.
    check_form({"mov.b64 a, 0d3FF0020000001000; cvt.rn.f16.f64 d, a;", "f16 f64",
                [](Bits, Bits, Bits) { return Bits{0x3c01}; }});
}

}  // namespace lode::emulator::testing
