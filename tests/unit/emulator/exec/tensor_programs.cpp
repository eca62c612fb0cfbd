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
    {"s32", 32, 0, 0, true},
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
    if (!type.is_real()) {
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

namespace {

/// The place of a fragment's element i in lane `lane`.
struct Place {
    unsigned row, column;
};
using ElementLayout = std::function<Place(unsigned lane, unsigned i)>;

/// An operand of mma: its type, its number of elements in a lane and their layout.
struct Held {
    ElementType type;
    unsigned elements;
    ElementLayout layout;

    [[nodiscard]] unsigned words() const { return std::max(1u, elements * type.bits / 32); }
    [[nodiscard]] unsigned registers() const { return type.bits == 64 ? elements : words(); }
    /// The raw element i of a lane. Registers of 64 bits come as two words.
    [[nodiscard]] std::uint64_t raw(const std::uint32_t* from, unsigned lane, unsigned i) const {
        if (type.bits == 64) {
            return from[2 * i * warp_lanes + lane] |
                   std::uint64_t{from[(2 * i + 1) * warp_lanes + lane]} << 32;
        }
        const unsigned bit = i * type.bits;
        const std::uint32_t word = from[bit / 32 * warp_lanes + lane];
        return type.bits == 32 ? word : word >> (bit % 32) & ((1u << type.bits) - 1);
    }
    void read(const std::uint32_t* from, unsigned columns, std::vector<double>& to) const {
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
            for (unsigned i = 0; i < elements; ++i) {
                const Place at = layout(lane, i);
                to[at.row * columns + at.column] = type.value(raw(from, lane, i));
            }
        }
    }
};

/// PTX ISA 9.0, 9.7.14.5: of a, a register has elements of one row; the next has the row eight
/// further down, the next two the columns behind.
Held held_a(const ElementType& type, unsigned m, unsigned k) {
    const unsigned each = std::max(1u, 32 / type.bits);
    return {type, m * k / warp_lanes, [=](unsigned lane, unsigned i) -> Place {
                const unsigned group = lane >> 2;
                const unsigned in_group = lane % 4;
                const unsigned reg = i / each;
                const bool low = m == 16 && reg % 2 == 1;
                const unsigned block = m == 16 ? reg / 2 : reg;
                return {group + (low ? 8 : 0), in_group * each + i % each + block * each * 4};
            }};
}
Held held_b(const ElementType& type, unsigned k) {
    const unsigned each = std::max(1u, 32 / type.bits);
    return {type, 8 * k / warp_lanes, [=](unsigned lane, unsigned i) -> Place {
                return {lane % 4 * each + i % each + i / each * each * 4, lane >> 2};
            }};
}
Held held_c(const ElementType& type, unsigned m) {
    return {type, m * 8 / warp_lanes, [](unsigned lane, unsigned i) -> Place {
                return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
            }};
}

/// Loads registers: pairs of words for those of 64 bits.
std::string loads(const Held& held, unsigned first, unsigned& word) {
    std::string text;
    for (unsigned k = 0; k < held.registers(); ++k) {
        if (held.type.bits == 64) {
            text += fmt::format(
                "ld.global.b32 %t1, [%in+{}];\nld.global.b32 %t2, [%in+{}];\n"
                "mov.b64 %d{}, {{%t1, %t2}};\n",
                word * 128, (word + 1) * 128, first + k);
            word += 2;
        } else {
            text += fmt::format("ld.global.b32 %r{}, [%in+{}];\n", first + k, word++ * 128);
        }
    }
    return text;
}
std::string stores(const Held& held, unsigned first) {
    std::string text;
    for (unsigned k = 0; k < held.registers(); ++k) {
        if (held.type.bits == 64) {
            text += fmt::format(
                "mov.b64 {{%t1, %t2}}, %d{};\nst.global.b32 [%out+{}], %t1;\n"
                "st.global.b32 [%out+{}], %t2;\n",
                first + k, 256 * k, 256 * k + 128);
        } else {
            text += fmt::format("st.global.b32 [%out+{}], %r{};\n", 128 * k, first + k);
        }
    }
    return text;
}

struct Multiplication {
    unsigned m, k;
    std::string_view d, a, b;
    std::string_view modifier = {};  ///< ".satfinite"
    std::string_view end = {};       ///< ".xor.popc"
    unsigned selector = 0;
    bool sparse = false;
};

/// The elements of a chunk that the metadata keeps.
unsigned chunk_of(const ElementType& type) {
    return type.bits == 4 ? 8 : type.bits == 32 ? 2 : 4;
}

/// The metadata of a chunk: 9.7.14.6.1. A lane's word has eight chunks of one row for small types,
/// otherwise four chunks of two rows.
unsigned chunk_metadata(const Words& words, std::size_t first, const Multiplication& op,
                        const ElementType& type, unsigned row, unsigned chunk) {
    const unsigned chunks = op.k / chunk_of(type);
    if (type.bits <= 8) {
        const unsigned lane = row % 8 * 4 + op.selector * 2 + chunk / 8 * 2 + row / 8;
        return words[first + lane] >> (chunk % 8 * 4) & 15;
    }
    const unsigned lane = row % 8 * 4 + op.selector * (chunks / 4) + chunk / 4;
    return words[first + lane] >> (row / 8 * 16 + chunk % 4 * 4) & 15;
}

/// Puts the elements of a sparse matrix into their places.
std::vector<double> spread(const std::vector<double>& packed, const Words& words, std::size_t first,
                           const Multiplication& op, const ElementType& type) {
    std::vector<double> all(op.m * op.k);
    const unsigned chunk = chunk_of(type);
    for (unsigned row = 0; row < op.m; ++row) {
        for (unsigned c = 0; c < op.k / chunk; ++c) {
            const unsigned bits = chunk_metadata(words, first, op, type, row, c);
            for (unsigned e = 0; e < chunk / 2; ++e) {
                unsigned at = e;
                if (chunk == 2) at = bits >> 3;
                if (chunk == 4) at = bits >> (2 * e) & 3;
                if (chunk == 8) at = 2 * (bits >> (2 * (e / 2)) & 3) + e % 2;
                all[row * op.k + c * chunk + at] = packed[row * op.k / 2 + c * chunk / 2 + e];
            }
        }
    }
    return all;
}

Words random_metadata(const ElementType& type) {
    corpus::Random random(17);
    constexpr unsigned pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
    Words words(warp_lanes);
    for (auto& word : words) {
        for (unsigned k = 0; k < 8; ++k) {
            const unsigned pick =
                type.bits == 32 ? pairs[random.bits() % 2 * 5] : pairs[random.bits() % 6];
            word |= pick << (4 * k);
        }
    }
    return words;
}

}  // namespace

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

namespace {

TensorProgram program_of(const Multiplication& op) {
    const ElementType a_type(op.a);
    const ElementType b_type(op.b);
    const ElementType d_type(op.d);
    const Held a = held_a(a_type, op.m, op.sparse ? op.k / 2 : op.k);
    const Held b = held_b(b_type, op.k);
    const Held c = held_c(d_type, op.m);
    const bool wide = a_type.bits == 64;
    const char letter = wide ? 'd' : 'r';
    unsigned word = 0;
    std::string text = kernel_head("sm_90");
    text += loads(a, 0, word);
    text += loads(b, 20, word);
    text += loads(c, 40, word);
    if (op.sparse) text += fmt::format("ld.global.b32 %t3, [%in+{}];\n", word * 128);
    TensorProgram made;
    made.opcodes = {fmt::format("mma{}.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{}{}",
                                op.sparse ? ".sp" : "", op.m, op.k, op.modifier, op.d, op.a, op.b,
                                op.d, op.end)};
    text += fmt::format(
        "{} {}, {}, {}, {}", made.opcodes[0], register_list(letter, 50, c.registers()),
        register_list(letter, 0, a.registers()), register_list(letter, 20, b.registers()),
        register_list(letter, 40, c.registers()));
    if (op.sparse) text += fmt::format(", %t3, {}", op.selector);
    text += ";\n" + stores(c, 50) + "ret;\n}\n";
    made.ptx = std::move(text);
    for (const Held* held : {&a, &b, &c}) {
        const Words words =
            random_words(held->type, std::size_t{held->words()} * warp_lanes, 11 + made.in.size());
        // A register of 64 bits is two words of each lane, so words of a number are apart.
        if (wide) {
            for (std::size_t pair = 0; pair < words.size() / 64; ++pair)
                for (unsigned half = 0; half < 2; ++half)
                    for (unsigned lane = 0; lane < warp_lanes; ++lane)
                        made.in.push_back(words[pair * 64 + lane * 2 + half]);
        } else {
            made.in.insert(made.in.end(), words.begin(), words.end());
        }
    }
    const std::size_t metadata = made.in.size();
    if (op.sparse) {
        const Words words = random_metadata(a_type);
        made.in.insert(made.in.end(), words.begin(), words.end());
    }
    made.out_words = std::size_t{c.words()} * warp_lanes;
    made.wrong = [=, in = made.in](const Words& out) -> std::string {
        Operands of{op.m, 8, op.k, {}, {}, {}};
        of.a.resize(op.m * op.k);
        of.b.resize(op.k * 8);
        of.c.resize(op.m * 8);
        const unsigned packed = op.sparse ? op.k / 2 : op.k;
        a.read(in.data(), packed, of.a);
        if (op.sparse) of.a = spread(of.a, in, metadata, op, a_type);
        b.read(in.data() + a.words() * warp_lanes, 8, of.b);
        c.read(in.data() + (a.words() + b.words()) * warp_lanes, 8, of.c);
        if (!op.end.empty()) count_bits(of, op.end);
        const Judge judge{d_type, 25, d_type.bits == 16 ? 10 : 23, !op.modifier.empty(), wide};
        for (unsigned lane = 0; lane < warp_lanes; ++lane) {
            for (unsigned i = 0; i < c.elements; ++i) {
                const Place at = c.layout(lane, i);
                std::string why = judged(judge, of, at.row, at.column, c.raw(out.data(), lane, i));
                if (!why.empty()) return why;
            }
        }
        return {};
    };
    return made;
}

}  // namespace

std::vector<TensorProgram> register_programs() {
    std::vector<TensorProgram> all;
    const auto add = [&](const Multiplication& op) { all.push_back(program_of(op)); };
    for (const std::string_view d : {"f16", "f32"}) {
        add({16, 8, d, "f16", "f16"});
        add({16, 16, d, "f16", "f16"});
        for (unsigned selector = 0; selector < 4; ++selector)
            add({16, 16, d, "f16", "f16", {}, {}, selector, true});
        for (unsigned selector = 0; selector < 2; ++selector)
            add({16, 32, d, "f16", "f16", {}, {}, selector, true});
    }
    for (const unsigned k : {8u, 16u})
        add({16, k, "f32", "bf16", "bf16"});
    for (const unsigned k : {4u, 8u})
        add({16, k, "f32", "tf32", "tf32"});
    add({16, 32, "f32", "bf16", "bf16", {}, {}, 1, true});
    add({16, 8, "f32", "tf32", "tf32", {}, {}, 3, true});
    add({16, 16, "f32", "tf32", "tf32", {}, {}, 1, true});
    add({8, 4, "f64", "f64", "f64"});
    for (const unsigned k : {4u, 8u, 16u})
        add({16, k, "f64", "f64", "f64"});
    for (const std::string_view a : {"s8", "u8"}) {
        for (const std::string_view b : {"s8", "u8"}) {
            for (const std::string_view end : {"", ".satfinite"}) {
                add({8, 16, "s32", a, b, end});
                add({16, 16, "s32", a, b, end});
                add({16, 32, "s32", a, b, end});
            }
            add({16, 32, "s32", a, b, {}, {}, 1, true});
            add({16, 64, "s32", a, b, {}, {}, 0, true});
        }
    }
    for (const std::string_view a : {"s4", "u4"}) {
        for (const std::string_view b : {"s4", "u4"}) {
            add({8, 32, "s32", a, b});
            add({16, 32, "s32", a, b});
            add({16, 64, "s32", a, b, ".satfinite"});
            add({16, 64, "s32", a, b, {}, {}, 1, true});
            add({16, 128, "s32", a, b, {}, {}, 0, true});
        }
    }
    for (const std::string_view end : {".xor.popc", ".and.popc"}) {
        add({8, 128, "s32", "b1", "b1", {}, end});
        add({16, 128, "s32", "b1", "b1", {}, end});
        add({16, 256, "s32", "b1", "b1", {}, end});
    }
    for (const std::string_view a : {"e4m3", "e5m2"}) {
        for (const std::string_view b : {"e4m3", "e5m2"}) {
            for (const std::string_view d : {"f16", "f32"}) {
                add({16, 16, d, a, b});
                add({16, 32, d, a, b});
            }
            add({16, 64, "f32", a, b, {}, {}, 0, true});
        }
    }
    return all;
}

}  // namespace lode::emulator::exec::testing
