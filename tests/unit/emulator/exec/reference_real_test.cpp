// Checks the exact reference against the host's arithmetic, and that comparisons detect wrong
// values.
#include "tests/unit/emulator/exec/reference_real.hpp"

#include <cfenv>
#include <cmath>

namespace lode::emulator::exec::testing {

namespace {

constexpr std::pair<Way, int> host_ways[] = {{Way::rn, FE_TONEAREST},
                                             {Way::rz, FE_TOWARDZERO},
                                             {Way::rm, FE_DOWNWARD},
                                             {Way::rp, FE_UPWARD}};

class HostRounding {
public:
    explicit HostRounding(int mode) { std::fesetround(mode); }
    ~HostRounding() { std::fesetround(FE_TONEAREST); }
    HostRounding(const HostRounding&) = delete;
    HostRounding& operator=(const HostRounding&) = delete;
};

/// Volatile sources keep the compiler from evaluating the result before the rounding mode is set.
template <class T, class F>
Bits on_host(int mode, Bits a, Bits b, Bits c, F f) {
    volatile T x = value_of<T>(a);
    volatile T y = value_of<T>(b);
    volatile T z = value_of<T>(c);
    const HostRounding rounding(mode);
    volatile T result = f(x, y, z);
    return bits_of_value<T>(result);
}

template <class T, class Host, class Exact>
void agree(std::string_view type, Host host, Exact exact) {
    const RealFormat& format = format_named(type);
    const auto all = values(type, 40);
    for (const auto& host_way : host_ways) {
        const auto [way, mode] = host_way;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t k = 0; k < all.size(); ++k) {
                const Bits a = all[i];
                const Bits b = all[k];
                const Bits c = all[(i + 7 * k) % all.size()];
                const Bits want = on_host<T>(mode, a, b, c, host);
                const Bits got = exact(format, way, a, b, c);
                INFO(type, " ", a, " ", b, " ", c, " mode ", host_way.second);
                if (is_nan(format, want)) {
                    CHECK(got == format.nan);
                } else {
                    CHECK(got == want);
                }
            }
        }
    }
}

template <class T>
void agree_on_everything(std::string_view type) {
    agree<T>(
        type, [](T a, T b, T) { return a + b; },
        [](const RealFormat& f, Way w, Bits a, Bits b, Bits) { return real_add(f, w, a, b); });
    agree<T>(
        type, [](T a, T b, T) { return a - b; },
        [](const RealFormat& f, Way w, Bits a, Bits b, Bits) { return real_subtract(f, w, a, b); });
    agree<T>(
        type, [](T a, T b, T) { return a * b; },
        [](const RealFormat& f, Way w, Bits a, Bits b, Bits) { return real_multiply(f, w, a, b); });
    agree<T>(
        type, [](T a, T b, T) { return a / b; },
        [](const RealFormat& f, Way w, Bits a, Bits b, Bits) { return real_divide(f, w, a, b); });
    agree<T>(
        type, [](T a, T b, T c) { return std::fma(a, b, c); },
        [](const RealFormat& f, Way w, Bits a, Bits b, Bits c) { return real_fma(f, w, a, b, c); });
    agree<T>(
        type, [](T a, T, T) { return std::sqrt(a); },
        [](const RealFormat& f, Way w, Bits a, Bits, Bits) { return real_root(f, w, a); });
}

}  // namespace

TEST_CASE("reference: exact arithmetic agrees with the host in every rounding") {
    agree_on_everything<float>("f32");
    agree_on_everything<double>("f64");
}

TEST_CASE("reference: conversions handle halves, ties and overflow") {
    const auto to = [](const RealFormat& format, double a, Way way = Way::rn, bool finite = false) {
        return real_convert(format, way, f64_format, bits_of_value(a), finite);
    };
    CHECK(to(f16_format, 1.0) == 0x3c00);
    CHECK(to(f16_format, 1 + 0x1p-11) == 0x3c00);
    CHECK(to(f16_format, 1 + 3 * 0x1p-11) == 0x3c02);
    CHECK(to(f16_format, 1 + 0x1p-11 + 0x1p-40) == 0x3c01);
    CHECK(to(f16_format, 65519.0) == 0x7bff);
    CHECK(to(f16_format, 65520.0) == 0x7c00);
    CHECK(to(f16_format, 65520.0, Way::rz) == 0x7bff);
    CHECK(to(f16_format, 0x1p-25) == 0);
    CHECK(to(f16_format, 0x1.8p-25) == 1);
    CHECK(to(f16_format, -0x1p-30, Way::rm) == 0x8001);
    CHECK(to(e4m3_format, 448.0, Way::rn, true) == 0x7e);
    CHECK(to(e4m3_format, 1e9, Way::rn, true) == 0x7e);
    CHECK(to(e5m2_format, -1e9, Way::rn, true) == 0xfb);
    CHECK(to(e2m1_format, 5.0, Way::rn, true) == 6);
    CHECK(to(tf32_format, 1 + 0x1p-11, Way::rna) == ((127u << 10) | 1));
    CHECK(integer_of_real(f32_format, Way::rz, 0xc1a40000, 8, false) == 0);
    CHECK(integer_of_real(f32_format, Way::rn, 0x40200000, 32, true) == 2);
    CHECK(integer_of_real(f32_format, Way::rp, 0x40200000, 32, true) == 3);
    CHECK(integer_of_real(f32_format, Way::rz, 0x4f000000, 32, true) == 0x7fffffff);
}

TEST_CASE("reference: a comparison finds one wrong bit, in a form and in a scene") {
    std::string why;
    const auto bench = make_bench(why);
    const auto sum = [](Bits a, Bits b, Bits) { return a + b; };
    CHECK(compared(Form{"add.u32", "u32 u32 u32", sum}).difference(*bench).empty());
    const auto slip = [=](Bits a, Bits b, Bits c) {
        return sum(a, b, c) ^ Bits { a == 0x80000000 && b == 0xffffffff };
    };
    const std::string wrong = compared(Form{"add.u32", "u32 u32 u32", slip}).difference(*bench);
    CHECK(wrong.find("add.u32 d, a, b; of 0x80000000, 0xffffffff") == 0);
    CHECK(!compared(Form{"add.nonsense", "u32 u32 u32", sum}).difference(*bench).empty());

    const std::string copy = "ld.global.u64 %d2, [%in+8];\nst.global.u64 [%out], %d2;\n";
    const auto copied = [](Rows& in, Rows& out) {
        for (std::size_t i = 0; i < in.size(); ++i)
            out[i][0] = in[i][1];
    };
    CHECK(compared(Scene{"st.global.u64", copy, copied}).difference(*bench).empty());
    const auto forgets = [=](Rows& in, Rows& out) {
        const u64 before = out[63][0];
        copied(in, out);
        out[63][0] = before;
    };
    CHECK(!compared(Scene{"st.global.u64", copy, forgets}).difference(*bench).empty());
    const auto extra = [=](Rows& in, Rows& out) {
        copied(in, out);
        in[5][7] ^= 1;
    };
    CHECK(!compared(Scene{"st.global.u64", copy, extra}).difference(*bench).empty());
    Scene faulty{"st.global.u64", copy, copied};
    faulty.fault = Fault::launch_failed;
    CHECK(!compared(faulty).difference(*bench).empty());
}

}  // namespace lode::emulator::exec::testing
