// im2col::w and im2col::w::128 on the executor: pixels of the box, offsets, halos, filling,
// swizzles, copies to several blocks, packed elements, and what a kernel may not ask for.
#include "tests/unit/emulator/exec/wide_pixels.hpp"

#include <random>

namespace lode::emulator::exec::testing::wide {

TEST_CASE("wide pixels: im2col::w loads what an RTX 5080 loads") {
    // A public measurement: 13 pixels of 8 words and a halo of 2, in steps of 2, with an offset
    // of 1.
    constexpr std::array<std::uint32_t, 15> first_words{
        33, 65, 641, 673, 705, 1281, 1313, 1345, 1921, 1953, 1985, 2561, 2593, 2625, 3201};
    for (const std::uint32_t axes : {4u, 5u}) {
        WideRig rig;
        Copy copy;
        copy.map.element = TensorElement::uint32;
        copy.map.mode = TensorMode::im2col_w;
        copy.map.swizzle = TensorSwizzle::bytes_128;
        std::vector<std::uint32_t> extents{16, 5, 8, 8, 8};
        extents.resize(axes);
        const auto tensor = numbers_for(copy.map, extents, 4);
        copy.map.address = rig.put(tensor);
        copy.map.steps[1] = 2;
        copy.map.lower[0] = copy.map.upper[0] = -1;
        copy.map.channels = 8;
        copy.map.pixels = 13;
        copy.at = {0, 1, 0, 0, 0};
        copy.halo = 2;
        copy.offset = 1;
        copy.base = 128;
        const auto room = rig.copied(copy);
        CHECK(room == expected(copy, tensor));
        for (std::uint32_t row = 0; row < first_words.size(); ++row) {
            std::uint32_t word = 0;
            // The swizzle exchanges the chunks 0 and 1 of row 1, and so on.
            std::memcpy(&word, &room[128 + row * 128 + (row + 1) % 8 * 16], sizeof word);
            // In five dimensions an image has eight times the words.
            const std::uint32_t image = first_words[row] / 640 * (axes == 5 ? 8 * 640 : 640);
            CHECK(word == image + first_words[row] % 640);
        }
    }
}

TEST_CASE("wide pixels: the examples of the PTX ISA visit these pixels") {
    struct Example {
        std::uint32_t width;
        std::int16_t lower, upper;
        std::uint8_t step;
        std::int32_t start;
        std::uint16_t halo, offset;
        std::vector<Pixel> first;
        std::vector<Pixel> last;  ///< From pixel 128 on, with the halo.
    };
    const std::vector<Example> examples{
        {9,
         0,
         0,
         1,
         3,
         2,
         0,
         {{3, 7}, {4, 7}, {5, 7}, {6, 7}, {7, 7}, {8, 7}, {0, 8}},
         {{5, 21}, {6, 21}}},
        {9, -1, 0, 2, -1, 1, 0, {{-1, 7}, {1, 7}, {3, 7}, {5, 7}, {7, 7}, {-1, 8}}, {{5, 32}}},
        {9, -1, 0, 2, -1, 0, 1, {{0, 7}, {2, 7}, {4, 7}, {6, 7}, {8, 7}, {0, 8}}, {}},
        {7, -1, -1, 3, -1, 0, 0, {{-1, 7}, {2, 7}, {5, 7}, {-1, 8}}, {}},
        {7, -1, -1, 3, -1, 0, 1, {{0, 7}, {3, 7}, {6, 7}, {0, 8}}, {}},
        {7, -1, -1, 3, -1, 0, 2, {{1, 7}, {4, 7}, {7, 7}, {1, 8}}, {}}};
    for (const Example& example : examples) {
        CAPTURE(example.start);
        CAPTURE(example.offset);
        WideRig rig;
        Copy copy;
        copy.map.element = TensorElement::uint32;
        copy.map.mode = TensorMode::im2col_w;
        copy.map.swizzle = TensorSwizzle::bytes_64;
        // With 16 channels instead of 128.
        const auto tensor = numbers_for(copy.map, {16, example.width, 7, 64}, 4);
        copy.map.address = rig.put(tensor);
        copy.map.steps[1] = example.step;
        copy.map.lower[0] = example.lower;
        copy.map.upper[0] = example.upper;
        copy.map.channels = 16;
        copy.map.pixels = 128;
        copy.at = {0, example.start, 2, 7, 0};
        copy.halo = example.halo;
        copy.offset = example.offset;
        const auto room = rig.copied(copy);
        const auto check = [&](std::uint32_t row, const Pixel& pixel) {
            std::uint32_t word = 0;
            std::memcpy(&word, &room[place(row * 64, TensorSwizzle::bytes_64)], sizeof word);
            const bool inside = pixel.w >= 0 && pixel.w < example.width;
            CHECK(word ==
                  (inside ? ((pixel.image * 7 + 2) * example.width + pixel.w) * 16 + 1 : 0));
        };
        for (std::uint32_t row = 0; row < example.first.size(); ++row)
            check(row, example.first[row]);
        REQUIRE(example.last.size() == example.halo);
        for (std::uint32_t row = 0; row < example.halo; ++row)
            check(128 + row, example.last[row]);
        CHECK(room == expected(copy, tensor));
    }
}

TEST_CASE("wide pixels: random columns of both modes are those of the reference") {
    std::mt19937 random(7);
    const auto from = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    constexpr TensorElement elements[] = {TensorElement::uint8, TensorElement::uint16,
                                          TensorElement::uint32, TensorElement::uint64,
                                          TensorElement::float16};
    constexpr TensorSwizzle swizzles[] = {TensorSwizzle::bytes_64, TensorSwizzle::bytes_128,
                                          TensorSwizzle::bytes_128_atom_32};
    for (int turn = 0; turn < 120; ++turn) {
        CAPTURE(turn);
        WideRig rig;
        Copy copy;
        TensorMap& map = copy.map;
        map.element = elements[from(0, 4)];
        map.mode = turn % 2 == 0 ? TensorMode::im2col_w : TensorMode::im2col_w_128;
        map.swizzle = swizzles[from(0, 2)];
        map.fill_nan = map.element == TensorElement::float16 && from(0, 1) == 1 ? 1 : 0;
        const std::uint32_t size = element_bytes(map.element);
        const std::uint32_t unit = 16 / size;  ///< Elements of a chunk.
        const std::uint32_t chunks =
            map.swizzle == TensorSwizzle::bytes_64 ? from(1, 4) : from(1, 8);
        const auto width = static_cast<std::uint32_t>(from(1, 12));
        const auto axes = static_cast<std::size_t>(from(3, 5));
        std::vector<std::uint32_t> extents{unit * static_cast<std::uint32_t>(from(1, 9)), width};
        while (extents.size() + 1 < axes)
            extents.push_back(static_cast<std::uint32_t>(from(1, 3)));
        // The images; mostly more than a column visits.
        extents.push_back(static_cast<std::uint32_t>(from(1, 80)));
        const auto tensor = numbers_for(map, extents, size);
        map.address = rig.put(tensor);
        map.channels = static_cast<std::uint16_t>(chunks * unit);
        map.pixels = static_cast<std::uint16_t>(from(1, 120));
        map.steps[1] = static_cast<std::uint8_t>(from(1, 8));
        map.lower[0] = static_cast<std::int16_t>(from(-3, 2));
        const int high = from(std::max(1 - int(width) + map.lower[0], -3), 4);
        map.upper[0] = static_cast<std::int16_t>(high);
        copy.halo = static_cast<std::uint16_t>(copy.has_quarters() ? from(0, 1) : from(0, 20));
        copy.offset = static_cast<std::uint16_t>(from(0, 31));
        copy.base = 1024 * static_cast<std::uint32_t>(from(0, 1));
        const std::int32_t end = static_cast<std::int32_t>(width) + map.upper[0];
        // The first pixel may be left of the box.
        copy.at[0] = static_cast<std::int32_t>(unit) * from(-1, 2);
        copy.at[1] = from(map.lower[0] - 4, end - 1);
        for (std::size_t axis = 2; axis + 1 < axes; ++axis)
            copy.at[axis] = from(0, 3 * static_cast<int>(extents[axis])) / 3;
        copy.at[axes - 1] = from(-1, static_cast<int>(extents.back()) / 4);
        CHECK(rig.copied(copy) == expected(copy, tensor));
    }
}

TEST_CASE(
    "wide pixels: a column of 128 ignores the pixels of the map, and its halos lie after it") {
    WideRig rig;
    Copy copy;
    copy.map.element = TensorElement::uint32;
    copy.map.mode = TensorMode::im2col_w_128;
    copy.map.swizzle = TensorSwizzle::bytes_64;
    const auto tensor = numbers_for(copy.map, {16, 9, 7, 64}, 4);
    copy.map.address = rig.put(tensor);
    copy.map.channels = 16;
    copy.map.pixels = 3;
    copy.at = {0, 3, 2, 7, 0};
    copy.halo = 1;
    const auto room = rig.copied(copy);
    CHECK(room == expected(copy, tensor));
    // Pixels 32, 64, 96 and 128 of the walk that begins at W 3 of image 7.
    constexpr Pixel halos[] = {{8, 10}, {4, 14}, {0, 18}, {5, 21}};
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
        std::uint32_t word = 0;
        std::memcpy(&word, &room[place((128 + quarter) * 64, TensorSwizzle::bytes_64)],
                    sizeof word);
        CHECK(word == ((halos[quarter].image * 7 + 2) * 9 + halos[quarter].w) * 16 + 1);
    }
    copy.halo = 2;
    const auto uncertain = rig.start(copy, load(copy) + " " + operands(copy) + ";", counted(copy));
    CHECK(uncertain.fault == Fault::illegal_instruction);
    CHECK(fails_with(uncertain,
                     "copies a halo of 2 pixels with im2col::w::128; their order in shared "
                     "memory isn't certain, so that the software device copies at most 1"));
}

TEST_CASE("wide pixels: prefetches read the tensor and nothing else") {
    for (const TensorMode mode : {TensorMode::im2col_w, TensorMode::im2col_w_128}) {
        WideRig rig;
        Copy copy;
        copy.map.element = TensorElement::uint32;
        copy.map.mode = mode;
        copy.map.swizzle = TensorSwizzle::bytes_128;
        copy.map.address = rig.put(numbers_for(copy.map, {16, 9, 64}, 4));
        copy.map.channels = 16;
        copy.map.pixels = 40;
        copy.halo = 31;
        const std::string prefetch =
            fmt::format("cp.async.bulk.prefetch.tensor.3d.L2.global.{} [%rd1, {}], {{%rs1, %rs2}};",
                        mode_name(copy), coordinates(copy.map));
        const auto outcome = rig.start(copy, prefetch, 0);
        CAPTURE(outcome.report);
        CHECK(outcome.fault == Fault::none);
        CHECK(rig.get<std::uint8_t>(rig.out, room_bytes) ==
              std::vector<std::uint8_t>(room_bytes, untouched));
    }
}

TEST_CASE("wide pixels: one load reaches several blocks, and a pair's even mbarrier") {
    WideRig rig;
    Copy copy;
    copy.map.element = TensorElement::uint16;
    copy.map.mode = TensorMode::im2col_w;
    copy.map.swizzle = TensorSwizzle::bytes_128_atom_32;
    const auto tensor = numbers_for(copy.map, {64, 9, 8}, 2);
    copy.map.address = rig.put(tensor);
    copy.map.channels = 64;
    copy.map.pixels = 20;
    copy.at = {0, 4, 1, 0, 0};
    copy.halo = 2;
    const std::uint64_t map = rig.put(std::vector<MapBytes>{bytes_of(copy.map)});
    const auto launch = [&](const std::string& instruction, std::uint32_t bytes) {
        const auto module = rig.load(kernel(copy, instruction, bytes), 10, 0);
        GridShape shape{{4}, {1}, 0};
        shape.cluster = {4};
        const auto outcome = rig.machine.launch(
            *module, "k", shape, lode::corpus::Arguments::of(map, rig.out).bytes(), rig.options);
        CAPTURE(outcome.report);
        REQUIRE(outcome.fault == Fault::none);
        for (std::uint32_t block = 0; block < 4; ++block)
            CHECK(rig.get<std::uint8_t>(rig.out + block * room_bytes, room_bytes) ==
                  expected(copy, tensor));
    };
    launch("mov.u32 %r6, %cluster_ctarank;\nsetp.eq.u32 %p3, %r6, 2;\nmov.u16 %rs3, 15;\n@%p3 " +
               load(copy, "shared::cluster") + ".multicast::cluster " + operands(copy) +
               ", %rs3;\n",
           counted(copy));
    // The blocks 0 and 2 load for themselves and for the odd one beside them.
    launch(
        "mov.u32 %r6, %cluster_ctarank;\nand.b32 %r7, %r6, 1;\nsetp.eq.u32 %p3, %r7, 0;\n"
        "mov.u16 %rs3, 3;\nshl.b16 %rs3, %rs3, %r6;\n@%p3 " +
            load(copy, "shared::cluster") + ".multicast::cluster.cta_group::2 " + operands(copy) +
            ", %rs3;\n@%p3 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], " +
            std::to_string(counted(copy)) +
            ";\n@!%p3 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], " +
            std::to_string(counted(copy)) +
            ";\nX: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r2], 0;\n@!%p4 bra X;\n"
            "barrier.cluster.arrive;\nbarrier.cluster.wait;\n",
        counted(copy));
}

TEST_CASE("wide pixels: packed elements get their gaps") {
    WideRig rig;
    Copy copy;
    TensorMap& map = copy.map;
    map.element = TensorElement::u6x16_align16;
    map.axes = 3;
    map.mode = TensorMode::im2col_w;
    map.swizzle = TensorSwizzle::bytes_128;
    // Pixels of 128 elements in 96 bytes; five in a row, in three images.
    std::vector<std::uint32_t> words(24 * 5 * 3);
    std::iota(words.begin(), words.end(), 1u);
    map.address = rig.put(words);
    map.strides = {96, 480};
    map.last_coordinate = {127, 4, 2};
    map.steps = {1, 1, 1};
    map.channels = 128;
    map.pixels = 6;
    copy.at = {0, 3, 1, 0, 0};
    copy.halo = 1;
    const auto outcome = rig.start(copy, load(copy) + " " + operands(copy) + ";", 7 * 96);
    CAPTURE(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    const auto room = rig.get<std::uint8_t>(rig.out, room_bytes);
    for (std::uint32_t row = 0; row < 7; ++row) {
        // W 3 and 4 of image 1, then all five of image 2.
        const std::uint32_t from = (5 + 3 + row) * 24;
        for (std::uint32_t word = 0; word < 32; ++word) {
            std::uint32_t found = 0;
            std::memcpy(&found, &room[place(row * 128 + word * 4, map.swizzle)], sizeof found);
            CHECK(found == (word % 4 == 3 ? 0 : words[from + word / 4 * 3 + word % 4]));
        }
    }
}

TEST_CASE("wide pixels: what the documents exclude is an error of the kernel") {
    WideRig rig;
    Copy copy;
    copy.map.element = TensorElement::uint32;
    copy.map.mode = TensorMode::im2col_w;
    copy.map.swizzle = TensorSwizzle::bytes_128;
    copy.map.address = rig.put(numbers_for(copy.map, {16, 9, 64}, 4));
    copy.map.channels = 16;
    copy.map.pixels = 4;
    const auto refused = [&](const Copy& wrong, std::string_view text) {
        const auto outcome = rig.start(wrong, load(wrong) + " " + operands(wrong) + ";", 0);
        CAPTURE(outcome.report);
        CHECK(outcome.fault == Fault::illegal_instruction);
        CHECK(fails_with(outcome, text));
    };
    Copy halo = copy;
    halo.halo = 512;
    refused(halo, "copies a halo of 512 pixels; the most that im2col::w copies is 511");
    halo.map.mode = TensorMode::im2col_w_128;
    halo.halo = 32;
    refused(halo, "copies a halo of 32 pixels; the most that im2col::w::128 copies is 31");
    Copy offset = copy;
    offset.offset = 32;
    refused(offset, "copies pixels with the offset 32; the most that im2col::w has is 31");
    Copy right = copy;
    right.at[1] = 9;
    right.offset = 2;
    refused(right,
            "begins a column of pixels at 11 along W, where the bounding box ends before 11");
    // The instruction's mode is the map's.
    for (const TensorMode mode : {TensorMode::tile, TensorMode::im2col, TensorMode::im2col_w_128}) {
        Copy other = copy;
        other.map.mode = mode;
        const auto outcome = rig.start(other, load(copy) + " " + operands(copy) + ";", 0);
        CHECK(outcome.fault == Fault::illegal_instruction);
        CHECK(fails_with(outcome, "in an instruction for im2col::w"));
    }
    const auto tiles = rig.start(
        copy,
        "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], "
        "[%rd1, " +
            coordinates(copy.map) + "], [%r2];",
        0);
    CHECK(fails_with(tiles, "uses a tensor map for im2col::w in an instruction for tiles"));
    Copy slices = copy;
    slices.map.interleave = TensorInterleave::bytes_16;
    refused(slices, "of interleaved elements, which the software device copies only as tiles");
}

}  // namespace lode::emulator::exec::testing::wide
