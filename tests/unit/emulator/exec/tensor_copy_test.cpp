// Tensor copies on the executor: maps in every space, changes of maps by kernels, copies to several
// blocks, prefetches and faults. tests/gpu/tensor_copy_test.cpp compares bytes with a GPU's.
#include "tests/unit/emulator/exec/tensor_maps.hpp"

#include <numeric>

#include <fmt/format.h>

using namespace lode::emulator;
using namespace lode::emulator::exec;
using namespace lode::emulator::exec::testing;

namespace {

/// A plane of 16 x 8 words, in boxes of 8 x 4.
TensorMap words_at(std::uint64_t address) {
    TensorMap map;
    map.element = TensorElement::uint32;
    map.axes = 2;
    map.address = address;
    map.strides[0] = 64;
    map.last_coordinate = {15, 7};
    map.box = {8, 4};
    map.steps = {1, 1};
    return map;
}

const std::string issue =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";

/// A kernel whose parameters are `parameters`; thread 0 of each block makes %rd1 the address of a
/// map, loads its box at the coordinates 4 and 2, and stores the 32 words to `out`.
std::string loading(std::string_view parameters, std::string_view address,
                    std::string_view copy = issue + " [%r1], [%rd1, {%r2, %r3}], [%r4];\n",
                    std::string_view before = {}) {
    return ptx_kernel(
        parameters,
        fmt::format(
            "{}mov.u32 %r1, room;\nmov.u32 %r4, bar;\nmov.u32 %r2, 4;\nmov.u32 %r3, 2;\n"
            "mbarrier.init.shared::cta.b64 [%r4], 1;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;\n"
            "barrier.cluster.arrive;\nbarrier.cluster.wait;\n{}"
            "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;\n@!%p1 bra W;\n"
            "ld.param.u64 %rd3, [out];\nmov.u32 %r10, %ctaid.x;\nmul.wide.u32 %rd4, %r10, 128;\n"
            "add.u64 %rd3, %rd3, %rd4;\nmov.u32 %r5, 0;\n"
            "L: add.u32 %r6, %r1, %r5;\nld.shared.u32 %r7, [%r6];\ncvt.u64.u32 %rd5, %r5;\n"
            "add.u64 %rd6, %rd3, %rd5;\nst.global.u32 [%rd6], %r7;\nadd.u32 %r5, %r5, 4;\n"
            "setp.lt.u32 %p2, %r5, 128;\n@%p2 bra L;\n",
            address, copy),
        std::string(before) + ".shared .align 128 .b8 room[128];\n.shared .align 8 .b64 bar;\n");
}

struct TensorRig : Rig {
    TensorRig() {
        values.resize(256);
        std::iota(values.begin(), values.end(), 1u);
        memory_of_values = put(values);
        out = put(std::vector<std::uint32_t>(32 * 8));
    }
    [[nodiscard]] std::vector<std::uint32_t> box(std::size_t block = 0) const {
        return get<std::uint32_t>(out + block * 128, 32);
    }
    /// The box at the coordinates 4 and 2 of a plane whose rows have 16 words.
    [[nodiscard]] static std::vector<std::uint32_t> expected(std::uint32_t first = 1) {
        std::vector<std::uint32_t> made;
        for (std::uint32_t row = 2; row < 6; ++row) {
            for (std::uint32_t column = 4; column < 12; ++column)
                made.push_back(first + row * 16 + column);
        }
        return made;
    }
    std::vector<std::uint32_t> values;
    std::uint64_t memory_of_values = 0, out = 0;
};

constexpr std::string_view by_address = ".param .u64 out, .param .u64 map";
constexpr std::string_view by_value = ".param .align 64 .b8 map[128], .param .u64 out";

bool says(const LaunchOutcome& outcome, std::string_view text) {
    return outcome.report.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("tensor copies: a map is in a parameter, in global memory or among constants") {
    TensorRig rig;
    const MapBytes map = bytes_of(words_at(rig.memory_of_values));
    const auto parameter =
        rig.load(loading(by_value, "mov.b64 %rd2, map;\ncvta.param.u64 %rd1, %rd2;\n"));
    CHECK(rig.run(*parameter, "k", {1}, {1}, map, rig.out).fault == Fault::none);
    CHECK(rig.box() == TensorRig::expected());
    const auto global = rig.load(loading(by_address, "ld.param.u64 %rd1, [map];\n"));
    const std::uint64_t at = rig.put(std::vector<MapBytes>{map});
    CHECK(rig.run(*global, "k", {1}, {1}, rig.out, at).fault == Fault::none);
    CHECK(rig.box() == TensorRig::expected());
}

TEST_CASE("tensor copies: a kernel replaces the fields of a map") {
    TensorRig rig;
    TensorMap start = words_at(rig.memory_of_values + 64);
    start.element = TensorElement::uint8;
    start.box = {1, 1};
    start.swizzle = TensorSwizzle::bytes_32;
    start.last_coordinate = {0, 0};
    start.strides[0] = 16;
    start.axes = 1;
    start.steps = {2, 2};
    const std::string replace =
        "ld.param.u64 %rd1, [map];\nld.param.u64 %rd7, [data];\n"
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd7;\n"
        "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;\n"
        "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0, 8;\n"
        "tensormap.replace.tile.box_dim.b1024.b32 [%rd1], 1, 4;\n"
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 0, 16;\n"
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd1], 1, 8;\n"
        "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd1], 0, 64;\n"
        "tensormap.replace.tile.element_stride.global.b1024.b32 [%rd1], 0, 1;\n"
        "tensormap.replace.tile.element_stride.global.b1024.b32 [%rd1], 1, 1;\n"
        "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd1], 2;\n"
        "tensormap.replace.tile.interleave_layout.global.b1024.b32 [%rd1], 0;\n"
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 0;\n"
        "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd1], 0;\n"
        "fence.proxy.tensormap::generic.release.gpu;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
    std::string ptx = loading(".param .u64 out, .param .u64 map, .param .u64 data", replace);
    ptx.replace(ptx.find("sm_90"), 5, "sm_90a");
    const auto module = rig.load(ptx);
    const std::uint64_t at = rig.put(std::vector<MapBytes>{bytes_of(start)});
    const auto outcome = rig.run(*module, "k", {1}, {1}, rig.out, at, rig.memory_of_values);
    CAPTURE(outcome.report);
    CHECK(outcome.fault == Fault::none);
    CHECK(rig.box() == TensorRig::expected());
    const auto bad = rig.load([] {
        std::string text = loading(by_address,
                                   "ld.param.u64 %rd1, [map];\n"
                                   "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 5;\n");
        text.replace(text.find("sm_90"), 5, "sm_90a");
        return text;
    }());
    const auto refused = rig.run(*bad, "k", {1}, {1}, rig.out, at);
    CHECK(refused.fault == Fault::illegal_instruction);
    CHECK(says(refused, "replaces a field of a tensor map by 5, which it can't have"));
}

TEST_CASE("tensor copies: a kernel makes a map in zeros, field by field") {
    // As Triton's device-made descriptors: zeros in shared memory, which are then copied.
    const std::vector<std::string> fields = {"swizzle_mode.shared::cta.b1024.b32 [draft], 0",
                                             "box_dim.shared::cta.b1024.b32 [draft], 0, 8",
                                             "box_dim.shared::cta.b1024.b32 [draft], 1, 4",
                                             "global_dim.shared::cta.b1024.b32 [draft], 0, 16",
                                             "global_dim.shared::cta.b1024.b32 [draft], 1, 8",
                                             "element_stride.shared::cta.b1024.b32 [draft], 0, 1",
                                             "element_stride.shared::cta.b1024.b32 [draft], 1, 1",
                                             "global_stride.shared::cta.b1024.b64 [draft], 0, 64",
                                             "rank.shared::cta.b1024.b32 [draft], 1",
                                             "elemtype.shared::cta.b1024.b32 [draft], 2",
                                             "global_address.shared::cta.b1024.b64 [draft], %rd7",
                                             "interleave_layout.shared::cta.b1024.b32 [draft], 0",
                                             "fill_mode.shared::cta.b1024.b32 [draft], 0"};
    const auto outcome_without = [&](std::size_t left_out, TensorRig& rig,
                                     std::string_view first_byte = "0") {
        std::string body =
            ".shared .align 128 .b8 draft[128];\nld.param.u64 %rd1, [map];\n"
            "ld.param.u64 %rd7, [data];\nmov.b64 %rd8, 0;\n";
        for (int at = 0; at < 128; at += 8)
            body += "st.shared.b64 [draft+" + std::to_string(at) + "], %rd8;\n";
        body += "mov.b32 %r9, " + std::string(first_byte) + "; st.shared.b8 [draft], %r9;\n";
        for (std::size_t k = 0; k < fields.size(); ++k)
            if (k != left_out) body += "tensormap.replace.tile." + fields[k] + ";\n";
        // The loading code below is for one thread; the fenced copy is for a warp.
        for (int at = 0; at < 128; at += 8) {
            const std::string offset = "+" + std::to_string(at) + "]";
            body += "ld.shared.b64 %rd8, [draft" + offset + "; st.global.b64 [%rd1" + offset +
                    ", %rd8;\n";
        }
        body += "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
        std::string ptx = loading(".param .u64 out, .param .u64 map, .param .u64 data", body);
        ptx.replace(ptx.find("sm_90"), 5, "sm_90a");
        const auto module = rig.load(ptx);
        const std::uint64_t at = rig.put(std::vector<MapBytes>(1));
        return rig.run(*module, "k", {1}, {1}, rig.out, at, rig.memory_of_values);
    };
    for (std::size_t k = 0; k <= fields.size(); ++k) {
        TensorRig rig;
        const LaunchOutcome outcome = outcome_without(k, rig);
        const std::string field = k < fields.size() ? fields[k].substr(0, fields[k].find('.')) : "";
        CAPTURE(field);
        CAPTURE(outcome.report);
        const bool has_default = field.empty() || field == "swizzle_mode" ||
                                 field == "interleave_layout" || field == "fill_mode";
        if (field == "elemtype") continue;  // The default is a byte: another box.
        CHECK((outcome.fault == Fault::none) == has_default);
        if (has_default) {
            CHECK(rig.box() == TensorRig::expected());
        } else {
            CHECK(says(outcome, "uses a tensor map whose " + field));
        }
    }
    TensorRig rig;
    CHECK(says(outcome_without(fields.size(), rig, "1"),
               "replaces a field where there is neither a tensor map nor zeros"));
}

TEST_CASE("tensor copies: a warp copies the map that it has made once") {
    TensorRig rig;
    rig.options.checks = {.memory = true, .race = true, .init = true};
    std::string found;
    rig.options.finding = [&](std::string_view text) { found += text; };
    std::string ptx = ptx_kernel(
        ".param .u64 map",
        ".shared .align 128 .b8 draft[128];\nld.param.u64 %rd1, [map];\nmov.u32 %r1, %tid.x;\n"
        "mov.u32 %r2, draft;\nmad.lo.u32 %r3, %r1, 4, %r2;\nmov.u32 %r4, 0;\n"
        "st.shared.u32 [%r3], %r4;\nbar.warp.sync 0xffffffff;\nsetp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r2], 2;\n"
        "bar.warp.sync 0xffffffff;\n"
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[%rd1], [%r2], 128;\n");
    ptx.replace(ptx.find("sm_90"), 5, "sm_90a");
    const auto module = rig.load(ptx);
    const std::uint64_t at = rig.put(std::vector<MapBytes>(1));
    const auto outcome = rig.run(*module, "k", {1}, {32}, at);
    CHECK_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(found == "");
    TensorMap map;
    const auto bytes = rig.get<MapBytes>(at, 1);
    std::memcpy(&map, bytes[0].bytes, sizeof map);
    CHECK(map.axes == 3);
}

TEST_CASE("tensor copies: the atomicity of a swizzle is set before or after its mode") {
    const auto swizzle_of = [](std::string_view first, std::string_view second) {
        TensorRig rig;
        std::string ptx = loading(by_address,
                                  "ld.param.u64 %rd1, [map];\n"
                                  "tensormap.replace.tile." +
                                      std::string(first) + ";\ntensormap.replace.tile." +
                                      std::string(second) + ";\n");
        ptx.replace(ptx.find("sm_90"), 5, "sm_100a");
        ptx.replace(ptx.find("8.7"), 3, "8.8");
        const auto module = rig.load(ptx, 10);
        TensorMap start = words_at(rig.memory_of_values);
        const std::uint64_t at = rig.put(std::vector<MapBytes>{bytes_of(start)});
        const auto outcome = rig.run(*module, "k", {1}, {1}, rig.out, at);
        CAPTURE(outcome.report);
        TensorMap map;
        const auto bytes = rig.get<MapBytes>(at, 1);
        std::memcpy(&map, bytes[0].bytes, sizeof map);
        return std::pair(map.swizzle, says(outcome, "with a swizzle atomicity"));
    };
    const std::string mode = "swizzle_mode.global.b1024.b32 [%rd1], ";
    const std::string atomicity = "swizzle_atomicity.global.b1024.b32 [%rd1], ";
    const std::pair atoms(TensorSwizzle::bytes_128_atom_64, false);
    CHECK(swizzle_of(mode + "3", atomicity + "3") == atoms);
    CHECK(swizzle_of(atomicity + "3", mode + "3") == atoms);
    CHECK(swizzle_of(atomicity + "3", mode + "2") == std::pair(TensorSwizzle::bytes_64, true));
}

TEST_CASE("tensor copies: a kernel sets a swizzle of 96 bytes, whose rows are dense") {
    constexpr std::uint32_t bytes = 4 * 96;
    const auto load_box = [&](TensorRig& rig, std::uint32_t columns, std::string_view atomicity) {
        std::string ptx = loading(
            by_address,
            fmt::format("ld.param.u64 %rd1, [map];\n"
                        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd1], 4;\n"
                        "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], {};\n",
                        atomicity));
        const auto replace = [&](std::string_view from, const std::string& to) {
            for (std::size_t at = 0; (at = ptx.find(from, at)) != ptx.npos; at += to.size())
                ptx.replace(at, from.size(), to);
        };
        replace("sm_90", "sm_103a");
        replace(".version 8.7", ".version 8.8");
        replace(", 128", fmt::format(", {}", bytes));
        replace(".align 128 .b8 room[128]", fmt::format(".align 256 .b8 room[{}]", bytes));
        replace("mov.u32 %r2, 4;", "mov.u32 %r2, 0;");
        replace("mov.u32 %r3, 2;", "mov.u32 %r3, 0;");
        TensorMap map = words_at(rig.memory_of_values);
        map.strides[0] = 96;
        map.last_coordinate = {23, 3};
        map.box = {static_cast<std::uint16_t>(columns), 4};
        const std::uint64_t at = rig.put(std::vector<MapBytes>{bytes_of(map)});
        const auto module = rig.load(ptx, 10, 3);
        return rig.run(*module, "k", {1}, {1}, rig.out, at);
    };
    TensorRig rig;
    const auto outcome = load_box(rig, 24, "0");
    CAPTURE(outcome.report);
    CHECK(outcome.fault == Fault::none);
    // PTX ISA, "96-byte swizzle mode": chunks of 16 bytes are 0 1 2 3 4 5 6 7 in one line of 128
    // bytes, and 1 0 3 2 5 4 7 6 in the next.
    std::vector<std::uint32_t> expected;
    for (std::uint32_t chunk = 0; chunk < bytes / 16; ++chunk) {
        const std::uint32_t from = chunk / 8 % 2 == 0 ? chunk : chunk ^ 1;
        for (std::uint32_t word = 0; word < 4; ++word)
            expected.push_back(1 + from * 4 + word);
    }
    CHECK(rig.get<std::uint32_t>(rig.out, bytes / 4) == expected);
    CHECK(says(load_box(rig, 28, "0"), "which needs rows of at most 96 dense bytes"));
    CHECK(says(load_box(rig, 24, "1"), "with a swizzle atomicity"));

    // ptxas 13.5 takes the mode for sm_103a and sm_107a, from PTX 8.8 on.
    const auto loads = [&](const lode::Arch& target, std::string_view mode) {
        const auto text = fmt::format(
            ".version 9.4\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b64 a;\n"
            "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [a], {};\nret;\n}}\n",
            target.to_string(), mode);
        return Module::load(rig.memory, text, target.cc().cc_major(), target.cc().cc_minor())
                   .status == LoadStatus::ok;
    };
    for (const auto* name : {"sm_103a", "sm_107a", "sm_100a", "sm_103f", "sm_110a", "sm_120a"}) {
        CAPTURE(name);
        const auto target = lode::Arch::parse(name).value();
        const bool has_mode = name == std::string_view("sm_103a") || target.cc().cc_minor() == 7;
        CHECK(loads(target, "3"));
        CHECK(loads(target, "4") == has_mode);
        CHECK_FALSE(loads(target, "5"));
    }
}

TEST_CASE("tensor copies: one load reaches several blocks of a cluster") {
    TensorRig rig;
    const std::string copy =
        "mov.u32 %r8, %cluster_ctarank;\nsetp.eq.u32 %p3, %r8, 2;\nmov.u16 %rs1, 13;\n"
        "@%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%r1], [%rd1, {%r2, %r3}], [%r4], %rs1;\n"
        "setp.eq.u32 %p4, %r8, 1;\n@%p4 " +
        issue + " [%r1], [%rd1, {%r2, %r3}], [%r4];\n";
    std::string ptx = loading(by_address, "ld.param.u64 %rd1, [map];\n", copy);
    const auto module = rig.load(ptx);
    const std::uint64_t at =
        rig.put(std::vector<MapBytes>{bytes_of(words_at(rig.memory_of_values))});
    GridShape shape{{4}, {1}, 0};
    shape.cluster = {4};
    // The blocks stay until all copies have arrived: each waits for its own.
    const auto outcome = rig.machine.launch(
        *module, "k", shape, lode::corpus::Arguments::of(rig.out, at).bytes(), rig.options);
    CAPTURE(outcome.report);
    CHECK(outcome.fault == Fault::none);
    for (std::size_t block = 0; block < 4; ++block)
        CHECK(rig.box(block) == TensorRig::expected());
}

TEST_CASE("tensor copies: what a device can't do is a fault") {
    TensorRig rig;
    const auto run = [&](const TensorMap& map, std::string_view copy) {
        const auto module = rig.load(loading(by_address, "ld.param.u64 %rd1, [map];\n", copy));
        const std::uint64_t at = rig.put(std::vector<MapBytes>{bytes_of(map)});
        return rig.run(*module, "k", {1}, {1}, rig.out, at);
    };
    const TensorMap map = words_at(rig.memory_of_values);
    const auto odd = run(map, "mov.u32 %r2, 3;\n" + issue + " [%r1], [%rd1, {%r2, %r3}], [%r4];\n");
    CHECK(odd.fault == Fault::illegal_instruction);
    CHECK(says(odd,
               "a coordinate that isn't a multiple of 16 bytes\n  coordinate: the first is 3, of "
               "elements of 4 bytes"));
    const auto below = run(map,
                           "mov.u32 %r3, -1;\ncp.async.bulk.tensor.2d.global.shared::cta.tile."
                           "bulk_group [%rd1, {%r2, %r3}], [%r1];\n");
    CHECK(below.fault == Fault::illegal_instruction);
    CHECK(says(below, "stores a tensor's box at the negative coordinate -1"));
    const auto line = run(map,
                          "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_"
                          "tx::bytes [%r1], [%rd1, {%r2}], [%r4];\n");
    CHECK(line.fault == Fault::illegal_instruction);
    CHECK(says(line, "uses a tensor map of 2 dimensions in an instruction for 1"));
    const auto none = run(TensorMap{.magic = 1}, issue + " [%r1], [%rd1, {%r2, %r3}], [%r4];\n");
    CHECK(says(none, "where nothing has made one"));
    // The tensor of the map is larger than its allocation.
    TensorMap large = map;
    large.last_coordinate[1] = 100;
    large.strides[0] = std::uint64_t{1} << 34;
    const auto past = run(large, issue + " [%r1], [%rd1, {%r2, %r3}], [%r4];\n");
    CHECK(past.fault == Fault::illegal_address);
}

TEST_CASE("tensor copies: packed elements get gaps, which the mbarrier doesn't count") {
    struct Packed {
        TensorElement element;
        std::uint32_t bytes, shared_bytes;  // Bytes of 16 elements.
    };
    for (const Packed& packed :
         {Packed{TensorElement::u4x16_align8, 8, 8}, Packed{TensorElement::u4x16_align16, 8, 16},
          Packed{TensorElement::u6x16_align16, 12, 16}}) {
        // Rows of 128 elements, of which a box has two; the second of them is the last of four.
        TensorRig rig;
        TensorMap map;
        map.element = packed.element;
        map.axes = 2;
        map.address = rig.memory_of_values;
        map.strides[0] = 8 * packed.bytes;
        map.last_coordinate = {127, 3};
        map.box = {128, 2};
        map.steps = {1, 1};
        const auto module = rig.load(ptx_kernel(
            ".param .u64 map, .param .u64 out",
            fmt::format(
                "mov.u32 %r1, room;\nmov.u32 %r4, bar;\nmov.u32 %r2, 0;\nmov.u32 %r3, 2;\n"
                "ld.param.u64 %rd1, [map];\nld.param.u64 %rd3, [out];\n"
                "mbarrier.init.shared::cta.b64 [%r4], 1;\n"
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {};\n{} [%r1], [%rd1, {{%r2, "
                "%r3}}], [%r4];\n"
                "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;\n@!%p1 bra W;\n"
                "mov.u32 %r5, 0;\nL: add.u32 %r6, %r1, %r5;\nld.shared.u32 %r7, [%r6];\n"
                "cvt.u64.u32 %rd5, %r5;\nadd.u64 %rd6, %rd3, %rd5;\nst.global.u32 [%rd6], %r7;\n"
                "add.u32 %r5, %r5, 4;\nsetp.lt.u32 %p2, %r5, 256;\n@%p2 bra L;\n",
                16 * packed.bytes, issue),
            ".shared .align 128 .b8 room[256];\n.shared .align 8 .b64 bar;\n"));
        const std::uint64_t at = rig.put(std::vector<MapBytes>{bytes_of(map)});
        const auto outcome = rig.run(*module, "k", {1}, {1}, at, rig.out);
        CAPTURE(outcome.report);
        REQUIRE(outcome.fault == Fault::none);
        const auto found = rig.get<std::uint32_t>(rig.out, 64);
        for (std::uint32_t unit = 0; unit < 16; ++unit) {
            for (std::uint32_t word = 0; word < packed.shared_bytes / 4; ++word) {
                const std::uint32_t from = (2 * 8 + unit) * packed.bytes / 4 + word;
                CHECK(found[unit * packed.shared_bytes / 4 + word] ==
                      (word < packed.bytes / 4 ? rig.values[from] : 0));
            }
        }
    }
}

TEST_CASE("tensor copies: both blocks of a pair signal the even one's mbarrier") {
    TensorRig rig;
    std::string text = loading(
        ".param .u64 map, .param .u64 out", "ld.param.u64 %rd1, [map];\n",
        "mov.u32 %r12, %cluster_ctarank;\nsetp.eq.u32 %p3, %r12, 0;\n"
        "@%p3 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 128;\n"
        "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" +
            issue +
            ".cta_group::2 [%r1], [%rd1, {%r2, %r3}], [%r4];\n"
            "V: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;\n@%p1 bra U;\n@%p3 bra V;\n"
            "U: barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
            // The odd block's barrier still waits for its own bytes.
            "@!%p3 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r4], 128;\n");
    text.replace(text.find(".target sm_90"), 13, ".target sm_100a");
    const auto module = rig.load(text, 10, 0);
    const std::uint64_t at =
        rig.put(std::vector<MapBytes>{bytes_of(words_at(rig.memory_of_values))});
    GridShape shape{{2}, {1}, 0};
    shape.cluster = {2};
    const auto outcome = rig.machine.launch(
        *module, "k", shape, lode::corpus::Arguments::of(at, rig.out).bytes(), rig.options);
    CAPTURE(outcome.report);
    REQUIRE(outcome.fault == Fault::none);
    CHECK(rig.box(0) == TensorRig::expected());
    CHECK(rig.box(1) == TensorRig::expected());
}
