// Arithmetic of PTX 9.4 on packed numbers of several types.
#include "tests/unit/emulator/driver/newer_ptx.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <string>

using namespace lode::emulator_test;

namespace {

/// A float for an exact result, with the rounding that a modifier names.
float rounded(long double exact, const std::string& rounding) {
    const auto nearest = static_cast<float>(exact);
    const auto back = static_cast<long double>(nearest);
    if (rounding == "rz" && std::fabs(back) > std::fabs(exact))
        return std::nextafter(nearest, 0.0F);
    if (rounding == "rm" && back > exact) return std::nextafter(nearest, -INFINITY);
    if (rounding == "rp" && back < exact) return std::nextafter(nearest, INFINITY);
    return nearest;
}

class Numbers {
public:
    unsigned next() { return state_ = state_ * 1664525U + 1013904223U; }

    /// A float whose exponent is near 1's, so that sums and products have few bits.
    float real() {
        const unsigned bits = next();
        return std::bit_cast<float>((bits & 0x807f'ffff) | (123 + (next() >> 29)) << 23);
    }

private:
    unsigned state_ = 7;
};

/// A format of which four numbers are in 32 bits.
struct Narrow {
    std::string name;
    int exponent, fraction;
    bool has_infinity;

    long double value(unsigned code) const {
        if (name == "ue8m0x4")
            return code == 0xff ? NAN : std::ldexp(1.0L, static_cast<int>(code) - 127);
        return static_cast<long double>(value_of(code, exponent, fraction, has_infinity));
    }

    unsigned mask() const { return name == "ue8m0x4" ? 0xff : (2U << (exponent + fraction)) - 1; }

    /// The code nearest to a number, of two the even one.
    unsigned code(long double exact, bool is_finite) const {
        if (std::isnan(exact)) return 0x7f;
        const unsigned sign = std::signbit(exact) ? 0x80 : 0;
        const unsigned limit = has_infinity ? 0x7c : 0x7f;
        const auto size = [&](unsigned code) {
            const int power = static_cast<int>(code >> fraction);
            const unsigned rest = code & ((1U << fraction) - 1);
            return std::ldexp(static_cast<long double>(power == 0 ? rest : rest + (1U << fraction)),
                              std::max(power, 1) - ((1 << (exponent - 1)) - 1) - fraction);
        };
        unsigned best = std::fabs(exact) > size(limit) ? limit : 0;
        for (unsigned code = 1; code <= limit && best != limit; ++code) {
            const long double more = std::fabs(size(code) - std::fabs(exact));
            const long double least = std::fabs(size(best) - std::fabs(exact));
            if (more < least || (more == least && code % 2 == 0)) best = code;
        }
        if (best == limit || std::isinf(exact)) {
            if (is_finite) return sign | (limit - 1);
            return has_infinity ? sign | limit : limit;
        }
        return sign | best;
    }
};

const Narrow formats[] = {{"e4m3x4", 4, 3, false},   {"e5m2x4", 5, 2, true},
                          {"e3m2x4", 3, 2, false},   {"e2m3x4", 2, 3, false},
                          {"e2m1p4x4", 2, 1, false}, {"ue8m0x4", 8, 0, false},
                          {"e2m1x4", 2, 1, false}};

/// Loads %b1, %b2 and %b3 of a lane, and stores %b4.
std::string on_fours(const std::string& instructions) {
    return "mov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
           "ld.global.b32 %b1, [%rd2];\nld.global.b32 %b2, [%rd2+128];\n"
           "ld.global.b32 %b3, [%rd2+256];\n" +
           instructions + "\nst.global.b32 [%rd2+384], %b4;";
}

}  // namespace

TEST_CASE("emulator PTX 9.4: arithmetic on two floats and two narrower numbers") {
    const Machine machine("sm_107");
    const std::string start =
        ".reg .b64 %w<8>;\nmov.u32 %r1, %laneid;\nmad.wide.u32 %rd2, %r1, 4, %rd1;\n"
        "mad.wide.u32 %rd3, %r1, 8, %rd1;\nld.global.b32 %b1, [%rd2+256];\n"
        "ld.global.b64 %w2, [%rd3];\nmov.b64 {%b2, %b3}, %w2;\nmov.b64 %w3, {%b3, %b2};\n";
    Numbers numbers;
    const auto half = [](unsigned bits, bool is_bfloat) {
        if (is_bfloat) return std::bit_cast<float>(bits << 16);
        return value_of(bits & 0xffff, 5, 10, true);
    };
    for (const std::string operation : {"add", "sub", "fma"}) {
        for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
            for (const bool is_bfloat : {false, true}) {
                const std::string form = operation + "." + rounding + ".f32x2." +
                                         (is_bfloat ? "bf16x2" : "f16x2") + ".f32x2" +
                                         (operation == "fma" ? ".f32x2" : "");
                CAPTURE(form);
                std::array<unsigned, 128> given{};
                for (unsigned k = 0; k < 64; ++k)
                    given[k] = std::bit_cast<unsigned>(numbers.real());
                for (unsigned k = 64; k < 96; ++k) {
                    const unsigned bits = numbers.next();
                    given[k] = is_bfloat ? (bits & 0x83ff'83ff) | 0x3c00'3c00
                                         : (bits & 0x9fff'9fff) | 0x2000'2000;
                }
                std::array<unsigned, 128> words = given;
                REQUIRE(run_newer(newer_ptx(start + form + " %w1, %b1, %w2" +
                                                (operation == "fma" ? ", %w3" : "") +
                                                ";\nst.global.b64 [%rd3], %w1;",
                                            "9.4", "sm_107f"),
                                  words) == CUDA_SUCCESS);
                for (unsigned k = 0; k < 64; ++k) {
                    CAPTURE(k);
                    const auto a = static_cast<long double>(
                        half(given[64 + k / 2] >> (16 * (k % 2)), is_bfloat));
                    const auto b = static_cast<long double>(std::bit_cast<float>(given[k]));
                    const auto c = static_cast<long double>(std::bit_cast<float>(given[k ^ 1]));
                    const long double exact = operation == "add"   ? a + b
                                              : operation == "sub" ? a - b
                                                                   : a * b + c;
                    CHECK(words[k] == std::bit_cast<unsigned>(rounded(exact, rounding)));
                }
            }
        }
    }
    for (const std::string operation : {"add", "sub", "mul"}) {
        CAPTURE(operation);
        std::array<unsigned, 128> given{};
        for (unsigned k = 0; k < 64; ++k)
            given[k] = std::bit_cast<unsigned>(numbers.real());
        std::array<unsigned, 128> words = given;
        REQUIRE(run_newer(newer_ptx(start + operation +
                                        ".rz.bf16x2.f32x2.f32x2 %b4, %w2, %w3;\n"
                                        "st.global.b32 [%rd2+256], %b4;",
                                    "9.4", "sm_107a"),
                          words) == CUDA_SUCCESS);
        for (unsigned lane = 0; lane < 32; ++lane) {
            const auto one = [&](unsigned k) {
                const auto a = static_cast<long double>(std::bit_cast<float>(given[k]));
                const auto b = static_cast<long double>(std::bit_cast<float>(given[k ^ 1]));
                const long double exact = operation == "add"   ? a + b
                                          : operation == "sub" ? a - b
                                                               : a * b;
                return std::bit_cast<unsigned>(rounded(exact, "rz")) >> 16;
            };
            CHECK(words[64 + lane] == (one(2 * lane) | one(2 * lane + 1) << 16));
        }
    }
}

TEST_CASE("emulator PTX 9.4: arithmetic on four numbers with at most 8 bits") {
    const Machine machine("sm_100");
    Numbers numbers;
    const auto check = [&](const std::string& operation, const Narrow& result, const Narrow& a,
                           const Narrow& b, bool is_finite) {
        const bool adds = operation == "add" || operation == "sub";
        const std::string form = operation + (numbers.next() >> 31 != 0 ? ".rn" : "") +
                                 (is_finite ? ".satfinite." : ".") + result.name + "." + a.name +
                                 (adds ? "" : "." + b.name);
        CAPTURE(form);
        std::array<unsigned, 128> given{};
        for (unsigned& word : given)
            word = numbers.next() ^ numbers.next() >> 16;
        const auto part = [](unsigned word, unsigned k, const Narrow& format) {
            const unsigned bits = format.name == "e2m1x4" ? 4 : 8;
            return format.value(word >> (bits * k) & format.mask());
        };
        const auto name = [](const Narrow& format, const char* whole, const char* low) {
            return std::string(", ") + (format.name == "e2m1x4" ? low : whole);
        };
        std::array<unsigned, 128> words = given;
        const std::string operands = " %b4" + name(a, "%b1", "%h1") +
                                     name(adds ? result : b, "%b2", "%h2") +
                                     (operation == "fma" ? ", %b3;" : ";");
        REQUIRE(run_newer(newer_ptx(on_fours("cvt.u16.u32 %h1, %b1;\ncvt.u16.u32 %h2, %b2;\n" +
                                             form + operands),
                                    "9.4", "sm_100a"),
                          words) == CUDA_SUCCESS);
        for (unsigned lane = 0; lane < 32; ++lane) {
            unsigned want = 0;
            for (unsigned k = 0; k < 4; ++k) {
                const long double x = part(given[lane], k, a);
                const long double y = part(given[lane + 32], k, adds ? result : b);
                const long double z = part(given[lane + 64], k, result);
                const long double exact = operation == "add"   ? x + y
                                          : operation == "sub" ? x - y
                                          : operation == "mul" ? x * y
                                                               : x * y + z;
                want |= result.code(exact, is_finite) << (8 * k);
            }
            CHECK(words[lane + 96] == want);
        }
    };
    for (const bool is_finite : {false, true}) {
        for (unsigned k = 0; k < 2; ++k) {
            for (const Narrow& a : formats) {
                check("add", formats[k], a, a, is_finite);
                check("sub", formats[k], a, a, is_finite);
                for (unsigned other = 1; other < 6; other += 2) {
                    check("mul", formats[k], a, formats[other], is_finite);
                    check("fma", formats[k], a, formats[other], is_finite);
                }
            }
        }
    }
}

TEST_CASE("emulator PTX 9.4: spdecompress puts numbers into their places") {
    const Machine machine("sm_107");
    struct Row {
        unsigned bits, field_bits, numbers, places, groups;
    };
    constexpr Row rows[] = {
        {8, 2, 1, 2, 2},  {8, 4, 1, 2, 16},  {8, 2, 1, 4, 4},   {8, 2, 2, 4, 8},  {16, 2, 2, 4, 1},
        {16, 4, 1, 4, 4}, {8, 4, 1, 8, 2},   {8, 4, 4, 8, 4},   {16, 4, 2, 8, 2}, {8, 4, 1, 16, 2},
        {8, 4, 4, 16, 1}, {16, 4, 2, 16, 2}, {16, 2, 2, 4, 16}, {8, 2, 2, 4, 32}};
    Numbers random;
    for (const Row& row : rows) {
        const std::string form = "spdecompress.b" + std::to_string(row.bits) + ".b" +
                                 std::to_string(row.field_bits) +
                                 ".sp::" + std::to_string(row.numbers) + ":" +
                                 std::to_string(row.places) + ".x" + std::to_string(row.groups);
        CAPTURE(form);
        const unsigned all = row.numbers * row.groups;
        const auto registers = [](unsigned bits) { return (bits + 31) / 32; };
        const unsigned results = registers(row.places * row.groups * row.bits);
        const unsigned fields = registers(all * row.field_bits);
        const unsigned numbers = registers(all * row.bits);
        REQUIRE(fields + numbers <= 64);
        REQUIRE(results <= 64);
        const auto list = [](const char* name, unsigned count) {
            std::string text = "{";
            for (unsigned k = 0; k < count; ++k)
                text += (k == 0 ? "%" : ", %") + std::string(name) + std::to_string(k);
            return text + "}";
        };
        std::string body = ".reg .b32 %m<64>, %n<64>, %w<64>;\n";
        for (unsigned k = 0; k < fields + numbers; ++k) {
            body += "ld.global.b32 %" + std::string(k < fields ? "m" : "n") +
                    std::to_string(k < fields ? k : k - fields) + ", [%rd1+" +
                    std::to_string(4 * k) + "];\n";
        }
        body += form + " " + list("w", results) + ", " + list("m", fields) + ", " +
                list("n", numbers) + ";\n";
        for (unsigned k = 0; k < results; ++k)
            body += "st.global.b32 [%rd1+" + std::to_string(256 + 4 * k) + "], %w" +
                    std::to_string(k) + ";\n";
        std::array<unsigned, 128> given{};
        std::array<unsigned, 128> want{};
        for (unsigned k = 0; k < numbers; ++k)
            given[fields + k] = random.next() ^ random.next() >> 16;
        for (unsigned group = 0; group < row.groups; ++group) {
            // Ascending places, as spcompress writes them.
            unsigned place = 0;
            for (unsigned n = 0; n < row.numbers; ++n) {
                const unsigned number = group * row.numbers + n;
                place += (random.next() >> 24) % (row.places - row.numbers + n + 1 - place);
                const unsigned at = number * row.field_bits;
                given[at / 32] |= place << (at % 32);
                const unsigned from = number * row.bits;
                const unsigned value =
                    given[fields + from / 32] >> (from % 32) & ((1U << row.bits) - 1);
                const unsigned to = (group * row.places + place) * row.bits;
                want[to / 32] |= value << (to % 32);
                ++place;
            }
        }
        std::array<unsigned, 128> words = given;
        REQUIRE(run_newer(newer_ptx(body, "9.4", "sm_107a"), words) == CUDA_SUCCESS);
        bool same = true;
        for (unsigned k = 0; k < results; ++k)
            same = same && words[64 + k] == want[k];
        CHECK(same);
    }
}

TEST_CASE("emulator PTX 9.4: packed numbers that are refused by name") {
    const Machine machine("sm_107");
    for (const char* instruction :
         {"mul.f16x2.f16x2.bf16x2 %b1, %b2, %b3;", "mul.bf16x2.bf16x2.f16x2 %b1, %b2, %b3;",
          "add.rz.ftz.f16x2.f32x2.f32x2 %b1, %w2, %w3;"}) {
        CAPTURE(instruction);
        std::array<unsigned, 128> words{};
        CHECK(
            run_newer(newer_ptx(std::string(".reg .b64 %w<8>;\n") + instruction, "9.4", "sm_107f"),
                      words) == CUDA_ERROR_NOT_SUPPORTED);
    }
}
