// The quick way of mma against the definition of its arithmetic (docs/dev/emulator.md, "Tensor
// operations"), and against the general way, bit by bit.
#include "tests/unit/emulator/exec/support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

constexpr int rows = 16;
constexpr int columns = 8;

struct Shape {
    std::string_view type;
    int depth = 16;
    int major = 9, minor = 0;
    int block = 16, fraction_bits = 25;
};

/// Raw elements row by row; b column by column, as a register of mma has them.
struct Matrices {
    std::array<std::uint16_t, rows * 16> a{};
    std::array<std::uint16_t, columns * 16> b{};
    std::array<float, rows * columns> c{};
};

double value_of(std::string_view type, std::uint16_t raw) {
    if (type == "bf16") return std::bit_cast<float>(std::uint32_t{raw} << 16);
    const int exponent = raw >> 10 & 31;
    const double fraction = raw & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    return (raw >> 15) != 0 ? -magnitude : magnitude;
}

int exponent_of(std::string_view type, std::uint16_t raw) {
    if (type == "bf16") return std::max(raw >> 7 & 255, 1) - 127;
    return std::max(raw >> 10 & 31, 1) - 15;
}

/// One element by definition: what each block keeps of its terms is added exactly and cut off.
float element_of(const Shape& shape, const Matrices& in, int row, int column) {
    float sum = in.c[row * columns + column];
    for (int first = 0; first < shape.depth; first += shape.block) {
        int top = sum == 0 ? -126 : std::max(std::ilogb(sum), -126);
        const int end = std::min(first + shape.block, shape.depth);
        for (int k = first; k < end; ++k) {
            const std::uint16_t a = in.a[row * 16 + k];
            const std::uint16_t b = in.b[column * 16 + k];
            if ((a & 0x7fff) == 0 || (b & 0x7fff) == 0) continue;
            top = std::max(top, exponent_of(shape.type, a) + exponent_of(shape.type, b));
        }
        const int up = shape.fraction_bits - top;
        auto total = static_cast<std::int64_t>(std::ldexp(static_cast<double>(sum), up));
        for (int k = first; k < end; ++k) {
            const double product = value_of(shape.type, in.a[row * 16 + k]) *
                                   value_of(shape.type, in.b[column * 16 + k]);
            total += static_cast<std::int64_t>(std::ldexp(product, up));
        }
        std::int64_t kept = std::abs(total);
        int shift = 0;
        for (; kept >> 24 != 0; ++shift)
            kept >>= 1;
        const double magnitude = std::ldexp(static_cast<double>(kept), shift - up);
        sum = static_cast<float>(total < 0 ? -magnitude : magnitude);
    }
    return sum;
}

std::string program_of(const Shape& shape) {
    const bool deep = shape.depth == 16;
    std::string body =
        "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd1, %rd1, %rd3;\nadd.s64 %rd2, %rd2, %rd3;\n";
    for (int k = 0; k < 10; ++k)
        body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + k, 128 * k);
    const auto sums = [](char letter) {
        return fmt::format("{{%{0}1, %{0}2, %{0}3, %{0}4}}", letter);
    };
    for (int k = 0; k < 4; ++k)
        body += fmt::format("mov.b32 %f{}, %r{};\n", k + 1, 16 + k);
    body += fmt::format("mma.sync.aligned.m16n8k{0}.row.col.f32.{1}.{1}.f32 {2}, {3}, {4}, {2};\n",
                        shape.depth, shape.type, sums('f'),
                        deep ? "{%r10, %r11, %r12, %r13}" : "{%r10, %r11}",
                        deep ? "{%r14, %r15}" : "{%r14}");
    for (int k = 0; k < 4; ++k)
        body += fmt::format("st.global.f32 [%rd2+{}], %f{};\n", 128 * k, k + 1);
    std::string text = ptx_kernel(".param .u64 in, .param .u64 out", body);
    text.replace(text.find("sm_90"), 5, fmt::format("sm_{}{}", shape.major, shape.minor));
    return text;
}

class Product {
public:
    explicit Product(const Shape& shape)
        : shape_(shape), module_(rig_.load(program_of(shape), shape.major, shape.minor)) {}

    std::array<float, rows * columns> of(const Matrices& in) {
        std::vector<std::uint32_t> words(10 * 32);
        for (int lane = 0; lane < 32; ++lane) {
            const int row = lane / 4;
            const int pair = lane % 4 * 2;
            const auto two = [&](const auto& from, int line, int k) {
                return from[line * 16 + k] | std::uint32_t{from[line * 16 + k + 1]} << 16;
            };
            for (int k = 0; k < shape_.depth; k += 8) {
                words[(k / 4) * 32 + lane] = two(in.a, row, pair + k);
                words[(k / 4 + 1) * 32 + lane] = two(in.a, row + 8, pair + k);
                words[(4 + k / 8) * 32 + lane] = two(in.b, row, pair + k);
            }
            for (int k = 0; k < 4; ++k) {
                words[(6 + k) * 32 + lane] =
                    std::bit_cast<std::uint32_t>(in.c[(row + k / 2 * 8) * columns + pair + k % 2]);
            }
        }
        const std::uint64_t from = rig_.put(words);
        const std::uint64_t to = rig_.put(std::vector<float>(128));
        REQUIRE(rig_.run(*module_, "k", {1}, {32}, from, to).fault == Fault::none);
        const std::vector<float> out = rig_.get<float>(to, 128);
        std::array<float, rows * columns> made{};
        for (int lane = 0; lane < 32; ++lane) {
            for (int k = 0; k < 4; ++k)
                made[(lane / 4 + k / 2 * 8) * columns + lane % 4 * 2 + k % 2] = out[k * 32 + lane];
        }
        rig_.memory.release(from);
        rig_.memory.release(to);
        return made;
    }

private:
    Shape shape_;
    Rig rig_;
    std::unique_ptr<Module> module_;
};

/// Elements whose exponents spread over `range`, with zeros and, for halves, subnormal numbers.
Matrices random_matrices(const Shape& shape, corpus::Random& random, int range) {
    Matrices made;
    const auto element = [&]() -> std::uint16_t {
        const auto bits = static_cast<std::uint32_t>(random.bits());
        if (bits % 16 == 0) return static_cast<std::uint16_t>(bits & 0x8000);
        const auto spread = static_cast<int>(bits >> 8) % (2 * range + 1) - range;
        const std::uint32_t sign = bits >> 1 & 0x8000;
        if (shape.type == "bf16")
            return static_cast<std::uint16_t>(
                sign | static_cast<std::uint32_t>(127 + std::clamp(spread, -42, 42)) << 7 |
                (bits >> 20 & 127));
        return static_cast<std::uint16_t>(
            sign | static_cast<std::uint32_t>(15 + std::clamp(spread, -15, 15)) << 10 |
            (bits >> 20 & 1023));
    };
    std::ranges::generate(made.a, element);
    std::ranges::generate(made.b, element);
    for (float& one : made.c) {
        const auto bits = static_cast<std::uint32_t>(random.bits());
        const int spread =
            static_cast<int>(random.bits() % (4 * static_cast<unsigned>(range) + 1)) - 2 * range;
        if (bits % 8 != 0) one = std::ldexp(static_cast<float>(bits >> 8), spread - 23);
        if ((bits >> 3 & 1) != 0) one = -one;
    }
    return made;
}

constexpr Shape shapes[] = {{"bf16", 16, 9, 0, 16, 25}, {"f16", 16, 9, 0, 16, 25},
                            {"bf16", 8, 9, 0, 16, 25},  {"f16", 8, 9, 0, 16, 25},
                            {"bf16", 16, 8, 0, 8, 24},  {"f16", 16, 8, 0, 8, 24}};

}  // namespace

TEST_CASE("mma: the quick way gives what the blocks of products are by definition") {
    for (const Shape& shape : shapes) {
        Product product(shape);
        corpus::Random random(7);
        int different = 0;
        for (int round = 0; round < 200; ++round) {
            const Matrices in =
                random_matrices(shape, random, round % 4 == 3 ? 42 : 2 + round % 10);
            const auto out = product.of(in);
            for (int i = 0; i < rows * columns; ++i) {
                const float right = element_of(shape, in, i / columns, i % columns);
                different +=
                    std::bit_cast<std::uint32_t>(out[i]) != std::bit_cast<std::uint32_t>(right);
            }
        }
        INFO(shape.type, " k", shape.depth, " sm_", shape.major, shape.minor);
        CHECK(different == 0);
    }
}

// An infinity in the first row makes the whole operation take the general way, and leaves the other
// rows as they are. So do sums close to a float's limits.
TEST_CASE("mma: the quick way gives the bits of the general one") {
    for (const Shape& shape : shapes) {
        Product product(shape);
        corpus::Random random(8);
        int different = 0;
        for (int round = 0; round < 200; ++round) {
            Matrices in = random_matrices(shape, random, 2 + round % 12);
            const auto quick = product.of(in);
            if (round % 2 == 0) {
                in.a[3] = shape.type == "bf16" ? 0x7f80 : 0x7c00;
            } else {
                in.c[2] = 1e-30f;
            }
            const auto general = product.of(in);
            different += std::memcmp(&quick[columns], &general[columns],
                                     sizeof(float) * (rows - 1) * columns) != 0;
        }
        INFO(shape.type, " k", shape.depth, " sm_", shape.major, shape.minor);
        CHECK(different == 0);
    }
}

}  // namespace lode::emulator::exec::testing
