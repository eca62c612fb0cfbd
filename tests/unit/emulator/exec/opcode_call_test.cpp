// Calls: parameters in registers, numbers as arguments, lists of functions. Also variables declared
// in a body and initial values, which aren't tied to an opcode.
#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

namespace {

Comparison scene(const std::string& body, std::function<u32(u32 given, u32 thread)> f,
                 const std::string& before, const std::string& opcode = "call") {
    return compared(Scene{opcode,
                          "ld.global.u32 %r4, [%in];\n" + body + "st.global.u32 [%out], %r3;\n",
                          [f = std::move(f)](Rows& in, Rows& out) {
                              for (u32 i = 0; i < out.size(); ++i)
                                  set(out[i], 0, f(get<u32>(in[i]), i));
                          },
                          before});
}

const std::string minus =
    ".func (.reg .b32 d) minus(.reg .b32 a, .reg .b32 b)\n{ sub.u32 d, a, b; ret; }\n";

Comparisons register_calls() {
    Comparisons all;
    all.push_back(scene(
        "call (%r3), minus, (%r4, %i);\n", [](u32 x, u32 i) { return x - i; }, minus));
    all.push_back(scene(
        "call (%r3), minus, (%r4, 1000-7);\n", [](u32 x, u32) { return x - 993; }, minus));
    // A decimal literal is a float only for .f32; for .b32 ptxas passes the low half of a double.
    const std::string floats =
        ".func (.reg .f32 d) sum(.reg .f32 a, .reg .f32 b)\n{ add.f32 d, a, b; ret; }\n";
    all.push_back(scene(
        "call (%r3), sum, (1.5, 0f3F000000);\n", [](u32, u32) { return 0x40000000u; }, floats));
    all.push_back(scene(
        "call (%r3), minus, (1.5, 0f3F000000);\n", [](u32, u32) { return 0 - 0x3f000000u; },
        minus));
    // The result is set on one path only, and threads diverge.
    all.push_back(scene(
        "mov.u32 %r3, 9;\nsetp.lt.u32 %p1, %i, 20;\n@%p1 call (%r3), half, (%i);\n",
        [](u32, u32 i) { return i >= 20        ? 9
                                : (i & 1) != 0 ? 3 * i + 1
                                               : i / 2; },
        ".func (.reg .u32 d) half(.reg .u32 a)\n{ .reg .pred odd; .reg .u32 b;\n"
        "and.b32 b, a, 1; setp.ne.u32 odd, b, 0; @odd bra ODD;\n"
        "shr.u32 d, a, 1; ret;\nODD: mad.lo.u32 d, a, 3, 1;\n}\n"));
    all.push_back(scene(
        "call (%r3, %r5), both, (%r4);\nadd.u32 %r3, %r3, %r5;\n",
        [](u32 x, u32) { return x + 1 + x * 2; },
        ".func (.reg .u32 d, .reg .u32 e) both(.reg .u32 a)\n"
        "{ add.u32 d, a, 1; shl.b32 e, a, 1; ret; }\n"));
    all.push_back(scene(
        "call (_, %r3), both, (%r4);\n", [](u32 x, u32) { return x * 2; },
        ".func (.reg .u32 d, .reg .u32 e) both(.reg .u32 a)\n"
        "{ add.u32 d, a, 1; shl.b32 e, a, 1; ret; }\n"));
    // Vectors, whole registers of which are passed.
    const std::string turned =
        ".func (.reg .v2 .u32 d) turned(.reg .v2 .u32 a, .reg .u32 b)\n"
        "{ add.u32 d.x, a.y, b; mov.u32 d.y, a.x; ret; }\n";
    all.push_back(scene(
        "{ .reg .v2 .u32 v, w; mov.u32 v.x, %r4; mov.u32 v.y, %i;\n"
        "call (w), turned, (v, 7); mad.lo.u32 %r3, w.x, 3, w.y; }\n",
        [](u32 x, u32 i) { return (i + 7) * 3 + x; }, turned));
    all.push_back(scene(
        "{ .reg .v2 .u32 v, w; .reg .b64 f; mov.u32 v.x, %r4; mov.u32 v.y, %i;\n"
        "SHAPE: .callprototype (.reg .v2 .u32 _) _ (.reg .v2 .u32 _, .reg .u32 _);\n"
        "mov.u64 f, turned; call (w), f, (v, 7), SHAPE;\n"
        "call (_), f, (v, 7), SHAPE; mad.lo.u32 %r3, w.x, 3, w.y; }\n",
        [](u32 x, u32 i) { return (i + 7) * 3 + x; }, turned));
    all.push_back(scene(
        "{ .reg .v4 .f32 v; .reg .v2 .b64 w; .reg .u32 t;\n"
        "mov.b32 v.x, %r4; mov.b32 v.y, %i; mov.b32 v.z, 5; mov.b32 v.w, 9;\n"
        "call (w), paired, (v); cvt.u32.u64 %r3, w.x; shr.u64 w.x, w.x, 32;\n"
        "cvt.u32.u64 t, w.x; mad.lo.u32 %r3, t, 3, %r3; cvt.u32.u64 t, w.y;\n"
        "mad.lo.u32 %r3, t, 5, %r3; shr.u64 w.y, w.y, 32; cvt.u32.u64 t, w.y;\n"
        "mad.lo.u32 %r3, t, 7, %r3; }\n",
        [](u32 x, u32 i) { return x + i * 3 + 25 + 63; },
        ".func (.reg .v2 .b64 d) paired(.reg .v4 .f32 a)\n"
        "{ mov.b64 d.x, {a.x, a.y}; mov.b64 d.y, {a.z, a.w}; ret; }\n"));
    // A parameter belongs to the function, which may write it.
    all.push_back(scene(
        "call (%r3), sum, (%i);\n", [](u32, u32 i) { return i * (i + 1) / 2; },
        ".func (.reg .u32 d) sum(.reg .u32 n)\n{ .reg .pred p;\nmov.u32 d, 0;\n"
        "AGAIN: add.u32 d, d, n; setp.eq.u32 p, n, 0; @p ret;\n"
        "sub.u32 n, n, 1; bra AGAIN; }\n"));
    const std::string two =
        ".func (.param .b32 d) one(.param .b32 a)\n"
        "{ .reg .b32 x; ld.param.b32 x, [a]; add.u32 x, x, 1;\n"
        "st.param.b32 [d], x; ret; }\n"
        ".func (.param .b32 d) two(.param .b32 a)\n"
        "{ .reg .b32 x; ld.param.b32 x, [a]; mul.lo.u32 x, x, 7;\n"
        "st.param.b32 [d], x; ret; }\n";
    all.push_back(scene(
        "setp.lt.u32 %p1, %i, 20;\n.reg .b64 f, g;\nmov.u64 f, one; mov.u64 g, two;\n"
        "selp.b64 f, f, g, %p1;\nEITHER: .calltargets one, two;\n"
        "call (%r3), f, (%r4), EITHER;\n",
        [](u32 x, u32 i) { return i < 20 ? x + 1 : x * 7; }, two));
    all.push_back(scene(
        "SHAPE: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        ".reg .b64 f;\nmov.u64 f, two;\ncall (%r3), f, (5), SHAPE;\n",
        [](u32, u32) { return 35; }, two));
    return all;
}

/// Loads a variable and compares it with `want`.
Comparison variable(const std::string& declared, const std::string& load, u32 want,
                    const std::string& in_body = {}) {
    return scene(
        in_body + load + "\n", [want](u32, u32) { return want; }, declared, "ld.global.u32");
}

Comparisons initial_values() {
    Comparisons all;
    const std::string load = "ld.global.u32 %r3, [x];";
    all.push_back(variable(".global .f32 x = 1.5;\n", load, 0x3fc00000));
    all.push_back(variable(".global .b32 x = -1.5;\n", load, 0xbfc00000));
    all.push_back(variable(".global .f32 x = 1.0/3.0;\n", load, 0x3eaaaaab));
    all.push_back(variable(".global .f32 x = 0d3FF8000000000000;\n", load, 0x3fc00000));
    all.push_back(variable(".global .u32 x = (1<<4 | 3)*5;\n", load, 95));
    all.push_back(variable(".global .u32 x = WARP_SZ;\n", load, 32));
    all.push_back(variable(".global .u16 x[2] = {70000, -1};\n", load, 0xffff1170));
    all.push_back(variable(".global .u32 x[2][2] = {{}, {7}};\n", load, 7));
    all.push_back(variable(".global .v2 .u16 x = {1, 2};\n", load, 0x20001));
    all.push_back(variable(".global .u32 y[4] = {1, 2, 3, 4};\n.global .u64 z = y+2*4;\n",
                           "ld.global.u64 %d1, [z];\nld.global.u32 %r3, [%d1];", 3));
    // A byte of an address, in variables of different widths.
    all.push_back(
        variable(".global .u32 y;\n.global .u8 x = 0xFF00(y);\n.global .u32 z = 0xFF00(y);\n",
                 "ld.global.u8 %r3, [x];\nld.global.u32 %r5, [z];\n"
                 "sub.u32 %r3, %r3, %r5;",
                 0));
    // A variable declared in a body: one instance for all threads; its name shadows the outer one.
    all.push_back(variable(".global .u32 x = 1;\n",
                           "{ .global .u32 x = 5; .const .u32 y[2] = {6, 7};\n"
                           "ld.global.u32 %r3, [x]; ld.const.u32 %r5, [y+4]; }\n"
                           "ld.global.u32 %r6, [x];\nmad.lo.u32 %r3, %r3, %r5, %r6;",
                           36));
    all.push_back(variable(".global .u32 x<3>;\n",
                           "mov.u32 %r3, 8;\nst.global.u32 [x2], %r3;\nld.global.u32 %r3, [x2];",
                           8));
    return all;
}

}  // namespace

LODE_OPCODE_FAMILY("opcodes: calls with parameters in registers and numbers", register_calls)
LODE_OPCODE_FAMILY("opcodes: initial values of variables", initial_values)

}  // namespace lode::emulator::exec::testing
