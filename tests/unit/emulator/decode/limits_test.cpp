// Limits that protect the process that reads and runs a PTX text: nesting, sizes, memory.
#include "tests/unit/emulator/exec/support.hpp"

#include <ctime>
#include <new>

#include <fmt/format.h>

namespace lode::emulator::exec {
namespace {

using testing::ptx_kernel;
using testing::Rig;

LoadOutcome load(std::string_view text, const LoadOptions& options = {}) {
    Memory memory;
    LoadOutcome outcome = Module::load(memory, text, 9, 0, options);
    outcome.module.reset();
    return outcome;
}

void check_refused(const std::string& text, std::string_view sentence) {
    const LoadOutcome outcome = load(text);
    CAPTURE(outcome.log);
    CHECK(outcome.status == LoadStatus::invalid_ptx);
    CHECK(outcome.log.find(sentence) != std::string::npos);
}

std::string repeated(std::string_view piece, std::size_t count) {
    std::string text;
    for (std::size_t k = 0; k < count; ++k)
        text += piece;
    return text;
}

/// A module with these declarations before an empty kernel.
std::string with(std::string_view declarations) {
    return ptx_kernel(".param .u64 p", "", declarations);
}

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

TEST_CASE("ptx limits: deeply nested braces, brackets and operators are refused with an error") {
    const auto statement = [](const std::string& text) { return ptx_kernel("", text); };
    check_refused(statement("and.pred %p1, " + repeated("!", 32'692) + "%p2, %p3;"),
                  "The constant expression is nested deeper than 100 levels.");
    check_refused(statement("mov.b64 %rd1, " + repeated("(", 19'371)),
                  "The constant expression is nested deeper than 100 levels.");
    check_refused(statement("mov.b64 %rd1, " + repeated("{", 19'371)),
                  "Lists are nested more than 32 deep.");
    check_refused(statement("ld.global.u32 %r1, " + repeated("[", 65'397)),
                  "Lists are nested more than 32 deep.");
    check_refused(statement(repeated("{", 65'397)), "Blocks are nested more than 1000 deep.");
    check_refused(with(".global .b32 g[4] = " + repeated("{", 65'397)),
                  "Expected an operand before '{'.");
    check_refused(with(".global .b32 g" + repeated("[1]", 33) + " = " + repeated("{", 65'397)),
                  "Lists are nested more than 32 deep.");
    CHECK(load(statement(repeated("{", 999) + repeated("}", 999))).status == LoadStatus::ok);
    // The reported line is the one that exceeds the limit.
    CHECK(load(statement(repeated("{\n", 1'100))).ptx_line > 1'000);
}

TEST_CASE("ptx limits: the cost of a range of registers depends on the registers used") {
    Rig rig;
    const auto module =
        rig.load(ptx_kernel(".param .u64 p",
                            "{ .reg .b32 %many<10000000>; .reg .b64 %more<4294967295>;\n"
                            "ld.param.u64 %rd1, [p]; mov.u32 %many9999999, 7; mov.u64 "
                            "%more4000000000, 5; cvt.u32.u64 %r1, %more4000000000;\n"
                            "add.u32 %many0, %many9999999, %r1; st.global.u32 [%rd1], %many0; }"));
    const auto out = rig.put(std::vector<std::uint32_t>(1));
    const auto outcome = rig.run(*module, "k", {1}, {1024}, out);
    REQUIRE_MESSAGE(outcome.fault == Fault::none, outcome.report);
    CHECK(rig.get<std::uint32_t>(out, 1)[0] == 12);
    CHECK(module->kernel("k")->registers < 64);
    check_refused(ptx_kernel("", ".reg .b32 %x<4294967296>;"),
                  "A range of 4294967296 registers is too large; the limit is 4294967295.");
    check_refused(ptx_kernel("", ".reg .b32 %x<5>; mov.u32 %x4294967297, 1;"),
                  "'%x4294967297' isn't declared");
}

TEST_CASE(
    "ptx limits: registers that are copies of each other in a cycle don't cause an endless "
    "search") {
    for (const char* circle :
         {"cvta.to.global.u64 %rd1, %rd1;",
          "cvta.to.global.u64 %rd1, %rd2; cvta.to.global.u64 %rd2, %rd1;",
          "cvta.to.global.u64 %rd1, %rd2; cvta.to.global.u64 %rd2, %rd3; cvta.to.global.u64 %rd3, "
          "%rd1;"}) {
        CAPTURE(circle);
        Rig rig;
        const auto module = rig.load(ptx_kernel(
            ".param .u64 p", fmt::format("ld.param.u64 %rd4, [p]; bra END; {} END: mov.u32 %r1, 7; "
                                         "st.global.u32 [%rd4], %r1;",
                                         circle)));
        const auto out = rig.put(std::vector<std::uint32_t>(1));
        CHECK(rig.run(*module, "k", {1}, {32}, out).fault == Fault::none);
        CHECK(rig.get<std::uint32_t>(out, 1)[0] == 7);
    }
}

TEST_CASE("ptx limits: sizes and alignments are checked in 64 bits, with the limits of ptxas") {
    for (const char* align : {"0", "3", "18446744073709551615"})
        check_refused(with(fmt::format(".global .align {} .b32 g;", align)),
                      "isn't a power of two.");
    check_refused(with(".global .align 4294967296 .b32 g;"), "is larger than 2147483648.");
    for (const char* align : {"2", "256", "1048576", "2147483648"})
        CHECK(load(with(fmt::format(".global .align {} .b32 g;", align))).status == LoadStatus::ok);
    check_refused(with(".global .b8 g[18446744073709551616];"), "is too large");
    check_refused(with(".global .b64 g[4294967296][4294967296];"), "The array is too large.");
    check_refused(with(".global .v4 .b32 g[4611686018427387904];"), "The array is too large.");
    check_refused(with(".global .b32 g[0];"), "'g' is an array without a length.");
    check_refused(with(".global .v4 .b64 g;"), "The vector 'g' has more than 128 bits.");
    check_refused(with(".global .b32 g[2] = {1, 2, 3};"), "more initial values than elements");
    check_refused(with(".global .b32 g; .global .b32 g;"), "'g' is defined twice.");
    check_refused(with(".global .b32 , g;"), "Expected a name");
    check_refused(with(".const .b8 c[65537];"),
                  "The module has 65537 bytes of constants; the limit is 65536.");
    CHECK(load(with(".const .b8 c[65536];")).status == LoadStatus::ok);
    check_refused(ptx_kernel(".param .b8 big[32765]", ""),
                  "The kernel k has 32765 bytes of parameters; the limit is 32764.");
    check_refused(".version 8.0\n.target sm_90\n.entry k(.param .b8 big[4353]) { ret; }",
                  "The kernel k has 4353 bytes of parameters; the limit is 4352.");
    check_refused(ptx_kernel(".param .b8 big[18446744073709551615]", ""), "bytes of parameters");
    check_refused(ptx_kernel(".param .b8 none[]", ""), "of a kernel has no size.");
}

TEST_CASE("ptx limits: a variable's address has its declared alignment") {
    Rig rig;
    const auto module = rig.load(with(".global .b8 first[3]; .global .align 1048576 .b32 g;"));
    CHECK(module->global("g")->address % 1'048'576 == 0);
    CHECK(module->variable_bytes() >= 1'048'576);
}

TEST_CASE(
    "ptx limits: more than 48 KiB of static shared memory is invalid PTX, wherever it is "
    "declared") {
    constexpr std::string_view sentence = "bytes of static shared memory; the limit is 49152.";
    for (const char* bytes : {"49153", "232448", "1000000000000", "18446744073709551615"}) {
        check_refused(ptx_kernel("", fmt::format(".shared .b8 s[{}];", bytes)), sentence);
        check_refused(ptx_kernel("", "mov.u64 %rd1, s;", fmt::format(".shared .b8 s[{}];", bytes)),
                      sentence);
        // Declared in a function that the kernel calls.
        check_refused(ptx_kernel("", "call f;",
                                 fmt::format(".func f() {{ .shared .b8 s[{}]; ret; }}", bytes)),
                      sentence);
        // Declared but not used.
        CHECK(load(with(fmt::format(".shared .b8 s[{}];", bytes))).status == LoadStatus::ok);
    }
    CHECK(load(ptx_kernel("", ".shared .b8 s[49152];")).status == LoadStatus::ok);
    Rig rig;
    const auto module = rig.load(ptx_kernel(
        "", "mov.u64 %rd1, s;", ".extern .shared .align 2147483648 .b8 s[]; .shared .b8 t[4];"));
    rig.shared = 64;
    CHECK(rig.run(*module, "k", {1}, {32}).fault == Fault::none);
}

TEST_CASE("ptx limits: loading variables that don't fit in device memory fails") {
    LoadOptions options;
    options.room = std::uint64_t{16} << 30;
    for (const char* bytes : {"1000000000000", "17179869185", "18446744073709551615"}) {
        const LoadOutcome outcome =
            load(with(fmt::format(".visible .global .b8 g[{}]; .global .b32 h;", bytes)), options);
        CHECK(outcome.status == LoadStatus::out_of_memory);
        CHECK(outcome.log.find("There is no room for the module's ") != std::string::npos);
    }
    CHECK(load(with(".visible .global .b8 g[4294967296];"), options).status == LoadStatus::ok);
}

TEST_CASE("ptx limits: a million variables and a hundred thousand kernels load in linear time") {
    const auto seconds = [](std::size_t count) {
        std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n";
        for (std::size_t k = 0; k < count; ++k) {
            text += fmt::format(".global .u32 g{0} = {0};\n.visible .entry k{0}() {{ ret; }}\n", k);
        }
        const double start = processor_seconds();
        Memory memory;
        const LoadOutcome outcome = Module::load(memory, text, 9, 0);
        REQUIRE(outcome.status == LoadStatus::ok);
        CHECK(outcome.module->kernel_names().size() == count);
        for (const std::string& name : outcome.module->kernel_names())
            REQUIRE(outcome.module->kernel(name) != nullptr);
        return processor_seconds() - start;
    };
    seconds(1'000);
    const double small = seconds(12'500);
    const double large = seconds(100'000);
    CAPTURE(small);
    CAPTURE(large);
    CHECK(large < 20 * small);  // 8 if linear, 64 if quadratic.

    std::string text = ".version 8.7\n.target sm_90\n.address_size 64\n";
    for (std::size_t k = 0; k < 1'000'000; ++k)
        text += fmt::format(".global .u8 v{};\n", k);
    const LoadOutcome outcome = load(text);
    CHECK(outcome.status == LoadStatus::ok);
}

TEST_CASE(
    "executor memory: ld.param and st.param of variables that aren't parameters are refused") {
    for (const char* space : {"local", "shared"}) {
        for (const char* access : {"ld.param.u32 %r1, [v];", "st.param.u32 [v], %r1;",
                                   "ld.param.v2.u32 {%r1, %r2}, [v+4];"}) {
            CAPTURE(access);
            const std::string text =
                ptx_kernel("", fmt::format(".{} .align 8 .b32 v[4]; {}", space, access));
            Memory memory;
            const LoadOutcome outcome = Module::load(memory, text, 9, 0);
            if (outcome.status == LoadStatus::invalid_ptx) continue;  // As in ptxas.
            REQUIRE(outcome.status == LoadStatus::ok);
            const Refusal* refusal = outcome.module->refusal("k");
            REQUIRE(refusal != nullptr);
            CHECK(refusal->message.find("'v', which isn't a parameter") != std::string::npos);
        }
    }
}

TEST_CASE("executor memory: ld.param outside a parameter's bytes is refused") {
    for (const char* access : {"ld.param.u32 %r1, [p+-4];", "ld.param.u32 %r1, [p+8];",
                               "ld.param.u32 %r1, [p+18446744073709551612];",
                               "ld.param.u64 %rd1, [p+4];", "ld.param.v2.u64 {%rd1, %rd2}, [p];"}) {
        CAPTURE(access);
        Memory memory;
        const LoadOutcome outcome = Module::load(memory, ptx_kernel(".param .u64 p", access), 9, 0);
        if (outcome.status == LoadStatus::invalid_ptx) continue;
        REQUIRE(outcome.status == LoadStatus::ok);
        REQUIRE(outcome.module->refusal("k") != nullptr);
    }
}

TEST_CASE("executor memory: a launch with 512 KiB of local memory per thread is invalid") {
    for (const char* bytes : {"524288", "1000000000", "99999999999", "18446744073709551615"}) {
        CAPTURE(bytes);
        Rig rig(2);
        const auto module = rig.load(
            ptx_kernel("", fmt::format(".local .b8 s[{}]; st.local.u32 [s], %r1;", bytes)));
        REQUIRE(module->refusal("k") == nullptr);
        CHECK(module->kernel("k")->local_bytes > max_local_bytes);
        const auto outcome = rig.run(*module, "k", {4}, {256});
        CHECK(outcome.fault == Fault::invalid_value);
        CHECK(outcome.report ==
              fmt::format("The kernel k needs {} bytes of local memory per thread; "
                          "the limit is 523264.",
                          bytes));
    }
    Rig rig;
    const auto called = rig.load(ptx_kernel(
        "", "call f;",
        ".func f() { .local .b8 s[600000]; .reg .b32 %r<2>; st.local.u32 [s], %r1; ret; }"));
    const auto outcome = rig.run(*called, "k", {1}, {32});
    CHECK(outcome.fault == Fault::invalid_value);
    CHECK(outcome.report.find("600000 bytes of local memory per thread in f;") !=
          std::string::npos);
    // A kernel at the limit runs; only the memory it touches is allocated.
    const auto module = rig.load(
        ptx_kernel("", ".local .b8 s[523264]; mov.u32 %r1, 3; st.local.u32 [s+523260], %r1;"));
    CHECK(rig.run(*module, "k", {2}, {1024}).fault == Fault::none);
}

TEST_CASE("executor memory: a cooperative launch whose blocks don't fit together is refused") {
    Rig rig(2);
    const auto module = rig.load(ptx_kernel("", ".local .b8 s[523264]; st.local.u32 [s], %r1;"));
    rig.options.cooperative = true;
    const auto outcome = rig.run(*module, "k", {132}, {1024});
    CHECK(outcome.fault == Fault::out_of_memory);
    CHECK(outcome.report.find("the limit is 4294967296 bytes.") != std::string::npos);
    rig.options.cooperative = false;
    CHECK(rig.run(*module, "k", {4}, {1024}).fault == Fault::none);
}

TEST_CASE("executor memory: an exception while a kernel runs fails only that launch") {
    for (const unsigned workers : {1U, 4U}) {
        Rig rig(workers);
        rig.options.checks.init = true;
        const auto module =
            rig.load(ptx_kernel("", "mov.u32 %r3, buffer; ld.shared.u32 %r4, [%r3];",
                                ".shared .align 4 .b8 buffer[4];"));
        rig.options.finding = [](std::string_view) { throw std::bad_alloc(); };
        const auto full = rig.run(*module, "k", {64}, {32});
        CHECK(full.fault == Fault::out_of_memory);
        CHECK(full.report.find("the host has no memory left") != std::string::npos);
        rig.options.finding = [](std::string_view) { throw std::runtime_error("sink"); };
        const auto broken = rig.run(*module, "k", {64}, {32});
        CHECK(broken.fault == Fault::launch_failed);
        CHECK(broken.report.find("by an exception in the software device: sink.") !=
              std::string::npos);
        rig.options.finding = [](std::string_view) { throw 7; };
        CHECK(rig.run(*module, "k", {64}, {32}).fault == Fault::launch_failed);
        rig.options.finding = nullptr;
        CHECK(rig.run(*module, "k", {64}, {32}).fault == Fault::none);
    }
}

TEST_CASE("executor memory: endless recursion faults before it exhausts the host's memory") {
    Rig rig;
    rig.options.stack_limit = 1U << 30;
    const auto module = rig.load(ptx_kernel(
        "", "call f;",
        ".func f(); .func f() { .local .b8 s[65536]; .reg .b32 %r<2>; st.local.u32 [s], %r1; "
        "call f; ret; }"));
    const auto outcome = rig.run(*module, "k", {1}, {1});
    const bool stopped =
        outcome.fault == Fault::out_of_memory || outcome.fault == Fault::hardware_stack;
    CHECK(stopped);
}

}  // namespace lode::emulator::exec
