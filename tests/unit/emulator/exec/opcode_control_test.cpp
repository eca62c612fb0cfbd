// Branches, calls with parameters, returns, exits, traps.
#include "tests/unit/emulator/exec/opcode_memory.hpp"

#include <fmt/format.h>

namespace lode::emulator::exec::testing {

namespace {

using PerThread = std::function<u32(const Row& in, u32 thread)>;

/// A scene whose threads store f(row, thread) at the start of their row.
Comparison scene(const std::string& opcode, const std::string& body, PerThread f,
                 const std::string& before = {}) {
    Scene made{opcode, body,
               [f = std::move(f)](Rows& in, Rows& out) {
                   for (u32 i = 0; i < out.size(); ++i)
                       set(out[i], 0, f(in[i], i));
               },
               before};
    made.odd = true;
    return compared(std::move(made));
}

const std::string store_r3 = "st.global.u32 [%out], %r3;\n";

void add_branches(Comparisons& all) {
    for (const std::string opcode : {"bra", "bra.uni"}) {
        all.push_back(scene(
            opcode, "mov.u32 %r3, 1;\n" + opcode + " OVER;\nmov.u32 %r3, 2;\nOVER:\n" + store_r3,
            [](const Row&, u32) { return 1; }));
        // A condition that is uniform within each warp.
        all.push_back(scene(opcode,
                            "mov.u32 %r3, 1;\nsetp.lt.u32 %p1, %i, 32;\n@%p1 " + opcode +
                                " OVER;\nmov.u32 %r3, 2;\nOVER:\n" + store_r3,
                            [](const Row&, u32 i) { return i < 32 ? 1 : 2; }));
        all.push_back(scene(opcode,
                            "mov.u32 %r3, 1;\nsetp.lt.u32 %p1, %i, 32;\n@!%p1 " + opcode +
                                " OVER;\nmov.u32 %r3, 2;\nOVER:\n" + store_r3,
                            [](const Row&, u32 i) { return i < 32 ? 2 : 1; }));
    }
    // Lanes diverge, loop a different number of times, and reconverge.
    all.push_back(scene("bra",
                        "ld.global.u32 %r4, [%in];\nand.b32 %r4, %r4, 31;\nmov.u32 %r3, 0;\n"
                        "LOOP:\nadd.u32 %r3, %r3, %r4;\nsetp.eq.u32 %p1, %r4, 0;\n"
                        "@%p1 bra OUT;\nsub.u32 %r4, %r4, 1;\nand.b32 %r5, %r4, 1;\n"
                        "setp.ne.u32 %p2, %r5, 0;\n@!%p2 bra LOOP;\nadd.u32 %r3, %r3, 100;\n"
                        "bra LOOP;\nOUT:\nactivemask.b32 %r6;\nadd.u32 %r3, %r3, 1;\n" +
                            store_r3,
                        [](const Row& in, u32) {
                            u32 sum = 0;
                            for (u32 n = get<u32>(in) & 31;; --n) {
                                sum += n;
                                if (n == 0) return sum + 1;
                                if (((n - 1) & 1) != 0) sum += 100;
                            }
                        }));
    for (const std::string opcode : {"brx.idx", "brx.idx.uni"}) {
        const bool uniform = opcode == "brx.idx.uni";
        const std::string index = uniform ? "shr.u32 %r4, %i, 5;\n" : "rem.u32 %r4, %i, 3;\n";
        all.push_back(
            scene(opcode,
                  index + "TARGETS: .branchtargets A, B, C;\n" + opcode +
                      " %r4, TARGETS;\nA:\nmov.u32 %r3, 10;\nbra.uni END;\nB:\n"
                      "mov.u32 %r3, 20;\nbra.uni END;\nC:\nmov.u32 %r3, 30;\nEND:\n" +
                      store_r3,
                  [=](const Row&, u32 i) { return 10 * (1 + (uniform ? i / 32 : i % 3)); }));
    }
}

const char* const functions =
    ".func (.param .b32 result) twice(.param .b32 x)\n{ .reg .b32 %r<2>; ld.param.b32 %r1, [x]; "
    "add.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret; }\n"
    ".func (.param .b32 result) plus_five(.param .b32 x)\n{ .reg .b32 %r<2>; ld.param.b32 %r1, "
    "[x]; add.u32 %r1, %r1, 5; st.param.b32 [result], %r1; ret; }\n"
    // Returns early for odd numbers.
    ".func (.param .b32 result) halves(.param .b32 x)\n{ .reg .b32 %r<3>; .reg .pred %p; "
    "ld.param.b32 %r1, [x]; st.param.b32 [result], %r1; and.b32 %r2, %r1, 1; setp.ne.u32 %p, %r2, "
    "0; @%p ret; shr.u32 %r1, %r1, 1; st.param.b32 [result], %r1; ret; }\n"
    ".func (.param .b32 result) factorial(.param .b32 x)\n{ .reg .b32 %r<5>; .reg .pred %p; "
    "ld.param.b32 %r1, [x]; setp.gt.u32 %p, %r1, 1; @%p bra MORE; mov.u32 %r2, 1; st.param.b32 "
    "[result], %r2; ret; MORE: sub.u32 %r2, %r1, 1; { .param .b32 a; .param .b32 b; st.param.b32 "
    "[a], %r2; call (b), factorial, (a); ld.param.b32 %r3, [b]; } mul.lo.u32 %r3, %r3, %r1; "
    "st.param.b32 [result], %r3; ret; }\n"
    ".func store(.param .b64 at, .param .b32 x)\n{ .reg .b32 %r; .reg .b64 %d; ld.param.b64 %d, "
    "[at]; ld.param.b32 %r, [x]; st.u32 [%d], %r; ret; }\n"
    ".func leave()\n{ .reg .b32 %r; .reg .pred %p; mov.u32 %r, %tid.x; and.b32 %r, %r, 1; "
    "setp.ne.u32 %p, %r, 0; @%p exit; ret; }\n";

std::string call(const std::string& opcode, const std::string& name,
                 const std::string& prototype = {}) {
    return "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; " + opcode + " (b), " + name +
           ", (a)" + prototype + "; ld.param.b32 %r3, [b]; }\n";
}

void add_calls(Comparisons& all) {
    const std::string load = "ld.global.u32 %r4, [%in];\n";
    for (const std::string opcode : {"call", "call.uni"}) {
        all.push_back(scene(
            opcode, load + call(opcode, "twice") + store_r3,
            [](const Row& in, u32) { return 2 * get<u32>(in); }, functions));
        all.push_back(scene(
            opcode, load + call(opcode, "halves") + store_r3,
            [](const Row& in, u32) {
                const u32 x = get<u32>(in);
                return x % 2 == 0 ? x / 2 : x;
            },
            functions));
        all.push_back(scene(
            opcode, "rem.u32 %r4, %i, 11;\n" + call(opcode, "factorial") + store_r3,
            [](const Row&, u32 i) {
                u32 product = 1;
                for (u32 k = 2; k <= i % 11; ++k)
                    product *= k;
                return product;
            },
            functions));
        all.push_back(scene(
            opcode,
            load +
                "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %out; "
                "st.param.b32 [b], %r4; " +
                opcode + " store, (a, b); }\n",
            [](const Row& in, u32) { return get<u32>(in); }, functions));
        all.push_back(scene(
            opcode,
            "mov.u32 %r3, 1;\n" + store_r3 + opcode + " leave;\nmov.u32 %r3, 2;\n" + store_r3,
            [](const Row&, u32 i) { return i % 2 == 0 ? 2 : 1; }, functions));
    }
    // Some lanes call and others don't; then each lane calls through its own pointer.
    all.push_back(scene(
        "call",
        load +
            "mov.u32 %r3, 0;\nrem.u32 %r5, %i, 3;\nsetp.ne.u32 %p1, %r5, 0;\n"
            "@%p1 bra SKIP;\n" +
            call("call", "twice") + "SKIP:\n" + store_r3,
        [](const Row& in, u32 i) { return i % 3 != 0 ? 0 : 2 * get<u32>(in); }, functions));
    const std::string prototype = "PROTOTYPE: .callprototype (.param .b32 _) _ (.param .b32 _);\n";
    const std::string choose =
        "rem.u32 %r5, %i, 3;\nsetp.ne.u32 %p1, %r5, 0;\nmov.u64 %d2, twice;\n"
        "mov.u64 %d3, plus_five;\nselp.b64 %d2, %d2, %d3, %p1;\n";
    all.push_back(scene(
        "call", prototype + load + choose + call("call", "%d2", ", PROTOTYPE") + store_r3,
        [](const Row& in, u32 i) { return i % 3 != 0 ? 2 * get<u32>(in) : get<u32>(in) + 5; },
        functions));
}

/// Element k at `from`, extended as a load does.
u64 extended(const MemoryType& type, const void* from, u32 k) {
    u64 bits = 0;
    std::memcpy(&bits, static_cast<const char*>(from) + k * type.bytes, type.bytes);
    const u32 shift = 64 - 8 * type.bytes;
    return type.is_signed ? static_cast<u64>(static_cast<i64>(bits << shift) >> shift) : bits;
}

/// Arguments and results narrower than a register. ptxas keeps parameters in 32-bit registers, and
/// a narrow store clobbers the rest of one; the test reads only the bytes that were stored.
Comparison narrow_parameter(const std::string& opcode, const MemoryType& type, u32 width,
                            u32 vector, u32 offset) {
    const std::string parts = registers(width, vector);
    const auto load = [&](const char* name) {
        return fmt::format("ld{} {}, [{}+{}];\n", opcode.substr(2), parts, name, offset);
    };
    const auto store = [&](const char* name) {
        return fmt::format("st{} [{}+{}], {};\n", opcode.substr(2), name, offset, parts);
    };
    std::string fill, save;
    for (u32 k = 0; k < vector; ++k) {
        const std::string part = register_name(width, 6 + k);
        fill += fmt::format("ld.global.b{} {}, [%in+{}];\n", width, part, 8 * k);
        save += fmt::format("st.global.b{} [%out+{}], {};\n", width, 8 * k, part);
    }
    return compared(Scene{opcode,
                          fill + "{ .param .align 16 .b8 a[32]; .param .align 16 .b8 b[32];\n" +
                              store("a") + "call (b), pass, (a);\n" + load("b") + "}\n" + save,
                          [=](Rows& in, Rows& out) {
                              for (u32 i = 0; i < in.size(); ++i) {
                                  for (u32 k = 0; k < vector; ++k) {
                                      const u64 bits = extended(type, &in[i][k], 0);
                                      std::memcpy(&out[i][k], &bits, width / 8);
                                  }
                              }
                          },
                          ".func (.param .align 16 .b8 y[32]) pass(.param .align 16 .b8 x[32])\n"
                          "{ .reg .b16 %h<16>;\n" +
                              load("x") + store("y") + "ret; }\n"});
}

/// st.param to an argument, ld.param from a result, and ld.param from a parameter.
void add_parameters(Comparisons& all) {
    const std::string copy =
        ".func (.param .align 16 .b8 y[32]) copy(.param .align 16 .b8 x[32])\n{ .reg .b64 %d<5>;\n"
        "ld.param.b64 %d1, [x]; ld.param.b64 %d2, [x+8]; ld.param.b64 %d3, [x+16]; "
        "ld.param.b64 %d4, [x+24]; st.param.b64 [y], %d1; st.param.b64 [y+8], %d2; "
        "st.param.b64 [y+16], %d3; st.param.b64 [y+24], %d4; ret; }\n";
    const auto whole = [](const std::string& verb, const std::string& name) {
        std::string text;
        for (u32 k = 0; k < 4; ++k) {
            text += verb == "st.param"
                        ? fmt::format("st.param.b64 [{}+{}], %d{};\n", name, 8 * k, 2 + k)
                        : fmt::format("ld.param.b64 %d{}, [{}+{}];\n", 2 + k, name, 8 * k);
        }
        return text;
    };
    const std::string open =
        "{ .param .align 16 .b8 a[32]; .param .align 16 .b8 b[32];\n"
        "ld.global.v2.u64 {%d2, %d3}, [%in];\nld.global.v2.u64 {%d4, %d5}, [%in+16];\n" +
        whole("st.param", "a");
    const std::string go = "call (b), copy, (a);\n";
    for (const MemoryType& type : memory_types()) {
        for (const u32 vector : {1u, 2u, 4u}) {
            if (vector * type.bytes > 16) continue;
            const u32 width = register_widths(type)[0];
            std::string name = vector > 1 ? fmt::format(".v{}", vector) : "";
            name += "." + type.name;
            for (const u32 offset : {0u, 16u, vector * type.bytes}) {
                const std::string store = "st.param" + name;
                if (vector * type.bytes < 4) {
                    all.push_back(narrow_parameter(store, type, width, vector, offset));
                } else {
                    std::string body = open;
                    for (u32 k = 0; k < vector; ++k) {
                        body += fmt::format("ld.global.b{} {}, [%in+{}];\n", width,
                                            register_name(width, 6 + k), 32 + 8 * k);
                    }
                    body +=
                        fmt::format("{} [a+{}], {};\n", store, offset, registers(width, vector));
                    body += go + whole("ld.param", "b") +
                            "st.global.v2.u64 [%out], {%d2, %d3};\n"
                            "st.global.v2.u64 [%out+16], {%d4, %d5}; }\n";
                    all.push_back(compared(Scene{store, body,
                                                 [=](Rows& in, Rows& out) {
                                                     for (u32 i = 0; i < in.size(); ++i) {
                                                         std::memcpy(&out[i], &in[i], 32);
                                                         for (u32 k = 0; k < vector; ++k) {
                                                             std::memcpy(
                                                                 reinterpret_cast<char*>(&out[i]) +
                                                                     offset + k * type.bytes,
                                                                 &in[i][4 + k], type.bytes);
                                                         }
                                                     }
                                                 },
                                                 copy}));
                }
                std::string loads =
                    fmt::format("ld.param{} {}, [b+{}];\n", name, registers(width, vector), offset);
                for (u32 k = 0; k < vector; ++k) {
                    loads += fmt::format("st.global.b{} [%out+{}], {};\n", width, 8 * k,
                                         register_name(width, 6 + k));
                }
                all.push_back(compared(
                    Scene{"ld.param" + name, open + go + loads + "}\n",
                          [=](Rows& in, Rows& out) {
                              for (u32 i = 0; i < in.size(); ++i) {
                                  for (u32 k = 0; k < vector; ++k) {
                                      const u64 bits = extended(
                                          type, reinterpret_cast<const char*>(&in[i]) + offset, k);
                                      std::memcpy(&out[i][k], &bits, width / 8);
                                  }
                              }
                          },
                          copy}));
            }
        }
    }
}

void add_ends(Comparisons& all) {
    for (const std::string opcode : {"ret", "exit", "ret.uni"}) {
        all.push_back(scene(opcode,
                            "mov.u32 %r3, 1;\n" + store_r3 +
                                "rem.u32 %r4, %i, 5;\nsetp.eq.u32 %p1, %r4, 2;\n@%p1 " + opcode +
                                ";\nmov.u32 %r3, 2;\n" + store_r3,
                            [](const Row&, u32 i) { return i % 5 == 2 ? 1 : 2; }));
    }
    for (const std::string opcode : {"trap", "brkpt"}) {
        // A trap in one lane ends the launch: earlier stores are visible, later ones don't happen.
        for (const std::string guard : {"", "@%p1 "}) {
            Scene made{opcode,
                       "mov.u32 %r3, 1;\nsetp.eq.u32 %p1, %i, 7;\n" + store_r3 + guard + opcode +
                           ";\nbar.sync 0;\nmov.u32 %r3, 2;\n" + store_r3,
                       [](Rows&, Rows& out) {
                           for (Row& row : out)
                               set(row, 0, u32{1});
                       }};
            made.threads = 32;
            made.fault = Fault::launch_failed;
            all.push_back(compared(std::move(made)));
        }
    }
}

/// Hints and pauses: registers and memory don't change.
void add_pauses(Comparisons& all) {
    const auto same = [](const Row& in, u32) { return get<u32>(in); };
    for (const std::string text :
         {"nanosleep.u32 100", "nanosleep.u32 %r3", "griddepcontrol.wait",
          "griddepcontrol.launch_dependents", "pmevent 3", "pmevent.mask 5",
          "prefetch.global.L1 [%in]", "prefetch.global.L2 [%in]", "prefetch.L2 [%in]",
          "prefetch.global.L2::evict_last [%in]", "prefetchu.L1 [%in]",
          "applypriority.global.L2::evict_normal [%in], 128", "setmaxnreg.inc.sync.aligned.u32 96",
          "setmaxnreg.dec.sync.aligned.u32 64"}) {
        const std::string opcode = text.substr(0, text.find(' '));
        all.push_back(scene(
            opcode,
            "ld.global.u32 %r3, [%in];\nand.b32 %r3, %r3, 0xffff;\n" + text + ";\n" + store_r3,
            [=](const Row& in, u32 i) { return same(in, i) & 0xffff; }));
    }
    all.push_back(scene("createpolicy.fractional.L2::evict_last.b64",
                        "createpolicy.fractional.L2::evict_last.b64 %d3, 1.0;\n"
                        "ld.global.L2::cache_hint.u32 %r3, [%in], %d3;\n" +
                            store_r3,
                        same));
}

}  // namespace

static Comparisons control_family() {
    Comparisons all;
    add_branches(all);
    add_calls(all);
    add_parameters(all);
    add_ends(all);
    add_pauses(all);
    return all;
}

LODE_OPCODE_FAMILY("opcode: branches, calls and exits take every lane where its reference goes",
                   control_family)

}  // namespace lode::emulator::exec::testing
