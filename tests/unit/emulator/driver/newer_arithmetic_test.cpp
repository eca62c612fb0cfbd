// Arithmetic and conversions of PTX 9.1 to 9.5.
#include "tests/unit/emulator/driver/newer_ptx.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

using namespace lode::emulator_test;

namespace {

/// Each lane's own word is at %rd2; it loads %b1 from there and %b2 from 32 words further on, and
/// stores %b3 64 words further on.
std::string by_lane(const std::string& instructions) {
    return "mov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
           "ld.global.b32 %b1, [%rd2];\nld.global.b32 %b2, [%rd2+128];\n" +
           instructions + "\nst.global.b32 [%rd2+256], %b3;";
}

}  // namespace

TEST_CASE("emulator PTX 9.2: arithmetic on four bytes and two halves") {
    const Machine machine("sm_107");
    struct Row {
        const char* opcode;
        int bytes, least, most;  ///< An element's size, and its results' bounds, 0 without.
        bool is_signed;
        int (*of)(int, int);
    };
    constexpr auto sum = [](int a, int b) { return a + b; };
    constexpr auto difference = [](int a, int b) { return a - b; };
    constexpr auto least = [](int a, int b) { return a < b ? a : b; };
    constexpr auto most = [](int a, int b) { return a > b ? a : b; };
    constexpr Row rows[] = {{"add.u8x4", 1, 0, 0, false, sum},
                            {"add.s8x4", 1, 0, 0, true, sum},
                            {"add.sat.u8x4", 1, 0, 255, false, sum},
                            {"add.sat.s8x4", 1, -128, 127, true, sum},
                            {"sub.u8x4", 1, 0, 0, false, difference},
                            {"sub.sat.u8x4", 1, 0, 255, false, difference},
                            {"sub.sat.s8x4", 1, -128, 127, true, difference},
                            {"min.u8x4", 1, 0, 0, false, least},
                            {"min.s8x4", 1, 0, 0, true, least},
                            {"min.relu.s8x4", 1, 0, 127, true, least},
                            {"max.u8x4", 1, 0, 0, false, most},
                            {"max.s8x4", 1, 0, 0, true, most},
                            {"max.relu.s8x4", 1, 0, 127, true, most},
                            {"add.sat.u16x2", 2, 0, 65535, false, sum},
                            {"add.sat.s16x2", 2, -32768, 32767, true, sum}};
    std::array<unsigned, 128> given{};
    unsigned state = 1;
    for (unsigned& word : given)
        word = state = state * 1664525U + 1013904223U;
    given[0] = 0x80ff7f00;
    given[32] = 0x80017f00;
    for (const Row& row : rows) {
        CAPTURE(row.opcode);
        std::array<unsigned, 128> words = given;
        REQUIRE(run_newer(newer_ptx(by_lane(std::string(row.opcode) + " %b3, %b1, %b2;"), "9.4",
                                    "sm_107f"),
                          words) == CUDA_SUCCESS);
        const auto element = [&](unsigned word, int k) {
            const auto shifted = static_cast<int>(word << (32 - 8 * row.bytes - k));
            const int spare = 32 - 8 * row.bytes;
            return row.is_signed ? shifted >> spare
                                 : static_cast<int>(static_cast<unsigned>(shifted) >> spare);
        };
        bool same = true;
        for (unsigned lane = 0; lane < 32; ++lane) {
            unsigned want = 0;
            for (int k = 0; k < 32; k += 8 * row.bytes) {
                int value = row.of(element(given[lane], k), element(given[lane + 32], k));
                if (row.most != 0) value = std::clamp(value, row.least, row.most);
                want |= (static_cast<unsigned>(value) & (0xffffffffU >> (32 - 8 * row.bytes))) << k;
            }
            same = same && words[lane + 64] == want;
        }
        CHECK(same);
    }
    std::array<unsigned, 128> words = given;
    REQUIRE(run_newer(newer_ptx(by_lane("neg.s8x4 %b4, %b1;\nadd.s8x4 %b5, %b4, %b1;\n"
                                        "mov.b32 %r2, %b2;\nadd.sat.u32 %r3, %r2, %r2;\n"
                                        "or.b32 %b3, %b5, %r3;"),
                                "9.4", "sm_107f"),
                      words) == CUDA_SUCCESS);
    for (unsigned lane = 0; lane < 32; ++lane)
        CHECK(words[lane + 64] ==
              (given[lane + 32] >> 31 != 0 ? 0xffffffffU : 2 * given[lane + 32]));
}

TEST_CASE("emulator PTX 9.1 and 9.2: conversions between bf16 and narrower numbers") {
    const Machine machine("sm_100");
    struct Row {
        const char* name;
        int exponent, fraction;
        bool has_infinity;
    };
    constexpr Row rows[] = {{"e4m3x2", 4, 3, false},
                            {"e5m2x2", 5, 2, true},
                            {"e2m3x2", 2, 3, false},
                            {"e3m2x2", 3, 2, false},
                            {"e2m1x2", 2, 1, false}};
    constexpr unsigned scales[] = {127, 120, 131, 64};
    for (const Row& row : rows) {
        const std::string name = row.name;
        const bool is_byte = name == "e2m1x2";
        const unsigned bits = static_cast<unsigned>(1 + row.exponent + row.fraction);
        const std::string narrow = is_byte ? "%y1" : "%h1";
        // %b1 has two codes, a byte for each; those of 4 bits are put into one byte.
        const std::string take =
            is_byte ? "shr.u32 %r2, %b1, 4;\nor.b32 %r2, %r2, %b1;\ncvt.u8.u32 %y1, %r2;\n"
                    : "cvt.u16.u32 %h1, %b1;\n";
        for (const unsigned scale : scales) {
            CAPTURE(name);
            CAPTURE(scale);
            const std::string form =
                scale == 127 ? "cvt.rn.bf16x2." + name + " %b3, " + narrow + ";"
                             : "cvt.u16.u32 %h2, %b2;\ncvt.rn.scaled::n2::ue8m0.bf16x2." + name +
                                   " %b3, " + narrow + ", %h2;";
            for (unsigned first = 0; first < 1U << bits; first += 32) {
                std::array<unsigned, 128> words{};
                for (unsigned lane = 0; lane < 32; ++lane) {
                    const unsigned code = (first + lane) & ((1U << bits) - 1);
                    words[lane] = code | (code ^ (1U << (bits - 1))) << 8;
                    words[lane + 32] = scale | (scale - 1) << 8;
                }
                std::array<unsigned, 128> made = words;
                REQUIRE(run_newer(newer_ptx(by_lane(take + form), "9.2", "sm_100f"), made) ==
                        CUDA_SUCCESS);
                bool same = true;
                for (unsigned lane = 0; lane < 32; ++lane) {
                    for (unsigned k = 0; k < 2; ++k) {
                        const int power =
                            static_cast<int>(scale) - 127 - (k == 1 && scale != 127 ? 1 : 0);
                        const float want =
                            std::ldexp(value_of(words[lane] >> (8 * k) & 0xff, row.exponent,
                                                row.fraction, row.has_infinity),
                                       power);
                        const float have = std::bit_cast<float>(made[lane + 64] >> (16 * k) << 16);
                        same = same && (std::isnan(want) ? std::isnan(have) : want == have);
                    }
                }
                CHECK(same);
            }
        }
        // From bf16: the same codes as from the floats, for a wide range of numbers.
        std::array<unsigned, 128> words{};
        for (unsigned lane = 0; lane < 32; ++lane)
            words[lane] = (0x3800 + 97 * lane) << 16 | (0xb400 + 131 * lane);
        const std::string from =
            "cvt.rn.satfinite." + name + ".bf16x2 " + narrow + ", %b1;\n" +
            "and.b32 %b4, %b1, 0xffff0000;\nshl.b32 %b5, %b1, 16;\nmov.b32 %f1, %b4;\n"
            "mov.b32 %f2, %b5;\ncvt.rn.satfinite." +
            name + ".f32 " + (is_byte ? "%y2" : "%h2") + ", %f1, %f2;\n";
        const std::string join = is_byte ? "cvt.u32.u8 %r2, %y1;\ncvt.u32.u8 %r3, %y2;\n"
                                         : "cvt.u32.u16 %r2, %h1;\ncvt.u32.u16 %r3, %h2;\n";
        REQUIRE(
            run_newer(newer_ptx(by_lane(from + join + "xor.b32 %b3, %r2, %r3;"), "9.2", "sm_100f"),
                      words) == CUDA_SUCCESS);
        for (unsigned lane = 0; lane < 32; ++lane)
            CHECK(words[lane + 64] == 0);
    }
}

TEST_CASE("emulator PTX 9.5: sin and cos of cycles") {
    const Machine machine("sm_107");
    const float cycles[] = {0.0F,     -0.0F,   0.125F, 0.25F,   0.5F,   0.75F,      1.0F,
                            -0.0625F, 1000.5F, 0.3F,   -12.34F, 1e-40F, 16777216.0F};
    for (const float cycle : cycles) {
        CAPTURE(cycle);
        std::array<unsigned, 128> words{};
        words[0] = std::bit_cast<unsigned>(cycle);
        REQUIRE(run_newer(newer_ptx("ld.global.f32 %f1, [%rd1];\n"
                                    "sin.approx.ftz.2pi.f32 %f2, %f1;\n"
                                    "cos.approx.ftz.2pi.f32 %f3, %f1;\n"
                                    "st.global.f32 [%rd1+4], %f2;\nst.global.f32 [%rd1+8], %f3;",
                                    "9.5", "sm_107"),
                          words) == CUDA_SUCCESS);
        const double turn = std::remainder(static_cast<double>(cycle), 1.0);
        const double angle = 2 * std::numbers::pi * turn;
        const float sine = std::bit_cast<float>(words[1]);
        CHECK(std::fabs(static_cast<double>(sine) - std::sin(angle)) < 1e-6);
        CHECK(std::fabs(static_cast<double>(std::bit_cast<float>(words[2])) - std::cos(angle)) <
              1e-6);
        if (cycle == 0) CHECK(std::signbit(sine) == std::signbit(cycle));
    }
    std::array<unsigned, 128> words{std::bit_cast<unsigned>(INFINITY)};
    REQUIRE(run_newer(newer_ptx("ld.global.f32 %f1, [%rd1];\nsin.approx.ftz.2pi.f32 %f2, %f1;\n"
                                "st.global.f32 [%rd1+4], %f2;",
                                "9.5", "sm_75"),
                      words) == CUDA_SUCCESS);
    CHECK(std::isnan(std::bit_cast<float>(words[1])));
}

TEST_CASE("emulator PTX 9.3: products without carries") {
    const Machine machine("sm_80");
    std::array<unsigned, 128> words{};
    REQUIRE(run_newer(newer_ptx("mov.u64 %rd2, 0x8000000000000003;\nmov.u64 %rd3, 5;\n"
                                "mov.u64 %rd4, 1;\nclmad.lo.u64 %rd5, %rd2, %rd3, %rd4;\n"
                                "clmad.hi.s64 %rd6, %rd2, %rd3, %rd4;\n"
                                "st.global.u64 [%rd1], %rd5;\nst.global.u64 [%rd1+8], %rd6;",
                                "9.3", "sm_80"),
                      words) == CUDA_SUCCESS);
    CHECK(words[0] == 0xe);  // 3 * 5 = 15 without carries, and 1.
    CHECK(words[1] == 0x80000000);
    CHECK(words[2] == 3);  // The top bit times 5 is 2, and 1.
    CHECK(words[3] == 0);
}

TEST_CASE("emulator PTX 9.4: an atomic sum with .noftz keeps subnormal numbers") {
    const Machine machine("sm_90");
    std::array<unsigned, 128> words{1, 1};
    REQUIRE(run_newer(newer_ptx("mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n"
                                "@%p1 bra DONE;\nmov.f32 %f1, 0f00000003;\n"
                                "atom.global.add.noftz.f32 %f2, [%rd1], %f1;\n"
                                "atom.global.add.f32 %f3, [%rd1+4], %f1;\nDONE:",
                                "9.4", "sm_90"),
                      words) == CUDA_SUCCESS);
    CHECK(words[0] == 4);
    CHECK(words[1] == 0);
}
