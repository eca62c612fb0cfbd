#include "tests/unit/emulator/exec/tensor_programs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <tests/corpus/corpus.hpp>

namespace lode::emulator::exec::testing {

namespace {

struct Named {
    std::string_view name;
    unsigned bits;
    int exponent_bits, fraction_bits;
    bool is_signed;
};
constexpr Named named_types[] = {
    {"f16", 16, 5, 10, true}, {"bf16", 16, 8, 7, true},  {"tf32", 32, 8, 10, true},
    {"f32", 32, 8, 23, true}, {"f64", 64, 11, 52, true}, {"e4m3", 8, 4, 3, true},
    {"e5m2", 8, 5, 2, true},  {"s8", 8, 0, 0, true},     {"u8", 8, 0, 0, false},
    {"s4", 4, 0, 0, true},    {"u4", 4, 0, 0, false},    {"b1", 1, 0, 0, false},
    {"s32", 32, 0, 0, true},  {"e3m2", 8, 3, 2, true},   {"e2m3", 8, 2, 3, true},
    {"e2m1", 8, 2, 1, true},  {"e2m1x2", 4, 2, 1, true},
};

}  // namespace

ElementType::ElementType(std::string_view named) : name(named) {
    for (const Named& one : named_types) {
        if (one.name != named) continue;
        bits = one.bits;
        exponent_bits = one.exponent_bits;
        fraction_bits = one.fraction_bits;
        is_signed = one.is_signed;
    }
}

double ElementType::value(std::uint64_t raw) const {
    if (name == "tf32") raw = (raw & 0xffff'ffff) >> 13;
    if (name == "e2m1") raw >>= 2;
    if (!is_real()) {
        if (bits < 64) raw &= (std::uint64_t{1} << bits) - 1;
        const bool negative = is_signed && (raw >> (bits - 1) & 1) != 0;
        return static_cast<double>(raw) - (negative ? std::ldexp(1.0, static_cast<int>(bits)) : 0);
    }
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto fraction = raw & ((std::uint64_t{1} << fraction_bits) - 1);
    const auto exponent = static_cast<int>(raw >> fraction_bits & ((1u << exponent_bits) - 1));
    const double sign = (raw >> (fraction_bits + exponent_bits) & 1) != 0 ? -1 : 1;
    const double whole =
        static_cast<double>(fraction) + (exponent != 0 ? std::ldexp(1.0, fraction_bits) : 0);
    return sign * std::ldexp(whole, std::max(exponent, 1) - bias - fraction_bits);
}

Words random_words(const ElementType& type, std::size_t count, std::uint64_t seed) {
    corpus::Random random(seed);
    Words words(count);
    const bool any_bits = type.is_real() && 1 + type.exponent_bits + type.fraction_bits < 8;
    if (!type.is_real() || any_bits) {
        for (auto& word : words)
            word = type.name == "s32" ? static_cast<std::uint32_t>(random.bits() % 2000 - 1000)
                                      : static_cast<std::uint32_t>(random.bits());
        return words;
    }
    const unsigned stored = type.name == "tf32" ? 32 : type.bits;
    const int fraction_bits = type.name == "tf32" ? 23 : type.fraction_bits;
    const std::uint64_t bias = (std::uint64_t{1} << (type.exponent_bits - 1)) - 1;
    const auto number = [&] {
        const std::uint64_t fraction = random.bits() & ((std::uint64_t{1} << fraction_bits) - 1);
        const std::uint64_t exponent = bias + 2 - random.bits() % 5;
        return (random.bits() & 1) << (stored - 1) | exponent << fraction_bits | fraction;
    };
    std::vector<std::uint64_t> numbers(count * 32 / stored);
    std::ranges::generate(numbers, number);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t bit = i * stored;
        words[bit / 32] |= static_cast<std::uint32_t>(numbers[i] << (bit % 32));
        if (stored == 64) words[bit / 32 + 1] |= static_cast<std::uint32_t>(numbers[i] >> 32);
    }
    return words;
}

std::string judged(const Judge& judge, const Operands& of, unsigned row, unsigned column,
                   std::uint64_t raw) {
    const double c = of.c[row * of.n + column];
    long double sum = c;
    double fused = c;
    double largest = std::fabs(c);
    double total = largest;
    for (unsigned k = 0; k < of.k; ++k) {
        const double a = of.a[row * of.k + k];
        const double b = of.b[k * of.n + column];
        sum += static_cast<long double>(a) * b;
        fused = std::fma(a, b, fused);
        largest = std::max(largest, std::fabs(a * b));
        total += std::fabs(a * b);
    }
    const double got = judge.type.value(raw);
    double want = judge.exact ? fused : static_cast<double>(sum);
    double bound = 0;
    if (judge.type.is_real() && !judge.exact) {
        bound = (of.k + 2) * std::ldexp(largest, 1 - judge.kept) +
                2 * total * std::ldexp(1.0, -judge.result) + std::ldexp(1.0, -24);
    } else if (judge.saturates) {
        want = std::clamp(want, -2147483648.0, 2147483647.0);
    } else if (!judge.type.is_real()) {
        // Sums wrap.
        want = judge.type.value(static_cast<std::uint64_t>(static_cast<std::int64_t>(want)));
    }
    if (std::fabs(got - want) <= bound) return {};
    return fmt::format("The element in row {} and column {} is {}, not {} (within {}).", row,
                       column, got, want, bound);
}

std::string kernel_head(std::string_view target, std::string_view before) {
    return fmt::format(
        ".version 8.7\n.target {}\n.address_size 64\n{}"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 unused)\n{{\n"
        ".reg .pred %p<4>;\n.reg .b32 %r<200>;\n.reg .b64 %d<64>;\n.reg .b64 %in, %out, %lane;\n"
        ".reg .b32 %t<8>;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
        "mov.u32 %t0, %tid.x;\nmul.wide.u32 %lane, %t0, 4;\nadd.u64 %in, %in, %lane;\n"
        "add.u64 %out, %out, %lane;\n",
        target, before);
}

std::string register_list(char letter, unsigned first, unsigned count) {
    std::string text = "{";
    for (unsigned k = 0; k < count; ++k)
        text += fmt::format("{}%{}{}", k == 0 ? "" : ", ", letter, first + k);
    return text + "}";
}

Words run_program(Bench& bench, const TensorProgram& program, std::string& why) {
    why = bench.load(program.ptx);
    if (!why.empty()) return {};
    Words in = program.in;
    Words out(program.out_words, 0x5a5a'5a5a);
    const std::array<std::byte, 8> unused{};
    const auto ended = bench.run(1, program.threads, std::as_writable_bytes(std::span(in)),
                                 std::as_writable_bytes(std::span(out)), unused, 0);
    why = ended.report;
    if (ended.fault != Fault::none) return {};
    return out;
}

void count_bits(Operands& of, std::string_view how) {
    for (unsigned row = 0; row < of.m; ++row) {
        for (unsigned column = 0; column < of.n; ++column) {
            double count = 0;
            for (unsigned k = 0; k < of.k; ++k) {
                const bool a = of.a[row * of.k + k] != 0;
                const bool b = of.b[k * of.n + column] != 0;
                count += how.starts_with(".xor") ? a != b : a && b;
            }
            of.c[row * of.n + column] += count;
        }
    }
    std::ranges::fill(of.a, 0.0);
}

}  // namespace lode::emulator::exec::testing
