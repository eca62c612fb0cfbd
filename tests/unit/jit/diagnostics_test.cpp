#include "jit/diagnostics.hpp"

#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Diagnostic;
using lode::parse_diagnostics;
using lode::Source;
using lode::test::sm;
using Severity = lode::Diagnostic::Severity;

namespace {

std::vector<std::string> texts(const std::vector<Diagnostic>& diagnostics) {
    std::vector<std::string> all;
    all.reserve(diagnostics.size());
    for (const auto& diagnostic : diagnostics)
        all.push_back(diagnostic.to_string());
    return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("diagnostics: the front end's form, with the column from the caret") {
    const auto found = parse_diagnostics(
        "b.cu(3): error: identifier \"x\" is undefined\n"
        "  __global__ void k(){ x=1; }\n"
        "                       ^\n"
        "\n"
        "b.cu(7): warning #177-D: variable \"u\" was declared but never referenced\n"
        "  \tint u;\n"
        "  \t    ^\n"
        "\n"
        "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
        "\n"
        "1 error detected in the compilation of \"b.cu\".\n");
    REQUIRE(found.size() == 2);
    CHECK(found[0] ==
          Diagnostic{Severity::error, "b.cu", 3, 22, "", "identifier \"x\" is undefined"});
    CHECK(found[1] == Diagnostic{Severity::warning, "b.cu", 7, 6, "177-D",
                                 "variable \"u\" was declared but never referenced"});
}

TEST_CASE("diagnostics: every form of severity and place") {
    struct Row {
        std::string line;
        std::string expected;
    };
    const Row rows[] = {
        {"a.h(12): catastrophic error: cannot open source file \"nope.h\"",
         "a.h:12: error: cannot open source file \"nope.h\""},
        {"a.cu(1): remark #123-D: for your information",
         "a.cu:1: remark #123-D: for your information"},
        {"b.cu(1): Error: Formal parameter space overflowed",
         "b.cu:1: error: Formal parameter space overflowed"},
        {"dir (old)/b(1).cu(20): error: text (1): more",
         "dir (old)/b(1).cu:20: error: text (1): more"},
        {"nvrtc: error: unrecognized option --bogus found",
         "error: unrecognized option --bogus found"},
        {"Command-line error: invalid macro definition: 1x=3",
         "error: invalid macro definition: 1x=3"},
        {"ptxas application ptx input, line 21; error   : Unknown modifier '.op'",
         "application ptx input:21: error: Unknown modifier '.op'"},
        {"ptxas fatal   : Unresolved extern function '_Z1fi'",
         "error: Unresolved extern function '_Z1fi'"},
        {"ptxas error   : Entry function 'k' uses too much shared data (0xea60 bytes)",
         "error: Entry function 'k' uses too much shared data (0xea60 bytes)"},
        {"ptxas warning : Value of threads per SM for entry k is out of range",
         "warning: Value of threads per SM for entry k is out of range"},
        {"ptxas info    : (C7510) Potential Performance Loss",
         "remark: (C7510) Potential Performance Loss"},
        {"error: something without a place", "error: something without a place"},
        {"b.cu(3): note #2689-D: the value is not known",
         "b.cu:3: remark #2689-D: the value is not known"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.line);
        CHECK(texts(parse_diagnostics(row.line)) == Texts{row.expected});
        CHECK(texts(parse_diagnostics(row.line + "\r\n")) == Texts{row.expected});
    }
}

TEST_CASE("diagnostics: instantiation contexts become part of the text") {
    CHECK(
        texts(parse_diagnostics(
            "a.h(1): error: expression must have class type but it has type \"int\"\n"
            "  template<class T> __device__ void g(T t){ t.x(); }\n"
            "                                            ^\n"
            "          detected during instantiation of \"void g(T) [with T=int]\" at line 2\n"
            "\n"
            "b.cu(9): error: next\n")) ==
        Texts{"a.h:1:43: error: expression must have class type but it has type \"int\" (detected "
              "during instantiation of \"void g(T) [with T=int]\" at line 2)",
              "b.cu:9: error: next"});
    CHECK(texts(parse_diagnostics("a.h(4): error: bad\n"
                                  "          detected during:\n"
                                  "            instantiation of \"f\" at line 6\n"
                                  "            instantiation of \"g\" at line 9 of b.cu\n"
                                  "\n")) ==
          Texts{"a.h:4: error: bad (detected during: instantiation of \"f\" at line 6, "
                "instantiation of \"g\" at line 9 of b.cu)"});
}

TEST_CASE("diagnostics: text that isn't a message gives no diagnostics") {
    for (const char* log :
         {"", "\n\n", "Compilation terminated.\n",
          "3 errors detected in the compilation of \"b\".\n", "  indented: error: no\n", "   ^\n",
          "just words\n", "(3): nothing\n", "x(y): error\n", "error\n", "b.cu(3) error: no colon\n",
          "ptxas\n", "ptxas info\n"}) {
        CAPTURE(log);
        CHECK(parse_diagnostics(log).empty());
    }
}

TEST_CASE("diagnostics: the assembler's summary counts only when it stands alone") {
    const std::string summary = "ptxas fatal   : Ptx assembly aborted due to errors\n";
    CHECK(
        parse_diagnostics("ptxas application ptx input, line 2; error   : x\n" + summary).size() ==
        1);
    CHECK(parse_diagnostics(summary).size() == 1);
}

TEST_CASE("diagnostics: real messages of the compiler, each with its place") {
    struct Row {
        std::string code;
        std::string first;
    };
    const Row rows[] = {
        {"#include \"nope.h\"\n", "d.cu:1:18: error: cannot open source file \"nope.h\""},
        {"\n#error stop here\n", "d.cu:2:2: error: #error directive: stop here"},
        {"__global__ void k() {\n\t\tint a = \"text\";\n}\n",
         "d.cu:2:11: error: a value of type \"const char *\" cannot be used to initialize an "
         "entity "
         "of type \"int\""},
        {"template <int N> struct A { static_assert(N > 1, \"too small\"); };\n"
         "__global__ void k() { A<1> a; }\n",
         "d.cu:1:29: error: static assertion failed with \"too small\" (detected during "
         "instantiation of class \"A<N> [with N=1]\" at line 2)"},
        {"__global__ void k() { asm volatile(\"bogus.op r1;\"); }\n", "application ptx input:"},
        {"__global__ void k() { __shared__ char a[60000]; a[threadIdx.x] = 1; __syncthreads(); if "
         "(a[1]) __trap(); }",
         "error: Entry function '_Z1kv' uses too much shared data"},
        {"extern __device__ int f(int);\n__global__ void k(int* p) { *p = f(1); }\n",
         "error: Unresolved extern function '_Z1fi'"},
        {"struct S { char a[40000]; };\n__global__ void k(S s) {}\n",
         "d.cu:2: error: Formal parameter space overflowed"},
        {"void host() {}\n", "d.cu:1:6: error: A function without execution space annotations"},
    };
    const lode::Compiler compiler;
    for (const auto& row : rows) {
        CAPTURE(row.code);
        const auto image = compiler.compile(Source::text(row.code, "d.cu"), sm(80));
        REQUIRE_FALSE(image);
        CHECK(image.error().code == lode::Errc::compile_failed);
        const auto found = texts(parse_diagnostics(image.error().log));
        REQUIRE_FALSE(found.empty());
        CHECK_MESSAGE(found[0].starts_with(row.first), found[0]);
        CHECK(lode::test::contains(image.error().message, found[0]));
    }
}

TEST_CASE("diagnostics: a signed number isn't a line number") {
    CHECK(parse_diagnostics("a.cu(-12): warning #177-D: unused\n").empty());
    CHECK(parse_diagnostics("ptxas a, line -3; error   : b\n").empty());
}
