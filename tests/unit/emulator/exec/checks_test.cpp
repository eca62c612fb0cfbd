// The errors that the executor detects, and their reports.
#include "tests/unit/emulator/exec/support.hpp"

namespace lode::emulator::exec {

using testing::ptx_kernel;
using testing::Rig;

namespace {

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

/// A kernel whose threads store their numbers at out[tid].
std::string store_kernel() {
    return ptx_kernel(".param .u64 out",
                      ".loc 1 12 3\nld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;"
                      "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n.loc 1 13 5\n"
                      "st.global.u32 [%rd1], %r1;") +
           ".file 1 \"planted.cu\"\n";
}

}  // namespace

TEST_CASE("check: the report of a store past the end names kernel, line, thread and allocation") {
    Rig rig;
    const auto module = rig.load(store_kernel());
    const auto out = rig.memory.allocate(400, MemoryKind::device, "cuMemAlloc");
    const auto outcome = rig.run(*module, "k", {1}, {128}, out);
    CHECK(outcome.fault == Fault::illegal_address);
    INFO(outcome.report);
    CHECK(has(outcome.report, ": k writes 4 bytes past the end of a 400-byte allocation\n"));
    CHECK(has(outcome.report, ", 0 bytes past the end\n"));
    CHECK(has(outcome.report, "allocation: 400 bytes of device memory at 0x"));
    CHECK(has(outcome.report, "(cuMemAlloc)"));
    CHECK(has(outcome.report, "thread: (100,0,0) of block (0,0,0)"));
    CHECK(has(outcome.report, "planted.cu:13"));
    CHECK(has(outcome.report, "PTX line"));
}

TEST_CASE("check: use after free, null and host pointers are told apart") {
    Rig rig;
    const auto module = rig.load(store_kernel());
    const auto out = rig.memory.allocate(4096, MemoryKind::device, "buffer");
    REQUIRE(rig.run(*module, "k", {1}, {32}, out).fault == Fault::none);
    REQUIRE(rig.memory.free(out) == FreeOutcome::freed);
    auto outcome = rig.run(*module, "k", {1}, {32}, out);
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK(has(outcome.report, "which has been freed"));
    outcome = rig.run(*module, "k", {1}, {32}, std::uint64_t{0});
    CHECK(has(outcome.report, "a null pointer"));
    std::uint32_t local[32];
    outcome = rig.run(*module, "k", {1}, {32}, reinterpret_cast<std::uint64_t>(local));
    CHECK(has(outcome.report, "may be a host pointer"));
    REQUIRE(rig.memory.register_host(local, sizeof local, "registered"));
    CHECK(rig.run(*module, "k", {1}, {32}, reinterpret_cast<std::uint64_t>(local)).fault ==
          Fault::none);
    CHECK(local[31] == 31);
}

TEST_CASE("check: a misaligned address has its own fault code") {
    Rig rig;
    const auto module = rig.load(store_kernel());
    const auto out = rig.memory.allocate(4096, MemoryKind::device, "buffer");
    const auto outcome = rig.run(*module, "k", {1}, {32}, out + 2);
    CHECK(outcome.fault == Fault::misaligned_address);
    CHECK(has(outcome.report, "isn't a multiple of 4"));
}

TEST_CASE("check: an access past a module's variable names the variable") {
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 n",
                            "ld.param.u64 %rd1, [n]; mov.u64 %rd2, table; add.u64 %rd2, %rd2, %rd1;"
                            "st.global.u32 [%rd2], 1;",
                            ".global .align 4 .b8 table[64];\n.global .align 4 .b8 other[64];\n"));
    CHECK(rig.run(*module, "k", {1}, {1}, std::uint64_t{60}).fault == Fault::none);
    const auto outcome = rig.run(*module, "k", {1}, {1}, std::uint64_t{64});
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK(has(outcome.report, "past the end of the 64-byte variable table"));
}

TEST_CASE("check: shared, local and parameter windows have bounds") {
    Rig rig;
    const auto shared =
        rig.load(ptx_kernel(".param .u32 n",
                            "ld.param.u32 %r1, [n]; mov.u32 %r2, buffer; add.u32 %r2, %r2, %r1;"
                            "st.shared.u32 [%r2], 1;",
                            ".shared .align 4 .b8 buffer[64];\n"));
    CHECK(rig.run(*shared, "k", {1}, {32}, 60u).fault == Fault::none);
    auto outcome = rig.run(*shared, "k", {1}, {32}, 64u);
    CHECK(outcome.fault == Fault::illegal_address);
    CHECK(has(outcome.report,
              "past the end of its 64 bytes of shared memory\n  address: offset 64 of shared"));
    CHECK(has(outcome.report, "\n  launch: no dynamic shared memory, which an extern"));
    const auto local = rig.load(
        ptx_kernel(".param .u64 n",
                   ".local .align 8 .b8 depot[32]; ld.param.u64 %rd1, [n];"
                   "mov.u64 %rd2, depot; add.u64 %rd2, %rd2, %rd1; st.local.u32 [%rd2], 1;"));
    CHECK(rig.run(*local, "k", {1}, {32}, std::uint64_t{28}).fault == Fault::none);
    outcome = rig.run(*local, "k", {1}, {32}, std::uint64_t{32});
    CHECK(outcome.fault == Fault::illegal_address);
    const auto parameter =
        rig.load(ptx_kernel(".param .align 4 .b8 p[16], .param .u64 n",
                            "ld.param.u64 %rd1, [n]; mov.b64 %rd2, p; add.u64 %rd2, %rd2, %rd1;"
                            "ld.param.u32 %r1, [%rd2];"));
    struct Four {
        int v[4];
    };
    CHECK(rig.run(*parameter, "k", {1}, {32}, Four{}, std::uint64_t{12}).fault == Fault::none);
    CHECK(rig.run(*parameter, "k", {1}, {32}, Four{}, std::uint64_t{24}).fault ==
          Fault::illegal_address);
}

TEST_CASE("check: a barrier that some threads never reach is reported and doesn't hang") {
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 unused",
                            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64;"
                            "bar.sync 0;"));
    const auto outcome = rig.run(*module, "k", {1}, {64}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::launch_timeout);
    INFO(outcome.report);
    CHECK(has(outcome.report, "waits at barrier 1 with 32 of 64 threads"));
}

TEST_CASE("check: a member mask without the executing lane is an error") {
    Rig rig;
    const auto module = rig.load(
        ptx_kernel(".param .u64 unused",
                   "mov.u32 %r1, %laneid; shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x0000ffff;"));
    const auto outcome = rig.run(*module, "k", {1}, {32}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::illegal_instruction);
    CHECK(has(outcome.report, "leaves its own lane out"));
}

TEST_CASE("check: endless loops around barriers, joins, calls and indexed branches are stopped") {
    const std::string_view bodies[] = {
        "LOOP:\nbar.sync 0;\nbra LOOP;",
        "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;\n"
        "LOOP:\n@%p1 bra ODD;\nadd.u32 %r3, %r3, 1;\nODD:\nbar.warp.sync -1;\nbra LOOP;",
        "mov.u32 %r1, 0;\nT: .branchtargets LOOP;\nLOOP:\nbrx.idx %r1, T;",
        "LOOP:\ncall twice, ();\nbra LOOP;",
        "mov.u32 %r1, 40;\n{ .param .b32 n; st.param.b32 [n], %r1; call halves, (n); }"};
    // Two calls per level: no branch goes back, yet 2^40 calls would take years.
    const std::string_view functions =
        ".func twice()\n{\nbar.warp.sync -1;\nret;\n}\n"
        ".func halves(.param .b32 n)\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
        "ld.param.b32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra END;\n"
        "sub.u32 %r1, %r1, 1;\n{ .param .b32 a; st.param.b32 [a], %r1; call halves, (a); }\n"
        "{ .param .b32 a; st.param.b32 [a], %r1; call halves, (a); }\nEND:\nret;\n}\n";
    for (const std::string_view body : bodies) {
        CAPTURE(body);
        for (const bool by_time : {true, false}) {
            Rig rig;
            const auto module = rig.load(ptx_kernel(".param .u64 unused", body, functions));
            if (by_time) {
                rig.options.timeout = std::chrono::milliseconds(50);
            } else {
                rig.options.instruction_limit = 5000;
            }
            const auto outcome = rig.run(*module, "k", {2}, {64}, std::uint64_t{0});
            INFO(outcome.report);
            CHECK(outcome.fault == Fault::launch_timeout);
        }
    }
}

TEST_CASE("check: an access at the end or in the middle of the address space is an error") {
    // The null pointer minus the size of an element: the access ends at address 0.
    const std::string_view bodies[] = {
        "ld.global.u32 %r1, [%rd1+-4];",
        "mov.u64 %rd1, 0x8000000000000000; ld.global.u32 %r1, [%rd1];",
        "mov.u64 %rd1, 0x8000000000000000; st.global.u32 [%rd1], %r1;",
        "mov.u64 %rd1, 0x7ffffffffffffff0; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
        "st.global.u32 [%rd1+-4], %r1;",
        "ld.global.u8 %r1, [%rd1+-1];",
        "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+-16];",
        "st.global.v2.u64 [%rd1+-16], {%rd2, %rd3};",
        "atom.global.add.u32 %r1, [%rd1+-4], 1;",
        "red.global.add.u32 [%rd1+-4], 1;",
        "mov.u32 %r9, %tid.x; cvt.u64.u32 %rd4, %r9; shl.b64 %rd4, %rd4, 2; add.u64 %rd1, %rd1, "
        "%rd4; ld.global.u32 %r1, [%rd1+-128];"};
    for (const std::string_view body : bodies) {
        CAPTURE(body);
        Rig rig;
        const auto module =
            rig.load(ptx_kernel(".param .u64 unused", "mov.u64 %rd1, 0;\n" + std::string(body)));
        for (const unsigned threads : {1u, 32u}) {
            const auto outcome = rig.run(*module, "k", {1}, {threads}, std::uint64_t{0});
            CHECK(outcome.fault == Fault::illegal_address);
        }
    }
}

TEST_CASE("check: endless loops are stopped by time-out, instruction limit and cancellation") {
    Rig rig;
    const auto module = rig.load(ptx_kernel(".param .u64 unused", "LOOP:\nbra LOOP;"));
    rig.options.timeout = std::chrono::milliseconds(50);
    auto outcome = rig.run(*module, "k", {2}, {32}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::launch_timeout);
    CHECK(has(outcome.report, "50 ms"));
    const std::atomic<bool> cancel{true};
    rig.options.cancel = &cancel;
    outcome = rig.run(*module, "k", {1}, {32}, std::uint64_t{0});
    CHECK(has(outcome.report, "cancelled"));
    rig.options = {};
    rig.options.instruction_limit = 1000;
    outcome = rig.run(*module, "k", {2}, {32}, std::uint64_t{0});
    CHECK(outcome.fault == Fault::launch_timeout);
    CHECK(has(outcome.report, "the limit of 1000 instructions"));
    CHECK(outcome.warp_instructions < 10'000);
}

TEST_CASE("check: endless recursion is a stack fault, and traps and asserts have their codes") {
    Rig rig;
    const auto endless = rig.load(
        ".version 8.7\n.target sm_90\n.address_size 64\n.func f()\n{\ncall f;\nret;\n}\n"
        ".visible .entry k()\n{\ncall f;\nret;\n}\n");
    const auto outcome = rig.machine.launch(*endless, "k", {}, {}, {});
    CHECK(outcome.fault == Fault::hardware_stack);
    CHECK(has(outcome.report, "calls f"));
    const auto trapping = rig.load(ptx_kernel(".param .u64 unused", "trap;"));
    CHECK(rig.run(*trapping, "k", {1}, {32}, std::uint64_t{0}).fault == Fault::launch_failed);
    // The machine still works after faults.
    const auto fine = rig.load(ptx_kernel(".param .u64 unused", ""));
    CHECK(rig.run(*fine, "k", {1}, {32}, std::uint64_t{0}).fault == Fault::none);
}

TEST_CASE("check: a call by a pointer to another kind of function names both kinds") {
    constexpr std::string_view functions =
        ".func (.param .b32 d) sum(.param .b32 a, .param .b64 b)\n"
        "{ .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [d], x; ret; }\n";
    const auto report = [&](std::string_view prototype, std::string_view call) {
        Rig rig;
        const auto module = rig.load(ptx_kernel(".param .u64 out",
                                                "SHAPE: .callprototype " + std::string(prototype) +
                                                    ";\nmov.u64 %rd1, sum;\n" + std::string(call) +
                                                    ", SHAPE;\nld.param.u64 %rd2, [out];\n"
                                                    "st.global.b32 [%rd2], %r1;\n",
                                                functions));
        return rig.run(*module, "k", {1}, {1}, rig.put(std::vector<std::uint32_t>(1))).report;
    };
    const auto wrong = [](std::string_view call) {
        return "k calls sum by a pointer to another kind of function\n  call: " +
               std::string(call) + "\n  function: 2 parameters (4 and 8 bytes), 1 result (4 bytes)";
    };
    const auto says = [](const std::string& text, const std::string& part) {
        CHECK_MESSAGE(text.find(part) != text.npos, text);
    };
    CHECK(report("(.param .b32 _) _ (.param .b32 _, .param .b64 _)",
                 "call (%r1), %rd1, (%r2, %rd3)") == "");
    says(report("(.param .b32 _) _ (.param .b32 _)", "call (%r1), %rd1, (%r2)"),
         wrong("1 parameter (4 bytes), 1 result (4 bytes)"));
    says(report("(.param .b32 _) _ (.param .b32 _, .param .b32 _)", "call (%r1), %rd1, (%r2, %r3)"),
         wrong("2 parameters (4 and 4 bytes), 1 result (4 bytes)"));
    says(report("_ (.param .b32 _, .param .b64 _)", "call %rd1, (%r2, %rd3)"),
         wrong("2 parameters (4 and 8 bytes), no result"));
    says(report("(.param .b64 _) _ (.param .b32 _, .param .b64 _)",
                "call (%rd4), %rd1, (%r2, %rd3)"),
         wrong("2 parameters (4 and 8 bytes), 1 result (8 bytes)"));
}

TEST_CASE("check: an unsupported form refuses only its kernel, with name and line") {
    Rig rig;
    const auto module = rig.load(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry good()\n{\nret;\n}\n"
        ".visible .entry bad()\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<2>;\n"
        "tex.2dms.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%rd1, {%r5,%r6,%r7,%r8}];\nret;\n}\n");
    CHECK(module->kernel_names() == std::vector<std::string>{"good", "bad"});
    CHECK(module->refusal("good") == nullptr);
    const Refusal* const refusal = module->refusal("bad");
    REQUIRE(refusal != nullptr);
    CHECK(refusal->opcode == "tex.2dms.v4.s32.s32");
    CHECK(refusal->ptx_line == 12);
    CHECK(rig.machine.launch(*module, "good", {}, {}, {}).fault == Fault::none);
    CHECK(rig.machine.launch(*module, "bad", {}, {}, {}).fault == Fault::refused);
}

TEST_CASE("check: loading tells invalid, foreign and too new PTX apart") {
    Memory memory;
    const auto load = [&](std::string_view text) { return Module::load(memory, text, 9, 0); };
    auto outcome = load(".version 8.7\n.target sm_90\n.visible .entry k()\n{\nadd.s32 %r1 %r2;\n}");
    CHECK(outcome.status == LoadStatus::invalid_ptx);
    CHECK(outcome.ptx_line == 5);
    CHECK(load("\x7f"
               "ELF")
              .status == LoadStatus::invalid_ptx);
    CHECK(load(".version 8.7\n.target sm_100\n.address_size 64\n").status ==
          LoadStatus::wrong_target);
    CHECK(load(".version 8.7\n.target sm_80a\n.address_size 64\n").status ==
          LoadStatus::wrong_target);
    CHECK(load(".version 12.0\n.target sm_90\n.address_size 64\n.novelty;\n").status ==
          LoadStatus::unsupported_version);
    CHECK(load(".version 8.7\n.target sm_90\n.address_size 64\n.global .u64 p = nowhere;").status ==
          LoadStatus::invalid_ptx);
    CHECK(load(".version 8.7\n.target sm_90\n.address_size 64\n.extern .global .u64 p;").status ==
          LoadStatus::unresolved_symbol);
    CHECK(memory.living().empty());
}

TEST_CASE("check: unknown instructions, registers and symbols make the PTX invalid") {
    Rig rig;
    const auto log_of = [&](const std::string& body) {
        const auto outcome = Module::load(rig.memory, ptx_kernel(".param .u64 out", body), 9, 0);
        CHECK(outcome.status == LoadStatus::invalid_ptx);
        return outcome.log;
    };
    CHECK(log_of("nonsense.u32 %r1, 1;").find("'nonsense.u32' isn't a PTX instruction.") !=
          std::string::npos);
    CHECK(log_of("mov.u32 %r1, %nowhere;").find("'%nowhere' isn't declared.") != std::string::npos);
    CHECK(log_of("bra AWAY;").find("'AWAY' isn't declared.") != std::string::npos);
    CHECK(log_of("mov.u64 %rd1, table;").find("'table' isn't declared.") != std::string::npos);
    CHECK(log_of("\n\nnonsense %r1;").starts_with("PTX line "));
    // Special registers and the module's table are declared; an unsupported instruction isn't a
    // load error.
    CHECK(Module::load(rig.memory,
                       ptx_kernel(".param .u64 out",
                                  "mov.u32 %r1, %tid.x; mov.u32 %r1, %envreg3; mov.u64 %rd1, table;"
                                  "mov.u32 %r1, %clusterid.y; "
                                  "sured.b.add.1d.u32.trap [%rd1, {%r2}], %r1;",
                                  ".global .align 8 .b8 table[8];"),
                       9, 0)
              .status == LoadStatus::ok);
}

TEST_CASE("check: impossible launches are refused before they start") {
    Rig rig;
    const auto module = rig.load(
        ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n)\n"
        ".reqntid 64, 1, 1\n{\nret;\n}\n");
    CHECK(rig.run(*module, "k", {1}, {64}, 1).fault == Fault::none);
    CHECK(rig.run(*module, "k", {1}, {32}, 1).fault == Fault::invalid_value);
    CHECK(rig.run(*module, "k", {0}, {64}, 1).fault == Fault::invalid_value);
    CHECK(rig.run(*module, "missing", {1}, {64}, 1).fault == Fault::invalid_value);
    CHECK(rig.machine.launch(*module, "k", {{}, {64}}, {}).fault == Fault::invalid_value);
    const KernelInfo* const info = module->kernel("k");
    REQUIRE(info != nullptr);
    CHECK(info->required_ntid == Dim3{64, 1, 1});
    CHECK(info->parameter_bytes == 4);
}

}  // namespace lode::emulator::exec
