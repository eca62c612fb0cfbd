// Programs whose matrices are in registers: mma and mma.sp.
#include "tests/unit/emulator/exec/tensor_programs.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <tests/corpus/corpus.hpp>

namespace lode::emulator::exec::testing {

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

/// PTX ISA 9.0, 9.7.14.5: a register has elements of one row of a. The next has the row eight
/// further down, the next two the columns after those.
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
    std::string_view kind = {};         ///< ".kind::f8f6f4"
    std::string_view scale = {};        ///< ".ue8m0"
    unsigned scale_count = 0;           ///< Scales of a row.
    unsigned first_byte = 0, lane = 0;  ///< Where the scales begin.
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

/// The scale of a block, from the words of the lanes: 9.7.14.5, "Block scaling". Two lanes of four
/// hold those of two rows of a, one those of a column of b.
double scale_of(const Multiplication& op, const std::uint32_t* words, unsigned line, unsigned block,
                bool is_a) {
    const unsigned lane = is_a ? line % 8 * 4 + op.lane * 2 + line / 8 : line * 4 + op.lane;
    const std::uint32_t raw = words[lane] >> (8 * (op.first_byte + block)) & 255;
    if (op.scale == ".ue8m0") return std::ldexp(1.0, static_cast<int>(raw) - 127);
    return ElementType("e4m3").value(raw & 0x7f);
}

/// Words of scales near 1.
Words random_scales(const Multiplication& op) {
    corpus::Random random(23);
    Words words(warp_lanes);
    for (auto& word : words) {
        for (unsigned k = 0; k < 4; ++k) {
            const auto number = static_cast<std::uint32_t>(random.bits());
            word |= (op.scale == ".ue8m0" ? 124 + number % 7 : number % 0x7f) << (8 * k);
        }
    }
    return words;
}

/// Multiplies the elements by their scales.
void apply_scales(const Multiplication& op, const std::uint32_t* words, Operands& of) {
    const unsigned length = op.k / op.scale_count;
    for (unsigned k = 0; k < op.k; ++k) {
        for (unsigned row = 0; row < op.m; ++row)
            of.a[row * op.k + k] *= scale_of(op, words, row, k / length, true);
        for (unsigned column = 0; column < 8; ++column)
            of.b[k * 8 + column] *= scale_of(op, words + warp_lanes, column, k / length, false);
    }
}

TensorProgram program_of(const Multiplication& op) {
    const bool packed_fours = op.kind.starts_with(".kind::mxf4");
    const ElementType a_type(packed_fours ? "e2m1x2" : op.a);
    const ElementType b_type(packed_fours ? "e2m1x2" : op.b);
    const ElementType d_type(op.d);
    const Held a = held_a(a_type, op.m, op.sparse ? op.k / 2 : op.k);
    const Held b = held_b(b_type, op.k);
    const Held c = held_c(d_type, op.m);
    const bool wide = a_type.bits == 64;
    const char letter = wide ? 'd' : 'r';
    unsigned word = 0;
    std::string text = kernel_head(op.kind.empty() ? "sm_90" : "sm_120a");
    text += loads(a, 0, word);
    text += loads(b, 20, word);
    text += loads(c, 40, word);
    if (op.sparse) text += fmt::format("ld.global.b32 %t3, [%in+{}];\n", word * 128);
    if (op.scale_count != 0) {
        text += fmt::format("ld.global.b32 %t4, [%in+{}];\nld.global.b32 %t5, [%in+{}];\n",
                            word * 128, word * 128 + 128);
    }
    TensorProgram made;
    made.opcodes = {fmt::format("mma{}.sync.aligned.m{}n8k{}.row.col{}{}.{}.{}.{}.{}{}{}",
                                !op.sparse        ? ""
                                : op.kind.empty() ? ".sp"
                                                  : ".sp::ordered_metadata",
                                op.m, op.k, op.kind, op.modifier, op.d, op.a, op.b, op.d, op.end,
                                op.scale)};
    text += fmt::format(
        "{} {}, {}, {}, {}", made.opcodes[0], register_list(letter, 50, c.registers()),
        register_list(letter, 0, a.registers()), register_list(letter, 20, b.registers()),
        register_list(letter, 40, c.registers()));
    if (op.sparse) text += fmt::format(", %t3, {}", op.selector);
    if (op.scale_count != 0)
        text += fmt::format(", %t4, {{{0}, {1}}}, %t5, {{{0}, {1}}}", op.first_byte, op.lane);
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
    if (op.scale_count != 0) {
        for (int side = 0; side < 2; ++side) {
            const Words words = random_scales(op);
            made.in.insert(made.in.end(), words.begin(), words.end());
        }
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
        if (op.scale_count != 0) apply_scales(op, in.data() + metadata, of);
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

std::vector<TensorProgram> small_float_programs() {
    std::vector<TensorProgram> all;
    const auto add = [&](const Multiplication& op) { all.push_back(program_of(op)); };
    constexpr std::string_view types[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
    for (const std::string_view a : types) {
        for (const std::string_view b : types) {
            for (const std::string_view d : {"f16", "f32"}) {
                add({16, 32, d, a, b, {}, {}, 0, false, ".kind::f8f6f4"});
                add({16, 64, d, a, b, {}, {}, 0, true, ".kind::f8f6f4"});
            }
            for (unsigned byte = 0; byte < 4; ++byte) {
                const unsigned lane = byte % 2;
                constexpr std::string_view kind = ".kind::mxf8f6f4.block_scale.scale_vec::1X";
                add({16, 32, "f32", a, b, {}, {}, 0, false, kind, ".ue8m0", 1, byte, lane});
                add({16, 64, "f32", a, b, {}, {}, 0, true, kind, ".ue8m0", 1, byte, lane});
            }
        }
    }
    const auto add_fours = [&](std::string_view kind, std::string_view type, unsigned count,
                               unsigned byte, unsigned lane) {
        for (const bool sparse : {false, true}) {
            add({16,
                 sparse ? 128u : 64u,
                 "f32",
                 "e2m1",
                 "e2m1",
                 {},
                 {},
                 0,
                 sparse,
                 kind,
                 type,
                 count,
                 byte,
                 lane});
        }
    };
    for (unsigned lane = 0; lane < 2; ++lane) {
        for (const unsigned byte : {0u, 2u}) {
            add_fours(".kind::mxf4.block_scale.scale_vec::2X", ".ue8m0", 2, byte, lane);
            add_fours(".kind::mxf4nvf4.block_scale.scale_vec::2X", ".ue8m0", 2, byte, lane);
        }
        add_fours(".kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue4m3", 4, 0, lane);
    }
    return all;
}

}  // namespace lode::emulator::exec::testing
