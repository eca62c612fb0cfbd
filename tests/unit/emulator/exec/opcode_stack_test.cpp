// Local memory that functions take while they run: alloca, stacksave, stackrestore.
#include "tests/unit/emulator/exec/opcode_support.hpp"

namespace lode::emulator::exec::testing {

namespace {

Comparison scene(const std::string& opcode, const std::string& body,
                 std::function<u32(u32 given, u32 thread)> f, const std::string& before = {}) {
    return compared(Scene{opcode,
                          "ld.global.u32 %r4, [%in];\n" + body + "st.global.u32 [%out], %r3;\n",
                          [f = std::move(f)](Rows& in, Rows& out) {
                              for (u32 i = 0; i < out.size(); ++i)
                                  set(out[i], 0, f(get<u32>(in[i]), i));
                          },
                          before});
}

/// Each thread takes another number of words, fills them, and adds them up.
Comparison different_sizes() {
    return scene("alloca.u64",
                 "and.b32 %r5, %i, 7;\nadd.u32 %r5, %r5, 1;\nmul.wide.u32 %d1, %r5, 4;\n"
                 "alloca.u64 %d2, %d1, 16;\nmov.u64 %d3, 12;\nalloca.u64 %d4, %d3;\n"
                 "mov.u32 %r6, 99;\nst.local.u32 [%d4], %r6;\n"
                 "mov.u32 %r7, 0;\nmov.u64 %d5, %d2;\nmov.u32 %r8, %r4;\n"
                 "FILL: st.local.u32 [%d5], %r8;\nadd.u32 %r8, %r8, %i;\nadd.u64 %d5, %d5, 4;\n"
                 "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r5;\n@%p1 bra FILL;\n"
                 "ld.local.u32 %r3, [%d4];\nmov.u32 %r7, 0;\ncvta.local.u64 %d5, %d2;\n"
                 "ADD: ld.u32 %r8, [%d5];\nadd.u32 %r3, %r3, %r8;\nadd.u64 %d5, %d5, 4;\n"
                 "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r5;\n@%p1 bra ADD;\n"
                 "and.b64 %d6, %d2, 15;\ncvt.u32.u64 %r8, %d6;\nadd.u32 %r3, %r3, %r8;\n",
                 [](u32 x, u32 i) {
                     u32 sum = 99;
                     for (u32 k = 0; k <= (i & 7); ++k)
                         sum += x + k * i;
                     return sum;
                 });
}

/// Memory of no bytes is elsewhere than what is taken next.
Comparison empty() {
    return scene("alloca.u64",
                 "and.b32 %r5, %i, 1;\ncvt.u64.u32 %d1, %r5;\nalloca.u64 %d2, %d1;\n"
                 "mov.u64 %d3, 8;\nalloca.u64 %d4, %d3;\nst.local.u32 [%d4], %r4;\n"
                 "ld.local.u32 %r3, [%d4];\nsetp.eq.u64 %p1, %d2, %d4;\n@%p1 mov.u32 %r3, 0;\n",
                 [](u32 x, u32) { return x; });
}

/// What is taken after stacksave is free again after stackrestore: the second time round, a place
/// is where it was.
Comparison restored() {
    return scene("stackrestore.u64",
                 "mov.u64 %d1, 24;\nalloca.u64 %d2, %d1;\nst.local.u32 [%d2], %r4;\n"
                 "stacksave.u64 %d3;\nadd.u32 %r5, %i, 1;\nmul.wide.u32 %d4, %r5, 8;\n"
                 "alloca.u64 %d5, %d4, 8;\nmov.u32 %r6, 5;\nst.local.u32 [%d5], %r6;\n"
                 "stackrestore.u64 %d3;\nalloca.u64 %d6, %d4, 8;\nst.local.u32 [%d6], %i;\n"
                 "ld.local.u32 %r3, [%d5];\nld.local.u32 %r7, [%d2];\nxor.b32 %r3, %r3, %r7;\n"
                 "setp.eq.u64 %p1, %d5, %d6;\nselp.u32 %r8, 1, 0, %p1;\nadd.u32 %r3, %r3, %r8;\n",
                 [](u32 x, u32 i) { return (x ^ i) + 1; });
}

/// Only some threads take memory, in a loop that would need too much of it without stackrestore.
Comparison loop() {
    return scene(
        "stacksave.u64",
        "mov.u32 %r3, 0;\nmov.u32 %r5, 0;\nand.b32 %r6, %i, 3;\nsetp.eq.u32 %p2, %r6, 1;\n"
        "AGAIN: stacksave.u64 %d1;\nmov.u64 %d2, 64;\n@%p2 bra SKIP;\n"
        "alloca.u64 %d3, %d2, 32;\nst.local.u32 [%d3+60], %r5;\nld.local.u32 %r7, [%d3+60];\n"
        "add.u32 %r3, %r3, %r7;\n"
        "SKIP: stackrestore.u64 %d1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p1, %r5, 40;\n"
        "@%p1 bra AGAIN;\n",
        [](u32, u32 i) { return (i & 3) == 1 ? 0u : 780u; });
}

/// Each activation of a recursive function has its own memory, after that of its callers.
Comparison recursive() {
    const std::string function =
        ".func (.param .b32 d) down(.param .b32 a)\n{\n.reg .b32 %x<8>; .reg .b64 %y<8>; "
        ".reg .pred %q<2>;\n.local .align 8 .b8 own[8];\n"
        "ld.param.b32 %x1, [a];\nmov.u32 %x7, 7;\nst.local.u32 [own+4], %x7;\n"
        "mul.wide.u32 %y1, %x1, 4;\nadd.u64 %y1, %y1, 4;\nalloca.u64 %y2, %y1, 16;\n"
        "add.u64 %y3, %y2, %y1;\nst.local.u32 [%y3+-4], %x1;\nst.local.u32 [%y2], %x1;\n"
        "mov.u32 %x2, 0;\nsetp.eq.u32 %q1, %x1, 0;\n@%q1 bra END;\n"
        "{ .param .b32 r; .param .b32 s; sub.u32 %x3, %x1, 1; st.param.b32 [s], %x3;\n"
        "call (r), down, (s);\nld.param.b32 %x2, [r]; }\n"
        "END: ld.local.u32 %x4, [%y3+-4];\nld.local.u32 %x5, [%y2];\nadd.u32 %x2, %x2, %x4;\n"
        "mad.lo.u32 %x2, %x5, 3, %x2;\nld.local.u32 %x6, [own+4];\nadd.u32 %x2, %x2, %x6;\n"
        "st.param.b32 [d], %x2;\nret;\n}\n";
    return scene(
        "alloca.u64",
        "mov.u64 %d1, 8;\nalloca.u64 %d2, %d1;\nst.local.u32 [%d2], %r4;\n"
        "and.b32 %r5, %i, 3;\n{ .param .b32 s; .param .b32 r; st.param.b32 [s], %r5;\n"
        "call (r), down, (s);\nld.param.b32 %r3, [r]; }\n"
        "ld.local.u32 %r6, [%d2];\nadd.u32 %r3, %r3, %r6;\n",
        [](u32 x, u32 i) {
            u32 sum = x;
            for (u32 k = 0; k <= (i & 3); ++k)
                sum += 4 * k + 7;
            return sum;
        },
        function);
}

Comparisons stack_comparisons() {
    return {different_sizes(), empty(), restored(), loop(), recursive()};
}

}  // namespace

LODE_OPCODE_FAMILY("opcodes: alloca, stacksave and stackrestore match their reference",
                   stack_comparisons)

}  // namespace lode::emulator::exec::testing
