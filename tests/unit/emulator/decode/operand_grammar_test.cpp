// The grammar of operands: elements of vectors and arrays, indices, and constant expressions.
#include "tests/unit/emulator/decode/grammar_support.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace lode::emulator::exec::testing {

TEST_CASE("ptx grammar: elements of vector registers, mov.v4 and whole vectors") {
    check_lanes(
        ".reg .v4 .b32 v;\n.reg .v2 .b32 w<3>;\nmov.u32 v.x, 7;\nmov.u32 v.w, %r0;\n"
        "mov.u32 v.y, 0;\nmov.u32 v.z, 0;\nmov.v4.u32 {%r2, %r3, %r4, %r5}, v;\n"
        "mov.u32 w2.y, %r5;\nadd.u32 %r1, w2.y, v.r;\n",
        [](auto lane) { return lane + 7; });
    check_lanes(
        "mov.u32 %r2, 1;\nmov.u32 %r3, %r0;\nmov.v2.u32 {%r2, %r3}, {%r3, %r2};\n"
        "mad.lo.u32 %r1, %r2, 10, %r3;\n",
        [](auto lane) { return lane * 10 + 1; });
    check_lanes("mov.v4.u32 {%r1, _, _, _}, %tid;\n", [](auto lane) { return lane; });
    CHECK(refusal_of(".reg .v2 .b32 w;\nmov.u32 %r1, w.q;") != "");
    CHECK(refusal_of(".reg .v2 .b32 w;\nmov.u32 %r1, w;") != "");
}

TEST_CASE("ptx grammar: a register plus a constant is a value") {
    check_lanes("add.u32 %r1, %r0, %r0+5;\n", [](auto lane) { return 2 * lane + 5; });
    check_lanes("mov.u32 %r1, %r0+ -3;\n", [](auto lane) { return lane - 3; });
    CHECK(refusal_of("add.u32 %r1, %r2, %r3-1;") != "");
    CHECK(refusal_of("ld.global.u32 %r1, [%rd1-4];") != "");
}

TEST_CASE("ptx grammar: constant expressions are evaluated as in C") {
    const std::pair<const char*, std::int64_t> values[] = {
        {"(4+4)*2", 16},     {"-WARP_SZ", -32}, {"1<<4|3", 19},     {"3==3?4:5", 4},
        {"7/2-7 % 2", 2},    {"~4", -5},        {"!4", 0},          {"-(-4)", 4},
        {"(.s64)-8>>1", -4}, {"0x10U", 16},     {"2>1&&1>2||0", 0}, {"--4", 4}};
    for (const auto& [text, value] : values) {
        const auto want = value;
        check_lanes("mov.s32 %r1, " + std::string(text) + ";\n", [=](auto) { return want; });
    }
    for (const char* const wrong : {"1/0", "0x", "1e400", "0f3F8", "(1", "1.5|2"})
        CHECK(refusal_of("mov.b32 %r1, " + std::string(wrong) + ";") != "");
}

TEST_CASE("ptx grammar: an array element as an operand is its address") {
    check_lanes(
        ".local .align 8 .u32 array[4];\n.reg .b64 a, b;\nmov.u64 a, array[3];\n"
        "mov.u64 b, array[0];\nsub.u64 a, a, b;\ncvt.u32.u64 %r1, a;\n",
        [](auto) { return 12; });
    check_lanes(
        ".local .align 8 .u32 array[4];\nst.local.u32 [array+8], %r0;\n"
        "ld.local.u32 %r1, array[2];\n",
        [](auto lane) { return lane; });
}

TEST_CASE("ptx grammar: an index may be a register, plus a constant") {
    const std::string array = ".shared .align 16 .u32 array[64];\n.shared .v4 .u16 vectors[16];\n";
    // Every lane stores its number and loads that of another.
    const auto loads = [&](const std::string& body, std::int64_t (*wanted)(std::int64_t lane)) {
        INFO(body);
        check_lanes(array + ".reg .u64 i64;\n.reg .s16 i16;\n.reg .u64 a, b;\n" +
                        "st.shared.u32 array[%r0], %r0;\nbar.warp.sync -1;\n" + body,
                    wanted);
    };
    loads("and.b32 %r2, %r0, 15;\nld.shared.u32 %r1, array[%r2+3];\n",
          [](auto lane) { return (lane & 15) + 3; });
    loads("or.b32 %r2, %r0, 1;\nld.shared.u32 %r1, array[%r2+-1];\n",
          [](auto lane) { return lane & ~1; });
    loads(
        "cvt.u64.u32 i64, %r0;\nadd.u64 i64, i64, 0x100000000;\n"
        "ld.shared.u32 %r1, array[i64];\n",
        [](auto lane) { return lane; });
    loads("cvt.s16.u32 i16, %r0;\nneg.s16 i16, i16;\nld.shared.u32 %r1, array[i16+31];\n",
          [](auto lane) { return 31 - lane; });
    // A lane that isn't active doesn't access anything.
    loads(
        "mov.u32 %r1, 7;\nsetp.lt.u32 %p1, %r0, 8;\nmul.lo.u32 %r2, %r0, 0x7fff;\n"
        "@!%p1 mov.u32 %r2, 0x7fffff;\n@%p1 ld.shared.u32 %r1, array[%r0];\n",
        [](auto lane) { return lane < 8 ? lane : 7; });
    loads(
        "bra Next;\nNext: mov.u64 a, vectors[%r0];\nmov.u64 b, vectors[0];\nsub.u64 a, a, b;\n"
        "cvt.u32.u64 %r1, a;\n",
        [](auto lane) { return 2 * lane; });
}

TEST_CASE("ptx grammar: the elements of a vector count singly, and an offset has 32 bits") {
    const auto offset = [&](const std::string& place, std::int64_t want) {
        INFO(place);
        check_lanes(".local .v4 .f32 vectors[4];\n.reg .b64 a, b;\n.reg .u32 high;\nmov.u64 a, " +
                        place + ";\nmov.u64 b, vectors;\nsub.u64 a, a, b;\n" +
                        "mov.b64 {%r1, high}, a;\n",
                    [=](auto) { return want; });
    };
    offset("vectors[1]", 4);
    offset("vectors[0x40000001]", 4);
}

TEST_CASE("ptx grammar: an index is of an array, an integer, and in no brackets") {
    for (const char* const wrong :
         {"mov.u64 %rd1, single[0];", "mov.u64 %rd1, single[%r1];",
          "ld.shared.u32 %r1, [array[1]];", "ld.shared.u32 %r1, array[%f1];",
          "ld.shared.u32 %r1, array[%p1];", "ld.shared.u32 %r1, array[%tid.x];",
          "ld.shared.u32 %r1, array[%r1+%r2];", "ld.shared.u32 %r1, array[%r1-1];",
          "ld.shared.u32 %r1, array[1.5];", "ld.global.u32 %r1, array[%r1];",
          "atom.shared.add.u32 %r1, array[%r2], 1;", "atom.shared.add.u32 %r1, array[2], 1;",
          "add.u64 %rd1, array[%r1], 1;"}) {
        INFO(wrong);
        CHECK(refusal_of(".shared .u32 single;\n.shared .u32 array[64];\n" + std::string(wrong)) !=
              "");
    }
}

}  // namespace lode::emulator::exec::testing
