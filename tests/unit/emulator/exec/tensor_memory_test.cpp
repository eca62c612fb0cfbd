// Products in tensor memory (tcgen05.mma) against the definition of a product. The layouts are
// written from the PTX ISA and from those of CUTLASS, apart from the emulator's.
#include "tests/unit/emulator/exec/support.hpp"
#include "tests/unit/emulator/exec/tensor_memory_cases.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

using Case = TensorCase;

/// Loads and stores columns of the lane of each thread.
std::string copy_columns(bool stores, unsigned first, unsigned count, std::size_t word) {
    std::string text;
    for (unsigned k = 0; k < count; ++k) {
        const std::size_t byte = (word + std::size_t{k} * rows_of_memory) * 4;
        if (stores) {
            text += fmt::format(
                "ld.global.b32 %r1, [%in+{}];\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%t2+{}], "
                "{{%r1}};\n",
                byte, first + k);
        } else {
            text += fmt::format(
                "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r1}}, [%t2+{}];\nst.global.b32 "
                "[%out+{}], "
                "%r1;\n",
                first + k, byte);
        }
    }
    return text;
}

std::string kernel_of(const Case& one) {
    const std::string group = fmt::format(".cta_group::{}", one.blocks);
    const bool pair = one.blocks == 2;
    std::string text = kernel_head(
        "sm_100a",
        ".shared .align 1024 .b8 buffer[32768];\n.shared .b32 place;\n.shared .b64 done;\n");
    text.replace(text.find(".version 8.7"), 12, ".version 8.8");
    text += fmt::format(
        "mov.u32 %t6, %ctaid.x;\nmul.wide.u32 %d9, %t6, {};\nadd.u64 %in, %in, %d9;\n"
        "mul.wide.u32 %d9, %t6, {};\nadd.u64 %out, %out, %d9;\n",
        one.words() * 4, one.n * rows_of_memory * 4);
    text += "mov.u32 %t5, buffer;\nshl.b32 %t6, %t0, 2;\nadd.u32 %t6, %t6, %t5;\n";
    for (unsigned k = 0; k < 2 * words_of_matrix / rows_of_memory; ++k)
        text += fmt::format("ld.global.b32 %t7, [%in+{0}];\nst.shared.b32 [%t6+{0}], %t7;\n",
                            k * rows_of_memory * 4);
    text +=
        "setp.lt.u32 %p2, %t0, 32;\nsetp.eq.u32 %p3, %t0, 0;\nmov.u32 %r2, place;\n"
        "mov.u32 %r3, done;\n@%p3 mbarrier.init.shared.b64 [%r3], 1;\nbar.sync 0;\n@!%p2 bra "
        "allocated;\n";
    text += fmt::format(
        "tcgen05.alloc{0}.sync.aligned.shared::cta.b32 [%r2], 512;\n"
        "tcgen05.relinquish_alloc_permit{0}.sync.aligned;\nallocated:\n",
        group);
    text +=
        "bar.sync 0;\nld.shared.b32 %t1, [%r2];\nand.b32 %t2, %t0, 96;\nshl.b32 %t2, %t2, 16;\n"
        "add.u32 %t2, %t2, %t1;\n";
    text += copy_columns(true, 0, one.n, 2 * words_of_matrix);
    text += copy_columns(true, 256, extra_columns,
                         2 * words_of_matrix + std::size_t{one.n} * rows_of_memory);
    text += "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\n";
    text += pair ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\nmov.u32 %t6, "
                   "%cluster_ctarank;\nsetp.eq.and.u32 %p3, %t6, 0, %p3;\n"
                 : "bar.sync 0;\n";
    text += "tcgen05.fence::after_thread_sync;\n@!%p3 bra issued;\n";
    text += fmt::format(
        "shr.u32 %t4, %t5, 4;\ncvt.u64.u32 %d0, %t4;\nadd.u64 %d1, %d0, {};\nor.b64 %d0, %d0, "
        "{};\nor.b64 %d1, %d1, {};\nmov.b32 %r4, {};\nsetp.ne.u32 %p1, {}, 0;\n",
        words_of_matrix * 4 / 16, descriptor_of(one, !one.a_by_columns),
        descriptor_of(one, !one.b_by_rows), instruction(one), int{one.adds});
    for (unsigned k = 0; k < 8; ++k)
        text += fmt::format("mov.b32 %r{}, {};\n", 10 + k, one.disables ? 0xf0f0'1234u + k : 0);
    const auto place = [](unsigned column) { return fmt::format("[%t1+{}]", 256 + column); };
    text += fmt::format("tcgen05.mma{}{}{}.kind::{}{} [%t1], {}, %d1, ",
                        one.stationary ? ".ws" : "", one.sparse ? ".sp" : "", group, one.kind,
                        one.modifier, one.a_in_memory ? place(a_column) : "%d0");
    if (one.sparse) text += place(metadata_column) + ", ";
    text += "%r4, ";
    if (one.scales != 0) text += place(a_scale_column) + ", " + place(b_scale_column) + ", ";
    if (one.disables) text += register_list('r', 10, 4 * one.blocks) + ", ";
    text += "%p1";
    if (one.halvings != 0) text += fmt::format(", {}", one.halvings);
    text += ";\n";
    if (pair) {
        text +=
            "mov.b16 %h1, 3;\ntcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::"
            "cluster.multicast::cluster.b64 [%r3], %h1;\n";
    } else {
        text += "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];\n";
    }
    text +=
        "issued:\nmbarrier.try_wait.parity.shared.b64 %p1, [%r3], 0;\n@!%p1 bra issued;\n"
        "tcgen05.fence::after_thread_sync;\nbar.warp.sync 0xffffffff;\n";
    text += copy_columns(false, 0, one.n, 0);
    text += "tcgen05.wait::ld.sync.aligned;\nbar.sync 0;\n@!%p2 bra freed;\n";
    text += fmt::format("tcgen05.dealloc{}.sync.aligned.b32 %t1, 512;\nfreed:\n", group);
    if (pair) text += "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
    text += "ret;\n}\n";
    text.replace(text.find(".reg .pred"), 0, ".reg .b16 %h<2>;\n");
    return text;
}

/// The input of one block, and readers of its parts.
struct Image {
    const Case& one;
    Words words;

    [[nodiscard]] std::size_t place(unsigned column, unsigned lane) const {
        return 2 * words_of_matrix + std::size_t{one.n + column} * rows_of_memory + lane;
    }
    [[nodiscard]] std::uint32_t cell(unsigned column, unsigned lane) const {
        return words[place(column, lane)];
    }
    [[nodiscard]] std::uint32_t summand(unsigned column, unsigned lane) const {
        return words[2 * words_of_matrix + column * rows_of_memory + lane];
    }
    [[nodiscard]] double element(bool right, unsigned line, unsigned k) const {
        const std::string_view name = right ? one.b : one.a;
        const bool along = right ? !one.b_by_rows : !one.a_by_columns;
        const unsigned bit = stored_bit(one, name, line, k, along);
        const std::size_t at = (right ? words_of_matrix : 0) + bit / 32;
        const std::uint64_t raw = (words[at] | std::uint64_t{words[at + 1]} << 32) >> (bit % 32);
        const bool padded_fours = !one.fours() && name == "e2m1";
        const unsigned bits = one.fours() || padded_fours ? 4 : ElementType(name).bits;
        const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
        return one.type(padded_fours ? "e2m1x2" : name).value(raw & mask);
    }
    /// An element of a in tensor memory, in the lane of the result.
    [[nodiscard]] double element_in_memory(unsigned lane, unsigned k) const {
        const unsigned bits = one.type(one.a).bits;
        const std::uint64_t raw = cell(a_column + k * bits / 32, lane) >> (k * bits % 32);
        return one.type(one.a).value(raw & ((std::uint64_t{1} << bits) - 1));
    }
    [[nodiscard]] double scale(unsigned column, unsigned quarter, unsigned index,
                               unsigned k) const {
        const std::uint32_t word = cell(column + index / 32, quarter * 32 + index % 32);
        const std::uint32_t byte = word >> (8 * (one.scale_byte + k)) & 255;
        const bool whole = one.modifier.find("block16") == std::string_view::npos;
        return whole ? std::ldexp(1.0, static_cast<int>(byte) - 127)
                     : ElementType("e4m3").value(byte);
    }
    /// The four bits of the metadata of a chunk of a row of the block: by index among the bits of
    /// CUTLASS's layouts, a multiple of 128 of which is a column.
    [[nodiscard]] unsigned metadata(unsigned row, unsigned chunk) const {
        unsigned lane = 0;
        unsigned bit = 0;
        const unsigned in_lanes =
            one.rows() == 64 && lane_of(one, 16, 0) == 32 ? row / 16 * 32 + row % 16 : row;
        if (ElementType(one.a).bits >= 16) {
            const unsigned k = chunk * 4;  // A bit for each; of tf32, two elements of 2 bits.
            const unsigned of_half = in_lanes % 8 + in_lanes / 8 % 2 * 2048 + in_lanes / 16 * 16;
            const unsigned index = of_half + k % 16 * 128 + k / 16 * 8;
            lane = index % 128;
            bit = index / 128;
        } else {
            lane = in_lanes;
            bit = chunk * 4;
        }
        return cell(metadata_column + one.selector + bit / 32, lane) >> (bit % 32) & 15;
    }
};

Image image_of(const Case& one, std::uint64_t seed) {
    Image image{one, {}};
    const auto add = [&](std::string_view type, std::size_t count) {
        const Words words = random_words(one.type(type), count, seed + image.words.size());
        image.words.insert(image.words.end(), words.begin(), words.end());
    };
    add(one.a, words_of_matrix);
    add(one.b, words_of_matrix);
    add(one.d, std::size_t{one.n} * rows_of_memory);
    add(one.a, std::size_t{extra_columns} * rows_of_memory);
    lode::corpus::Random random(seed + 5);
    for (unsigned lane = 0; lane < rows_of_memory; ++lane) {
        for (unsigned column = 0; column < 4; ++column) {
            std::uint32_t bits = 0;
            constexpr std::array<std::uint32_t, 6> pairs{0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
            for (unsigned k = 0; k < 8; ++k) {
                const std::uint32_t pair = one.kind == "tf32" ? (random.bits() % 2 != 0 ? 0xe : 0x4)
                                                              : pairs[random.bits() % 6];
                bits |= pair << (4 * k);
            }
            image.words[image.place(metadata_column + column, lane)] = bits;
        }
        for (unsigned column = a_scale_column; column < extra_columns && one.scales != 0;
             ++column) {
            std::uint32_t bits = 0;
            const bool whole = one.modifier.find("block16") == std::string_view::npos;
            for (unsigned k = 0; k < 4; ++k)
                bits |= static_cast<std::uint32_t>(whole ? 124 + random.bits() % 7
                                                         : 0x30 + random.bits() % 24)
                        << (8 * k);
            image.words[image.place(column, lane)] = bits;
        }
    }
    return image;
}

/// The dense row of a that is multiplied into an element, with its scales.
std::vector<double> left_row(const Case& one, const Image& image, unsigned row, unsigned lane) {
    const auto packed = [&](unsigned k) {
        return one.a_in_memory ? image.element_in_memory(lane, k) : image.element(false, row, k);
    };
    std::vector<double> dense(one.depth());
    for (unsigned k = 0; k < one.packed_depth(); ++k) {
        if (!one.sparse) {
            dense[k] = packed(k);
        } else if (one.kind == "tf32") {
            dense[2 * k + (image.metadata(row, k) == 0xe ? 1 : 0)] = packed(k);
        } else {
            const unsigned width = one.fours() ? 2 : 1;
            const unsigned group = k / width;
            const unsigned index = image.metadata(row, group / 2) >> (group % 2 * 2) & 3;
            dense[(group / 2 * 4 + index) * width + k % width] = packed(k);
        }
    }
    return dense;
}

std::string difference(const Case& one, const std::vector<Image>& images, const Words& out) {
    const unsigned part = columns_of_part(one);
    const ElementType type(one.d);
    const Judge judge{type, 25, type.bits == 16 ? 10 : 23};
    for (unsigned row = 0; row < one.m; ++row) {
        const unsigned block = row / one.rows();
        const Image& image = images[block];
        for (unsigned column = 0; column < one.n; ++column) {
            const unsigned lane = lane_of(one, row, column);
            const std::uint32_t before = image.summand(column % part, lane);
            const std::uint32_t after =
                out[(std::size_t{block} * one.n + column % part) * rows_of_memory + lane];
            if (one.disables && ((0xf0f0'1234u + block * 4 + lane / 32) >> (lane % 32) & 1) != 0) {
                if (before != after) return fmt::format("Lane {} has changed.", lane);
                continue;
            }
            Operands of{1, 1, one.depth(), {}, {}, {}};
            of.a = left_row(one, image, row % one.rows(), lane);
            const Image& right = images[column / (one.n / one.blocks)];
            for (unsigned k = 0; k < one.depth(); ++k) {
                of.b.push_back((one.negates ? -1 : 1) *
                               right.element(true, column % (one.n / one.blocks), k));
                if (one.scales == 0) continue;
                const unsigned of_depth = k / (one.depth() / one.scales);
                of.a[k] *= image.scale(a_scale_column, lane / 32, row % one.rows(), of_depth);
                of.b[k] *= image.scale(b_scale_column, lane / 32, column % part, of_depth);
            }
            const double c = type.value(type.bits == 16 ? before & 0xffff : before);
            of.c = {one.adds ? std::ldexp(c, -static_cast<int>(one.halvings)) : 0};
            const std::string why =
                judged(judge, of, 0, 0, type.bits == 16 ? after & 0xffff : after);
            if (!why.empty()) return fmt::format("Row {}, column {}: {}", row, column, why);
        }
    }
    return {};
}

void check(const Case& one) {
    const std::string ptx = kernel_of(one);
    const std::size_t at = ptx.find("tcgen05.mma");
    const std::string line = ptx.substr(at, ptx.find('\n', at) - at);
    INFO(line, " m ", one.m, " n ", one.n, " ", one.a, " ", one.b, " ", one.d, " swizzle ",
         one.swizzle, " by columns ", one.a_by_columns, " by rows ", one.b_by_rows);
    Rig rig;
    const auto module = rig.load(ptx, 10, 0);
    const Refusal* const refusal = module->refusal("k");
    INFO((refusal != nullptr ? refusal->message : std::string()));
    REQUIRE(refusal == nullptr);
    std::vector<Image> images;
    Words in;
    for (unsigned k = 0; k < one.blocks; ++k) {
        images.push_back(image_of(one, 100 + 77 * k));
        in.insert(in.end(), images.back().words.begin(), images.back().words.end());
    }
    const std::uint64_t from = rig.put(in);
    const std::size_t count = std::size_t{one.blocks} * one.n * rows_of_memory;
    const std::uint64_t to = rig.put(Words(count));
    GridShape shape{{one.blocks}, {rows_of_memory}, 0};
    shape.cluster = {one.blocks};
    const auto outcome = rig.machine.launch(
        *module, "k", shape, lode::corpus::Arguments::of(from, to, to).bytes(), rig.options);
    CAPTURE(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    CHECK(difference(one, images, rig.get<std::uint32_t>(to, count)).empty());
}

}  // namespace

TEST_CASE("tensor memory: products of halves and tf32 with every swizzle and order") {
    for (const unsigned swizzle : {16u, 32u, 64u, 128u}) {
        for (unsigned layouts = 0; layouts < 4; ++layouts) {
            const bool a = (layouts & 1) != 0;
            const bool b = (layouts & 2) != 0;
            check({"f16", "f16", "f16", "f32", 128, 32, swizzle, a, b});
            check({"f16", "bf16", "bf16", "f32", 64, 24, swizzle, a, b});
            check({"f8f6f4", "e4m3", "e5m2", "f32", 64, 8, swizzle, a, b});
        }
        check({"f16", "f16", "f16", "f16", 128, 64, swizzle});
        check({"tf32", "tf32", "tf32", "f32", 128, 16, swizzle});
        check({"i8", "s8", "u8", "s32", 128, 32, swizzle});
        check({"f8f6f4", "e2m3", "e2m1", "f32", 128, 16, swizzle});
    }
}

TEST_CASE("tensor memory: products of all types of bytes and less") {
    constexpr std::string_view types[] = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
    for (const std::string_view a : types) {
        for (const std::string_view b : types) {
            check({"f8f6f4", a, b, "f32", 64, 16});
            check({"f8f6f4", a, b, "f16", 128, 16});
            Case scaled{"mxf8f6f4", a, b, "f32", 128, 40};
            scaled.modifier = ".block_scale.block32";
            scaled.scales = 1;
            scaled.scale_byte = a == "e5m2" ? 3 : 1;
            check(scaled);
        }
    }
    for (const std::string_view a : {"s8", "u8"})
        for (const std::string_view b : {"s8", "u8"})
            check({"i8", a, b, "s32", 64, 24});
    for (const std::string_view kind : {"mxf4", "mxf4nvf4"}) {
        for (const unsigned byte : {0u, 2u}) {
            Case scaled{kind, "e2m1", "e2m1", "f32", 128, 48};
            scaled.modifier = ".block_scale.block32";
            scaled.scales = 2;
            scaled.scale_byte = byte;
            check(scaled);
        }
    }
    Case fine{"mxf4nvf4", "e2m1", "e2m1", "f32", 128, 32};
    fine.modifier = ".block_scale.block16";
    fine.scales = 4;
    check(fine);
}

TEST_CASE("tensor memory: the left matrix in tensor memory, by pairs of blocks, and .ws") {
    for (const bool in_memory : {false, true}) {
        for (const auto& [kind, type, d] :
             {std::tuple{"f16", "f16", "f32"}, std::tuple{"tf32", "tf32", "f32"},
              std::tuple{"i8", "s8", "s32"}, std::tuple{"f8f6f4", "e2m1", "f32"}}) {
            Case one{kind, type, type, d};
            one.a_in_memory = in_memory;
            for (const unsigned m : {64u, 128u}) {
                one.m = m;
                check(one);
            }
            one.blocks = 2;
            for (const unsigned m : {128u, 256u}) {
                one.m = m;
                check(one);
            }
            one.blocks = 1;
            one.stationary = true;
            one.n = 64;
            for (const unsigned m : {32u, 64u, 128u}) {
                one.m = m;
                check(one);
            }
        }
    }
}

TEST_CASE("tensor memory: sparse products") {
    for (const auto& [kind, type, d] :
         {std::tuple{"f16", "f16", "f32"}, std::tuple{"f16", "f16", "f16"},
          std::tuple{"tf32", "tf32", "f32"}, std::tuple{"i8", "u8", "s32"},
          std::tuple{"f8f6f4", "e4m3", "f32"}}) {
        Case one{kind, type, type, d};
        one.sparse = true;
        for (const unsigned m : {64u, 128u}) {
            one.m = m;
            check(one);
        }
        if (one.kind == "f16" || one.kind == "tf32") one.selector = 1;
        check(one);
        one.blocks = 2;
        for (const unsigned m : {128u, 256u}) {
            one.m = m;
            check(one);
        }
    }
    for (const auto& [kind, type, modifier, scales] :
         {std::tuple{"mxf8f6f4", "e5m2", ".block_scale.block32", 1u},
          std::tuple{"mxf4", "e2m1", ".block_scale.block32", 2u},
          std::tuple{"mxf4nvf4", "e2m1", ".block_scale.block16", 4u}}) {
        Case one{kind, type, type, "f32"};
        one.sparse = true;
        one.modifier = modifier;
        one.scales = scales;
        check(one);
    }
}

TEST_CASE("tensor memory: negated, halved, absent and disabled parts of products") {
    Case one{"f16", "f16", "f16", "f32"};
    one.negates = true;
    one.halvings = 5;
    check(one);
    one.d = "f16";
    check(one);
    one.disables = true;
    check(one);
    one.blocks = 2;
    one.m = 256;
    check(one);
    one.adds = false;
    one.halvings = 0;
    check(one);
}
