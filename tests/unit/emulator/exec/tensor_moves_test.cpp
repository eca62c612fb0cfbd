// Moves from and to tensor memory, its allocation, and what a kernel does wrong with it.
// tensor_memory_test.cpp compares products.
#include "tests/unit/emulator/exec/support.hpp"
#include "tests/unit/emulator/exec/tensor_programs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

constexpr unsigned four_warps = 128;

/// A kernel of 128 threads: %t1 is the address of 512 columns, %t2 that of the warp's lanes, %p3
/// is true in thread 0. The shared buffer has 16 KiB, which hold the first words of `in`.
std::string allocated_kernel(const std::string& body, std::string_view target = "sm_103a") {
    std::string text = kernel_head(
        target, ".shared .align 1024 .b8 buffer[16384];\n.shared .align 16 .b32 place;\n");
    text.replace(text.find(".version 8.7"), 12, ".version 8.8");
    text += "mov.u32 %t5, buffer;\nshl.b32 %t6, %t0, 2;\nadd.u32 %t6, %t6, %t5;\n";
    for (unsigned k = 0; k < 32; ++k)
        text += fmt::format("ld.global.b32 %t7, [%in+{0}];\nst.shared.b32 [%t6+{0}], %t7;\n",
                            k * four_warps * 4);
    return text +
           "setp.lt.u32 %p2, %t0, 32;\nsetp.eq.u32 %p3, %t0, 0;\nmov.u32 %r100, place;\n@!%p2 bra "
           "allocated;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r100], 512;\n"
           "allocated:\nbar.sync 0;\nld.shared.b32 %t1, [%r100];\nand.b32 %t2, %t0, 96;\n"
           "shl.b32 %t2, %t2, 16;\nadd.u32 %t2, %t2, %t1;\n" +
           body +
           "bar.sync 0;\n@!%p2 bra freed;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %t1, "
           "512;\nfreed:\nret;\n}\n";
}

/// Stores the word k * 128 + thread of `in` to column k of the thread's lane.
std::string fill_columns(unsigned count, unsigned first = 0) {
    std::string text;
    for (unsigned k = 0; k < count; ++k)
        text += fmt::format(
            "ld.global.b32 %r1, [%in+{}];\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%t2+{}], "
            "{{%r1}};\n",
            k * four_warps * 4, first + k);
    return text + "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n";
}
std::string read_columns(unsigned count, unsigned first = 0) {
    std::string text = "bar.sync 0;\n";
    for (unsigned k = 0; k < count; ++k)
        text += fmt::format(
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r1}}, [%t2+{}];\nst.global.b32 [%out+{}], "
            "%r1;\n",
            first + k, k * four_warps * 4);
    return text + "tcgen05.wait::ld.sync.aligned;\n";
}

Words counted(std::size_t count) {
    Words words(count);
    for (std::size_t k = 0; k < count; ++k)
        words[k] = static_cast<std::uint32_t>(k * 0x1003'0507u + 0x8642'1357u);
    return words;
}

LaunchOutcome run_moves(const std::string& ptx, const Words& in, Words& out) {
    Rig rig;
    const auto module = rig.load(ptx, 10, 3);
    const Refusal* const refusal = module->refusal("k");
    INFO((refusal != nullptr ? refusal->message : std::string()));
    REQUIRE(refusal == nullptr);
    const std::uint64_t from = rig.put(in);
    const std::uint64_t to = rig.put(out);
    const auto outcome = rig.run(*module, "k", {1}, {four_warps}, from, to, to);
    out = rig.get<std::uint32_t>(to, out.size());
    return outcome;
}

/// The lane and column of a register: PTX ISA 9.0, 9.7.16.2.3, as of the sums of mma.m16n8.
struct Cell {
    unsigned lane, column;
};
Cell cell_of(std::string_view shape, unsigned t, unsigned r) {
    if (shape == "32x32b") return {t, r};
    if (shape == "16x32bx2") return {t % 16, t < 16 ? r : 40 + r};
    if (shape == "16x64b") return {t / 4 + (t % 2 != 0 ? 8u : 0u), 2 * r + (t % 4) / 2};
    if (shape == "16x128b") return {t / 4 + (r % 2 != 0 ? 8u : 0u), r / 2 * 4 + t % 4};
    return {t / 4 + (r % 4 >= 2 ? 8u : 0u), r / 4 * 8 + t % 4 * 2 + r % 2};
}

constexpr unsigned all_columns = 128;

void check_move(std::string_view shape, unsigned number, unsigned registers, bool stores,
                bool packs) {
    const std::string opcode =
        fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", stores ? "st" : "ld", shape, number,
                    packs ? stores ? ".unpack::16b" : ".pack::16b" : "");
    CAPTURE(opcode);
    const bool low = shape != "32x32b";  // The upper 16 lanes of the warp's quarter.
    const bool halves = shape == "16x32bx2";
    const std::string address = fmt::format("[%t2+{}]", low ? 16 << 16 : 0);
    std::string body = fill_columns(all_columns);
    for (unsigned k = 0; k < registers && stores; ++k)
        body +=
            fmt::format("ld.global.b32 %r{}, [%in+{}];\n", k, (all_columns + k) * four_warps * 4);
    if (stores) {
        body += fmt::format("{} {}{}, {};\n", opcode, address, halves ? ", 40" : "",
                            register_list('r', 0, registers));
        body += read_columns(all_columns);
    } else {
        body += fmt::format("{} {}, {}{};\n", opcode, register_list('r', 0, registers), address,
                            halves ? ", 40" : "");
        for (unsigned k = 0; k < registers; ++k)
            body += fmt::format("st.global.b32 [%out+{}], %r{};\n", k * four_warps * 4, k);
    }
    const Words in = counted(std::size_t{2} * all_columns * four_warps);
    Words out((stores ? all_columns : registers) * four_warps);
    Words want(out.size());
    if (stores) std::copy_n(in.begin(), want.size(), want.begin());
    const std::size_t second = std::size_t{all_columns} * four_warps;
    for (unsigned thread = 0; thread < four_warps; ++thread) {
        for (unsigned r = 0; r < registers; ++r) {
            const Cell cell = cell_of(shape, thread % 32, r);
            const unsigned lane = thread / 32 * 32 + (low ? 16 : 0) + cell.lane;
            const bool upper = halves && cell.column >= 40;
            const unsigned column = !packs  ? cell.column
                                    : upper ? 40 + 2 * (cell.column - 40)
                                            : 2 * cell.column;
            const std::size_t at = std::size_t{column} * four_warps + lane;
            const std::size_t value = std::size_t{r} * four_warps + thread;
            if (stores) {
                const std::uint32_t word = in[second + value];
                want[at] = packs ? word & 0xffff : word;
                if (packs) want[at + four_warps] = word >> 16;
            } else {
                want[value] = packs ? (in[at] & 0xffff) | in[at + four_warps] << 16 : in[at];
            }
        }
    }
    const auto outcome = run_moves(allocated_kernel(body), in, out);
    CAPTURE(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    CHECK(std::ranges::equal(out, want));
}

void check_fault(const std::string& body, std::string_view text, Fault fault) {
    Words out(1);
    const auto outcome = run_moves(allocated_kernel(body), counted(8192), out);
    CAPTURE(outcome.report);
    CHECK(outcome.fault == fault);
    CHECK(outcome.report.find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("tensor memory: moves of every shape and number from and to registers") {
    for (const bool stores : {false, true}) {
        for (const bool packs : {false, true}) {
            for (unsigned registers = 1; registers <= 64; registers *= 2) {
                if (packs && registers > 32) continue;
                check_move("32x32b", registers, registers, stores, packs);
                if (registers <= 32) check_move("16x64b", registers, registers, stores, packs);
                if (registers >= 2) check_move("16x128b", registers / 2, registers, stores, packs);
                if (registers >= 4) check_move("16x256b", registers / 4, registers, stores, packs);
                if (registers <= (packs ? 16 : 32))
                    check_move("16x32bx2", registers, registers, stores, packs);
            }
        }
    }
    check_move("32x32b", 128, 128, false, false);
    check_move("16x64b", 64, 64, true, false);
}

TEST_CASE("tensor memory: loads with a reduction") {
    const auto reduced = [](std::string_view what, auto&& combine) {
        CAPTURE(what);
        const std::string body =
            fill_columns(8) + fmt::format(
                                  "tcgen05.ld.red.sync.aligned.32x32b.x8.{} {}, %r20, [%t2];\n"
                                  "st.global.b32 [%out], %r20;\nst.global.b32 [%out+512], %r7;\n",
                                  what, register_list('r', 0, 8));
        const Words in = counted(std::size_t{32} * four_warps);
        Words out(2 * four_warps);
        const auto outcome = run_moves(allocated_kernel(body), in, out);
        CAPTURE(outcome.report);
        REQUIRE(outcome.fault == Fault::none);
        for (unsigned t = 0; t < four_warps; ++t) {
            std::uint32_t want = in[t];
            for (unsigned k = 1; k < 8; ++k)
                want = combine(want, in[k * four_warps + t]);
            CHECK(out[t] == want);
            CHECK(out[four_warps + t] == in[7 * four_warps + t]);
        }
    };
    using Word = std::uint32_t;
    const auto number = [](Word bits) { return std::bit_cast<float>(bits); };
    reduced("min.u32", [](Word a, Word b) { return std::min(a, b); });
    reduced("max.u32", [](Word a, Word b) { return std::max(a, b); });
    reduced("min.s32", [](Word a, Word b) {
        return static_cast<Word>(std::min(static_cast<int>(a), static_cast<int>(b)));
    });
    const auto extreme = [&](bool greatest) {
        return [number, greatest](Word a, Word b) {
            if (std::isnan(number(a))) return b;
            if (std::isnan(number(b))) return a;
            return (number(a) > number(b)) == greatest ? a : b;
        };
    };
    reduced("max.f32", extreme(true));
    reduced("min.f32", extreme(false));
}

TEST_CASE("tensor memory: copies from shared memory, and shifts") {
    struct Copy {
        std::string_view name;
        unsigned rows, words;
        std::function<std::vector<unsigned>(unsigned)> lanes;
    };
    const auto repeated = [](unsigned first, unsigned step, unsigned count) {
        std::vector<unsigned> made;
        for (unsigned k = 0; k < count; ++k)
            made.push_back(first + k * step);
        return made;
    };
    const Copy copies[] = {
        {"128x256b", 128, 8, [&](unsigned r) { return repeated(r, 0, 1); }},
        {"4x256b", 4, 8, [&](unsigned r) { return repeated(32 * r, 0, 1); }},
        {"128x128b", 128, 4, [&](unsigned r) { return repeated(r, 0, 1); }},
        {"64x128b.warpx2::02_13", 64, 4, [&](unsigned r) { return repeated(r, 64, 2); }},
        {"64x128b.warpx2::01_23", 64, 4,
         [&](unsigned r) { return repeated(r % 32 + r / 32 * 64, 32, 2); }},
        {"32x128b.warpx4", 32, 4, [&](unsigned r) { return repeated(r, 32, 4); }}};
    for (const Copy& copy : copies) {
        for (const unsigned bits : {8u, 6u, 4u}) {
            CAPTURE(copy.name);
            CAPTURE(bits);
            // Without a swizzle: cores of 8 rows of 16 bytes, the next 16 bytes 2048 further.
            const std::uint64_t descriptor = 2048ull >> 4 << 16 | 128ull >> 4 << 32 | 1ull << 46;
            std::string body = fill_columns(8);
            body += fmt::format(
                "shr.u32 %t4, %t5, 4;\ncvt.u64.u32 %d0, %t4;\nor.b64 %d0, %d0, {};\n@%p3 "
                "tcgen05.cp.cta_group::1.{}{} [%t1], %d0;\n",
                descriptor, copy.name,
                bits == 8   ? ""
                : bits == 6 ? ".b8x16.b6x16_p32"
                            : ".b8x16.b4x16_p64");
            body += read_columns(8);
            const Words in = counted(4096);
            Words out(8 * four_warps);
            const auto outcome = run_moves(allocated_kernel(body), in, out);
            CAPTURE(outcome.report);
            REQUIRE(outcome.fault == Fault::none);
            Words want(in.begin(), in.begin() + 8 * four_warps);
            for (unsigned row = 0; row < copy.rows; ++row) {
                for (unsigned byte = 0; byte < copy.words * 4; ++byte) {
                    const unsigned first = row * 16 + byte / 16 * 2048;
                    const unsigned bit = first * 8 + byte % 16 * bits;
                    const std::uint64_t two =
                        in[bit / 32] | std::uint64_t{in[std::min(bit / 32 + 1, 4095u)]} << 32;
                    auto number =
                        static_cast<std::uint32_t>(two >> (bit % 32)) & ((1u << bits) - 1);
                    if (bits == 4) number <<= 2;
                    for (const unsigned lane : copy.lanes(row)) {
                        std::uint32_t& word = want[byte / 4 * four_warps + lane];
                        word &= ~(0xffu << (byte % 4 * 8));
                        word |= number << (byte % 4 * 8);
                    }
                }
            }
            CHECK(std::ranges::equal(out, want));
        }
    }
    const Words in = counted(4096);
    Words out(16 * four_warps);
    const auto outcome =
        run_moves(allocated_kernel(
                      fill_columns(16) +
                      "add.u32 %t4, %t1, 4194308;\n@%p3 tcgen05.shift.cta_group::1.down [%t4];\n" +
                      read_columns(16)),
                  in, out);
    CAPTURE(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    for (unsigned column = 0; column < 16; ++column) {
        for (unsigned lane = 0; lane < four_warps; ++lane) {
            const bool moves = column >= 4 && column < 12 && lane >= 64 && lane < 95;
            CHECK(out[column * four_warps + lane] ==
                  in[column * four_warps + lane + (moves ? 1 : 0)]);
        }
    }
}

TEST_CASE("tensor memory: columns are reused, and allocations wait for them") {
    // Warp 1 waits until warp 0 has freed its columns.
    const std::string text = kernel_head("sm_100a", ".shared .b32 places[2];\n") +
                             "mov.u32 %r1, places;\nshr.u32 %r2, %t0, 5;\nmad.lo.u32 %r1, %r2, 4, "
                             "%r1;\nsetp.eq.u32 %p1, %r2, 0;\n@!%p1 bra wait;\n"
                             "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 512;\n"
                             "wait:\nbar.sync 0;\n@%p1 bra free;\n"
                             "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 64;\nfree:\n"
                             "@%p1 nanosleep.u32 100;\n"
                             "ld.shared.b32 %r3, [%r1];\nmov.u32 %r4, 64;\n@%p1 mov.u32 %r4, 512;\n"
                             "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, %r4;\n"
                             "st.global.b32 [%out], %r3;\nret;\n}\n";
    Rig rig;
    const auto module = rig.load(text, 10, 0);
    const std::uint64_t out = rig.put(Words(64, 7));
    const auto outcome = rig.run(*module, "k", {1}, {64}, out, out, out);
    CAPTURE(outcome.report);
    CHECK(outcome.fault == Fault::none);
    CHECK(rig.get<std::uint32_t>(out, 64) == Words(64, 0));
}

TEST_CASE("tensor memory: what a kernel does wrong is named") {
    check_fault("add.u32 %t4, %t2, 508;\ntcgen05.ld.sync.aligned.32x32b.x8.b32 " +
                    register_list('r', 0, 8) + ", [%t4];\n",
                "tensor memory, which has 128 lanes and 512 columns", Fault::illegal_address);
    check_fault(
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%t1];\n",
        "reads lanes of tensor memory that another warp has\n  address: lanes 0 to 31; warp 1 "
        "has lanes 32 to 63",
        Fault::illegal_address);
    check_fault("mov.u32 %r1, 48;\n@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t1, %r1;\n",
                "frees 48 columns of tensor memory at 0x0, where 512 are allocated",
                Fault::illegal_instruction);
    check_fault(
        "@!%p2 exit;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r100], "
        "32;\n",
        "is deadlocked: it waits for 32 columns of tensor memory, of whose 512 columns 512 are "
        "allocated\n  warp 0 (lanes 0xffffffff) waits",
        Fault::launch_timeout);
    // Other warps wait, too.
    check_fault(
        "@!%p2 bra wait;\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r100], 64;\n"
        "wait:\nbar.sync 0;\n",
        "waits for 64 columns of tensor memory, of whose 512 columns 512 are allocated",
        Fault::launch_timeout);
    check_fault(
        "@%p2 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n@%p2 "
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r100], 32;\n",
        "allocates tensor memory after giving up the right to", Fault::illegal_instruction);
    check_fault("exit;\n", "ends with 512 columns of tensor memory allocated\n  block: (0,0,0)",
                Fault::launch_failed);
    const auto product = [](std::uint32_t instruction, std::uint64_t descriptor) {
        return fmt::format(
            "mov.b32 %r4, {};\nmov.b64 %d0, {};\nsetp.eq.u32 %p1, %t0, 0;\n@%p3 "
            "tcgen05.mma.cta_group::1.kind::f16 [%t1], %d0, %d0, %r4, %p1;\n",
            instruction, descriptor);
    };
    constexpr std::uint64_t right = 1ull << 46;
    check_fault(product(0x0808'0010 | 1 << 17, right), "the sizes m = 128 and n = 40, which",
                Fault::illegal_instruction);
    check_fault(product(0x0808'0014, right), "another sparsity than the instruction",
                Fault::illegal_instruction);
    check_fault(product(0x0808'0110, right), "a type that the instruction's kind lacks",
                Fault::illegal_instruction);
    check_fault(product(0x0808'0010, 0), "bits 46 to 48 aren't 0b001", Fault::illegal_instruction);
    check_fault(product(0x0808'0010, right | 3ull << 61), "with the swizzle 3",
                Fault::illegal_instruction);
}
