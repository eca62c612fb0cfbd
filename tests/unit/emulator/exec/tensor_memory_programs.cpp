// Programs whose matrices are in memory: ldmatrix, stmatrix, movmatrix, wmma and wgmma.
#include "tests/unit/emulator/exec/tensor_programs.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

/// Copies `words` words of each thread from `in` to shared memory.
std::string fill_shared(unsigned words, unsigned threads) {
    std::string text = "mov.u32 %t5, buffer;\nshl.b32 %t6, %t0, 2;\nadd.u32 %t6, %t6, %t5;\n";
    for (unsigned k = 0; k < words; ++k)
        text += fmt::format("ld.global.b32 %t7, [%in+{0}];\nst.shared.b32 [%t6+{0}], %t7;\n",
                            k * threads * 4);
    return text + "bar.sync 0;\n";
}

/// The half `index` of a table of words.
std::uint32_t half(const Words& words, std::size_t index) {
    return words[index / 2] >> (index % 2 * 16) & 0xffff;
}

std::string first_difference(const Words& want, const Words& got) {
    const auto [a, b] = std::ranges::mismatch(want, got);
    if (a == want.end()) return {};
    return fmt::format("Word {} is 0x{:08x}, not 0x{:08x}.", a - want.begin(), *b, *a);
}

/// ldmatrix and stmatrix of `count` matrices. Row r of matrix m is at 16 * (8 * m + 7 - r).
TensorProgram moved(bool stores, unsigned count, bool transposed) {
    TensorProgram made;
    const std::string form =
        fmt::format(".sync.aligned.m8n8.x{}{}.shared.b16", count, transposed ? ".trans" : "");
    made.opcodes = {(stores ? "stmatrix" : "ldmatrix") + form};
    std::string text = kernel_head("sm_90", ".shared .align 16 .b8 buffer[512];\n");
    text += fill_shared(4, warp_lanes);
    text += "xor.b32 %t4, %t0, 7;\nmad.lo.u32 %t4, %t4, 16, %t5;\n";
    if (stores) {
        for (unsigned k = 0; k < count; ++k)
            text += fmt::format("ld.global.b32 %r{}, [%in+{}];\n", k, 512 + 128 * k);
        text += fmt::format("{} [%t4], {};\nbar.warp.sync 0xffffffff;\n", made.opcodes[0],
                            register_list('r', 0, count));
        for (unsigned k = 0; k < 4; ++k)
            text +=
                fmt::format("ld.shared.b32 %r{0}, [%t6+{1}];\nst.global.b32 [%out+{1}], %r{0};\n",
                            10 + k, 128 * k);
    } else {
        text += fmt::format("{} {}, [%t4];\n", made.opcodes[0], register_list('r', 0, count));
        for (unsigned k = 0; k < count; ++k)
            text += fmt::format("st.global.b32 [%out+{}], %r{};\n", 128 * k, k);
    }
    made.ptx = text + "ret;\n}\n";
    made.in = random_words(ElementType("s8"), 256, 3);
    made.out_words = stores ? 128 : warp_lanes * count;
    made.wrong = [=, in = made.in](const Words& out) {
        Words want(out.size());
        if (stores) std::copy_n(in.begin(), 128, want.begin());
        for (unsigned m = 0; m < count; ++m) {
            for (unsigned row = 0; row < 8; ++row) {
                for (unsigned column = 0; column < 8; ++column) {
                    const std::size_t memory = (m * 8 + 7 - row) * 8 + column;
                    const unsigned r = transposed ? column : row;
                    const unsigned c = transposed ? row : column;
                    const std::size_t fragment = (m * warp_lanes + 4 * r + c / 2) * 2 + c % 2;
                    const std::size_t to = stores ? memory : fragment;
                    const std::uint32_t value = half(in, stores ? 256 + fragment : memory);
                    want[to / 2] &= ~(0xffffu << (to % 2 * 16));
                    want[to / 2] |= value << (to % 2 * 16);
                }
            }
        }
        return first_difference(want, out);
    };
    return made;
}

/// ldmatrix.m16n16 and stmatrix.m16n8 of `count` matrices of bytes. Row r is at 16 * (31 - r).
TensorProgram moved_bytes(bool stores, unsigned count, unsigned bits) {
    TensorProgram made;
    const unsigned registers = stores ? count : 2 * count;
    made.opcodes = {fmt::format("{}.sync.aligned.{}.x{}.trans.shared.{}",
                                stores ? "stmatrix" : "ldmatrix", stores ? "m16n8" : "m16n16",
                                count,
                                bits == 8   ? "b8"
                                : bits == 6 ? "b8x16.b6x16_p32"
                                            : "b8x16.b4x16_p64")};
    std::string text = kernel_head("sm_100a", ".shared .align 16 .b8 buffer[512];\n");
    text.replace(text.find(".target sm_100a"), 15, ".target sm_90");
    text += fill_shared(4, warp_lanes);
    text += "xor.b32 %t4, %t0, 31;\nmad.lo.u32 %t4, %t4, 16, %t5;\n";
    if (stores) {
        for (unsigned k = 0; k < registers; ++k)
            text += fmt::format("ld.global.b32 %r{}, [%in+{}];\n", k, 512 + 128 * k);
        text += fmt::format("{} [%t4], {};\nbar.warp.sync 0xffffffff;\n", made.opcodes[0],
                            register_list('r', 0, registers));
        for (unsigned k = 0; k < 4; ++k)
            text +=
                fmt::format("ld.shared.b32 %r{0}, [%t6+{1}];\nst.global.b32 [%out+{1}], %r{0};\n",
                            10 + k, 128 * k);
    } else {
        text += fmt::format("{} {}, [%t4];\n", made.opcodes[0], register_list('r', 0, registers));
        for (unsigned k = 0; k < registers; ++k)
            text += fmt::format("st.global.b32 [%out+{}], %r{};\n", 128 * k, k);
    }
    made.ptx = text + "ret;\n}\n";
    made.in = random_words(ElementType("s8"), 256, 3);
    made.out_words = stores ? 128 : std::size_t{warp_lanes} * registers;
    made.wrong = [=, in = made.in](const Words& out) {
        Words want(out.size());
        if (stores) std::copy_n(in.begin(), 128, want.begin());
        const auto byte = [](const Words& words, std::size_t at) {
            return words[at / 4] >> (at % 4 * 8) & 0xff;
        };
        const auto put = [&](std::size_t at, std::uint32_t value) {
            want[at / 4] &= ~(0xffu << (at % 4 * 8));
            want[at / 4] |= value << (at % 4 * 8);
        };
        // Thread t of a transposed matrix of 16 columns has the rows 4 * (t % 4) to + 3 of the
        // columns t / 4 and 8 further; stored, it has the columns 2 * (t % 4) and + 1 of the rows
        // t / 4 and 8 further, of which a row in memory has one column.
        for (unsigned t = 0; t < warp_lanes; ++t) {
            for (unsigned reg = 0; reg < registers; ++reg) {
                for (unsigned part = 0; part < 4; ++part) {
                    const std::size_t fragment = (std::size_t{reg} * warp_lanes + t) * 4 + part;
                    if (stores) {
                        const unsigned row = reg * 8 + t % 4 * 2 + part % 2;
                        put((31 - row) * 16 + t / 4 + part / 2 * 8, byte(in, 512 + fragment));
                        continue;
                    }
                    const unsigned row = reg / 2 * 16 + t % 4 * 4 + part;
                    const std::size_t bit = (31 - row) * 128 + (t / 4 + reg % 2 * 8) * bits;
                    const std::uint32_t two = byte(in, bit / 8) | byte(in, bit / 8 + 1) << 8;
                    put(fragment, two >> (bit % 8) & ((1u << bits) - 1));
                }
            }
        }
        return first_difference(want, out);
    };
    return made;
}

TensorProgram transposed() {
    TensorProgram made;
    made.opcodes = {"movmatrix.sync.aligned.m8n8.trans.b16"};
    made.ptx = kernel_head("sm_90") + "ld.global.b32 %r1, [%in];\n" + made.opcodes[0] +
               " %r2, %r1;\nst.global.b32 [%out], %r2;\nret;\n}\n";
    made.in = random_words(ElementType("s8"), warp_lanes, 5);
    made.out_words = warp_lanes;
    made.wrong = [in = made.in](const Words& out) {
        Words want(warp_lanes);
        for (std::size_t row = 0; row < 8; ++row)
            for (std::size_t column = 0; column < 8; ++column)
                want[(row * 8 + column) / 2] |= half(in, column * 8 + row) << (column % 2 * 16);
        return first_difference(want, out);
    };
    return made;
}

/// One matrix in memory, by rows or by columns.
struct Stored {
    ElementType type;
    unsigned rows, columns;
    bool by_columns;

    [[nodiscard]] std::size_t words() const {
        return std::max<std::size_t>(1, std::size_t{rows} * columns * type.bits / 32);
    }
    [[nodiscard]] unsigned stride() const { return by_columns ? rows : columns; }
    [[nodiscard]] std::uint64_t raw(const std::uint32_t* words, unsigned row,
                                    unsigned column) const {
        const std::size_t index =
            by_columns ? std::size_t{column} * rows + row : std::size_t{row} * columns + column;
        const std::size_t bit = index * type.bits;
        if (type.bits == 64) return words[bit / 32] | std::uint64_t{words[bit / 32 + 1]} << 32;
        const std::uint32_t word = words[bit / 32] >> (bit % 32);
        return type.bits == 32 ? word : word & ((1u << type.bits) - 1);
    }
    void read(const std::uint32_t* words, std::vector<double>& to) const {
        to.resize(std::size_t{rows} * columns);
        for (unsigned row = 0; row < rows; ++row)
            for (unsigned column = 0; column < columns; ++column)
                to[row * columns + column] = type.value(raw(words, row, column));
    }
};

struct Wmma {
    unsigned m, n, k;
    std::string_view a, c, d;
    bool a_by_columns = false, b_by_columns = true, c_by_columns = false;
    std::string_view modifier = {};
    std::string_view operation = {};  ///< ".xor.popc"
};

/// Registers of a fragment of `elements` elements.
unsigned wmma_registers(std::string_view type, unsigned elements) {
    const ElementType element(type);
    if (type == "f64") return elements / warp_lanes;
    return std::max(1u, elements * element.bits / 32 / warp_lanes);
}

TensorProgram wmma_program(const Wmma& op) {
    const Stored a{ElementType(op.a), op.m, op.k, op.a_by_columns};
    const Stored b{ElementType(op.a), op.k, op.n, op.b_by_columns};
    const Stored c{ElementType(op.c), op.m, op.n, op.c_by_columns};
    const Stored d{ElementType(op.d), op.m, op.n, op.c_by_columns};
    const auto layout = [](bool by_columns) { return by_columns ? "col" : "row"; };
    const std::string shape = fmt::format("m{}n{}k{}", op.m, op.n, op.k);
    const char letter = op.a == "f64" ? 'd' : 'r';
    // A fragment of halves always has eight registers.
    const unsigned a_count = op.a == "f16" ? 8 : wmma_registers(op.a, op.m * op.k);
    const unsigned b_count = op.a == "f16" ? 8 : wmma_registers(op.a, op.k * op.n);
    const std::string a_list = register_list(letter, 0, a_count);
    const std::string b_list = register_list(letter, 10, b_count);
    const std::string c_list = register_list(letter, 20, wmma_registers(op.c, op.m * op.n));
    const std::string d_list = register_list(letter, 30, wmma_registers(op.d, op.m * op.n));
    const std::string types = op.a == "f16" ? fmt::format("{}.{}", op.d, op.c)
                                            : fmt::format("{}.{}.{}.{}", op.d, op.a, op.a, op.c);
    TensorProgram made;
    made.opcodes = {
        fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{}", layout(op.a_by_columns), shape,
                    op.a),
        fmt::format("wmma.load.b.sync.aligned.{}.{}.global.{}", layout(op.b_by_columns), shape,
                    op.a),
        fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{}", layout(op.c_by_columns), shape,
                    op.c),
        fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{}{}", op.operation, layout(op.a_by_columns),
                    layout(op.b_by_columns), shape, types, op.modifier),
        fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{}", layout(op.c_by_columns), shape,
                    op.d)};
    std::string text = kernel_head("sm_90");
    text += "sub.u64 %in, %in, %lane;\nsub.u64 %out, %out, %lane;\n";
    text += fmt::format("{} {}, [%in], {};\n", made.opcodes[0], a_list, a.stride());
    text +=
        fmt::format("{} {}, [%in+{}], {};\n", made.opcodes[1], b_list, a.words() * 4, b.stride());
    text += fmt::format("{} {}, [%in+{}], {};\n", made.opcodes[2], c_list,
                        (a.words() + b.words()) * 4, c.stride());
    text += fmt::format("{} {}, {}, {}, {};\n", made.opcodes[3], d_list, a_list, b_list, c_list);
    text += fmt::format("{} [%out], {}, {};\nret;\n}}\n", made.opcodes[4], d_list, d.stride());
    made.ptx = std::move(text);
    for (const Stored* one : {&a, &b, &c}) {
        const Words words = random_words(one->type, one->words(), 7 + made.in.size());
        made.in.insert(made.in.end(), words.begin(), words.end());
    }
    made.out_words = d.words();
    made.wrong = [=, in = made.in](const Words& out) -> std::string {
        Operands of{op.m, op.n, op.k, {}, {}, {}};
        a.read(in.data(), of.a);
        b.read(in.data() + a.words(), of.b);
        c.read(in.data() + a.words() + b.words(), of.c);
        if (!op.operation.empty()) count_bits(of, op.operation);
        const Judge judge{d.type, 25, d.type.bits == 16 ? 10 : 23, !op.modifier.empty(),
                          op.a == "f64"};
        for (unsigned row = 0; row < op.m; ++row) {
            for (unsigned column = 0; column < op.n; ++column) {
                std::string why = judged(judge, of, row, column, d.raw(out.data(), row, column));
                if (!why.empty()) return why;
            }
        }
        return {};
    };
    return made;
}

constexpr unsigned group_threads = 128;
constexpr unsigned matrix_words = 4096;  ///< Words of shared memory for each matrix.

struct Wgmma {
    unsigned n, k;
    std::string_view d, a, b;
    unsigned swizzle;  ///< Bytes of a row of the pattern: 16 for none, 32, 64 or 128.
    bool a_by_columns = false, b_by_rows = false;
};

/// Where the byte of element k of a row of a, or of a column of b, lies: 9.7.15.5. Without a
/// swizzle, cores of 8 by 16 bytes follow each other; `along` says that elements along k do too.
unsigned stored_byte(const Wgmma& op, unsigned line, unsigned k, unsigned bytes, bool along) {
    const unsigned inner = (along ? k : line) * bytes;  // In the dimension of consecutive bytes.
    const unsigned outer = along ? line : k;
    unsigned address = 0;
    if (op.swizzle == 16) {
        address = inner / 16 * (along ? 128 : 1024) + outer / 8 * (along ? 1024 : 128) +
                  outer % 8 * 16 + inner % 16;
    } else {
        address = inner / op.swizzle * 4096 + outer / 8 * 8 * op.swizzle + outer % 8 * op.swizzle +
                  inner % op.swizzle;
    }
    if (op.swizzle == 128) return address ^ (address >> 7 & 7) << 4;
    if (op.swizzle == 64) return address ^ (address >> 7 & 3) << 4;
    return op.swizzle == 32 ? address ^ (address >> 7 & 1) << 4 : address;
}

/// A descriptor without the address.
std::uint64_t descriptor(const Wgmma& op, bool along) {
    std::uint64_t leading = along ? 128 : 128;
    std::uint64_t stride = 1024;
    if (op.swizzle != 16) {
        leading = along ? 16 : 4096;
        stride = 8 * op.swizzle;
    }
    const std::uint64_t mode = op.swizzle == 16    ? 0
                               : op.swizzle == 128 ? 1
                               : op.swizzle == 64  ? 2
                                                   : 3;
    return leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

TensorProgram wgmma_program(const Wgmma& op) {
    const ElementType a_type(op.a);
    const ElementType b_type(op.b);
    const ElementType d_type(op.d);
    const unsigned registers = op.n / (op.d == "f16" ? 4 : 2);
    TensorProgram made;
    made.opcodes = {fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}", op.n, op.k, op.d,
                                op.a, op.b)};
    made.threads = group_threads;
    std::string text = kernel_head("sm_90a", ".shared .align 1024 .b8 buffer[32768];\n");
    text += fill_shared(2 * matrix_words / group_threads, group_threads);
    text += "fence.proxy.async;\nbar.sync 0;\nshr.u32 %t4, %t5, 4;\ncvt.u64.u32 %d0, %t4;\n";
    text += fmt::format("add.u64 %d1, %d0, {};\nor.b64 %d0, %d0, {};\nor.b64 %d1, %d1, {};\n",
                        matrix_words * 4 / 16, descriptor(op, !op.a_by_columns),
                        descriptor(op, !op.b_by_rows));
    for (unsigned k = 0; k < registers; ++k)
        text += fmt::format("ld.global.b32 %r{}, [%in+{}];\n", k,
                            (2 * matrix_words + k * group_threads) * 4);
    text += "setp.eq.u32 %p1, %t0, %t0;\nwgmma.fence.sync.aligned;\n";
    text += fmt::format("{} {}, %d0, %d1, %p1", made.opcodes[0], register_list('r', 0, registers));
    if (a_type.is_real()) text += ", 1, -1";
    if (a_type.bits == 16) text += fmt::format(", {}, {}", int{op.a_by_columns}, int{op.b_by_rows});
    text += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    for (unsigned k = 0; k < registers; ++k)
        text += fmt::format("st.global.b32 [%out+{}], %r{};\n", k * group_threads * 4, k);
    made.ptx = text + "ret;\n}\n";
    made.in = random_words(a_type, matrix_words, 21);
    for (const auto& [type, count] :
         {std::pair{b_type, matrix_words}, std::pair{d_type, registers * group_threads}}) {
        const Words words = random_words(type, count, 31 + made.in.size());
        made.in.insert(made.in.end(), words.begin(), words.end());
    }
    made.out_words = std::size_t{registers} * group_threads;
    made.wrong = [=, in = made.in](const Words& out) -> std::string {
        Operands of{64, op.n, op.k, {}, {}, {}};
        const auto element = [&](const ElementType& type, std::size_t first, unsigned line,
                                 unsigned k, bool along) {
            const unsigned byte = stored_byte(op, line, k, type.bits / 8, along);
            const std::uint32_t word = in[first + byte / 4] >> (byte % 4 * 8);
            return type.value(type.bits == 32 ? word : word & ((1u << type.bits) - 1));
        };
        const double sign = a_type.is_real() ? -1 : 1;  // The scale of b.
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned k = 0; k < op.k; ++k)
                of.a.push_back(element(a_type, 0, row, k, !op.a_by_columns));
        for (unsigned k = 0; k < op.k; ++k)
            for (unsigned column = 0; column < op.n; ++column)
                of.b.push_back(sign * element(b_type, matrix_words, column, k, !op.b_by_rows));
        of.c.resize(std::size_t{64} * op.n);
        // Thread t has the elements of d in the rows t / 4 and 8 further: 9.7.15.5.1.
        const auto raw = [&](const std::uint32_t* from, unsigned row, unsigned column) {
            const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
            const unsigned i = column / 8 * 4 + row / 8 % 2 * 2 + column % 2;
            if (d_type.bits == 32) return from[i * group_threads + thread];
            return from[i / 2 * group_threads + thread] >> (i % 2 * 16) & 0xffff;
        };
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned column = 0; column < op.n; ++column)
                of.c[row * op.n + column] =
                    d_type.value(raw(in.data() + 2 * matrix_words, row, column));
        const bool is_byte = a_type.bits == 8 && a_type.is_real();
        const Judge judge{d_type, is_byte ? 13 : 25, d_type.bits == 16 ? 10 : is_byte ? 13 : 23};
        for (unsigned row = 0; row < 64; ++row) {
            for (unsigned column = 0; column < op.n; ++column) {
                std::string why = judged(judge, of, row, column, raw(out.data(), row, column));
                if (!why.empty()) return why;
            }
        }
        return {};
    };
    return made;
}

void add_wmma(std::vector<TensorProgram>& all) {
    const auto add = [&](const Wmma& op) { all.push_back(wmma_program(op)); };
    constexpr std::array<std::array<unsigned, 2>, 3> sizes{{{16, 16}, {8, 32}, {32, 8}}};
    for (const auto& [m, n] : sizes) {
        for (unsigned layouts = 0; layouts < 8; ++layouts) {
            const bool a = (layouts & 1) != 0;
            const bool b = (layouts & 2) != 0;
            const bool c = (layouts & 4) != 0;
            for (const std::string_view from : {"f16", "f32"})
                for (const std::string_view to : {"f16", "f32"})
                    add({m, n, 16, "f16", from, to, a, b, c});
            add({m, n, 16, "bf16", "f32", "f32", a, b, c});
            add({m, n, 16, "s8", "s32", "s32", a, b, c});
            add({m, n, 16, "u8", "s32", "s32", a, b, c, ".satfinite"});
        }
    }
    for (unsigned layouts = 0; layouts < 8; ++layouts) {
        const bool a = (layouts & 1) != 0;
        const bool b = (layouts & 2) != 0;
        const bool c = (layouts & 4) != 0;
        add({16, 16, 8, "tf32", "f32", "f32", a, b, c});
        add({8, 8, 4, "f64", "f64", "f64", a, b, c});
    }
    add({8, 8, 32, "s4", "s32", "s32"});
    add({8, 8, 32, "u4", "s32", "s32", false, true, true, ".satfinite"});
    add({8, 8, 128, "b1", "s32", "s32", false, true, false, {}, ".xor.popc"});
    add({8, 8, 128, "b1", "s32", "s32", false, true, false, {}, ".and.popc"});
}

void add_wgmma(std::vector<TensorProgram>& all) {
    const auto add = [&](const Wgmma& op) { all.push_back(wgmma_program(op)); };
    for (const unsigned swizzle : {16u, 32u, 64u, 128u}) {
        for (unsigned layouts = 0; layouts < 4; ++layouts)
            add({64, 16, "f32", "f16", "f16", swizzle, (layouts & 1) != 0, (layouts & 2) != 0});
        add({32, 16, "f16", "f16", "f16", swizzle});
        add({16, 16, "f32", "bf16", "bf16", swizzle});
        add({8, 8, "f32", "tf32", "tf32", swizzle});
        for (const std::string_view d : {"f16", "f32"})
            add({24, 32, d, "e4m3", "e5m2", swizzle});
        add({48, 32, "s32", "s8", "u8", swizzle});
    }
    add({96, 16, "f32", "f16", "f16", 128});
}

}  // namespace

std::vector<TensorProgram> memory_programs() {
    std::vector<TensorProgram> all;
    for (const unsigned count : {1u, 2u, 4u}) {
        for (const bool turned : {false, true}) {
            all.push_back(moved(false, count, turned));
            all.push_back(moved(true, count, turned));
        }
    }
    for (const unsigned count : {1u, 2u, 4u}) {
        all.push_back(moved_bytes(true, count, 8));
        for (const unsigned bits : {8u, 6u, 4u})
            if (count < 4) all.push_back(moved_bytes(false, count, bits));
    }
    all.push_back(transposed());
    add_wmma(all);
    add_wgmma(all);
    return all;
}

}  // namespace lode::emulator::exec::testing
