// cvt from and to ue8m0x2, the scales of tensor cores, against a reference in logarithms.
#include "tests/unit/emulator/exec/support.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace lode::emulator::exec {

namespace {

using testing::Rig;

enum class Way { down, up };

/// The scale nearest to a number's magnitude in the direction; 255 is NaN.
unsigned scale_of(float a, Way way, bool finite) {
    if (std::isnan(a)) return 255;
    if (std::isinf(a)) return finite ? 254 : 255;
    const double magnitude = std::fabs(double{a});
    if (magnitude <= std::exp2(-127)) return 0;
    int exponent = std::ilogb(magnitude);
    if (way == Way::up && std::exp2(exponent) < magnitude) ++exponent;
    if (exponent > 127) return finite ? 254 : 255;
    return static_cast<unsigned>(exponent + 127);
}

/// Runs an instruction on each pair of words %r1 and %r2; its result is %r3.
std::vector<std::uint32_t> results(const std::string& text, const std::vector<std::uint32_t>& a,
                                   const std::vector<std::uint32_t>& b) {
    Rig rig;
    const auto module = rig.load(
        ".version 8.7\n.target sm_100a\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 d)\n{\n"
        ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .b16 %h<4>;\n"
        "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.u32 %r4, %r4, 256, %r5;\n"
        "mul.wide.u32 %rd4, %r4, 4;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\n"
        "ld.param.u64 %rd3, [d];\nadd.u64 %rd1, %rd1, %rd4;\nadd.u64 %rd2, %rd2, %rd4;\n"
        "add.u64 %rd3, %rd3, %rd4;\nld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd2];\n" +
            text + "\nst.global.u32 [%rd3], %r3;\nret;\n}\n",
        10, 0);
    const Refusal* const refusal = module->refusal("k");
    REQUIRE_MESSAGE(refusal == nullptr, (refusal != nullptr ? refusal->message : ""));
    REQUIRE(a.size() % 256 == 0);
    const std::uint64_t to = rig.put(std::vector<std::uint32_t>(a.size()));
    const LaunchOutcome outcome =
        rig.run(*module, "k", {static_cast<std::uint32_t>(a.size() / 256)}, {256}, rig.put(a),
                rig.put(b), to);
    REQUIRE(outcome.fault == Fault::none);
    return rig.get<std::uint32_t>(to, a.size());
}

float real_of(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}

struct Form {
    const char* words;
    Way way;
    bool finite;
};
constexpr Form forms[] = {{"rz", Way::down, false},
                          {"rz.satfinite", Way::down, true},
                          {"rp", Way::up, false},
                          {"rp.satfinite", Way::up, true}};

/// Numbers around every power of two, zeros, infinities, NaN, and random bits.
std::vector<std::uint32_t> numbers() {
    std::vector<std::uint32_t> made{0, 0x8000'0000, 0x7f80'0000, 0xff80'0000, 0x7fc0'0000, 1};
    for (int exponent = -149; exponent <= 127; ++exponent) {
        const auto power = std::bit_cast<std::uint32_t>(std::ldexp(1.0f, exponent));
        for (const std::uint32_t near : {power - 1, power, power + 1})
            made.insert(made.end(), {near, near | 0x8000'0000});
    }
    std::mt19937 random(2026);
    while (made.size() % 256 != 0 || made.size() < 4096)
        made.push_back(static_cast<std::uint32_t>(random()));
    return made;
}

}  // namespace

TEST_CASE("scales: cvt of two floats to ue8m0x2") {
    const std::vector<std::uint32_t> a = numbers();
    const std::vector<std::uint32_t> b(a.rbegin(), a.rend());
    for (const Form& form : forms) {
        const auto got = results(
            "cvt." + std::string(form.words) + ".ue8m0x2.f32 %h1, %r1, %r2;\ncvt.u32.u16 %r3, %h1;",
            a, b);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
            const unsigned want = scale_of(real_of(a[k]), form.way, form.finite) << 8 |
                                  scale_of(real_of(b[k]), form.way, form.finite);
            wrong += got[k] != want ? 1 : 0;
        }
        CHECK_MESSAGE(wrong == 0, form.words);
    }
}
TEST_CASE("scales: cvt of every bf16 to ue8m0x2") {
    std::vector<std::uint32_t> a(65536);
    for (std::uint32_t k = 0; k < a.size(); ++k)
        a[k] = k << 16 | ((k * 40503 + 7) & 0xffff);
    for (const Form& form : forms) {
        const auto got = results(
            "cvt." + std::string(form.words) + ".ue8m0x2.bf16x2 %h1, %r1;\ncvt.u32.u16 %r3, %h1;",
            a, a);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
            const unsigned want = scale_of(real_of(a[k] & 0xffff'0000), form.way, form.finite)
                                      << 8 |
                                  scale_of(real_of(a[k] << 16), form.way, form.finite);
            wrong += got[k] != want ? 1 : 0;
        }
        CHECK_MESSAGE(wrong == 0, form.words);
    }
}
TEST_CASE("scales: cvt of every ue8m0x2 to bf16x2") {
    std::vector<std::uint32_t> a(65536);
    for (std::uint32_t k = 0; k < a.size(); ++k)
        a[k] = k;
    const auto got = results("cvt.u16.u32 %h1, %r1;\ncvt.rn.bf16x2.ue8m0x2 %r3, %h1;", a, a);
    std::size_t wrong = 0;
    for (std::uint32_t k = 0; k < a.size(); ++k) {
        for (const bool high : {false, true}) {
            const int code = static_cast<int>(high ? k >> 8 : k & 0xff);
            const float value = real_of(high ? got[k] & 0xffff'0000 : got[k] << 16);
            const bool fine = code == 255 ? std::isnan(value) : value == std::exp2(code - 127.0);
            wrong += fine ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}

}  // namespace lode::emulator::exec
