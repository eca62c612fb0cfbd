// The effect of the math options on single precision, checked in the PTX.
//
// Source: Programming Guide, "Intrinsic Functions" (the table of -use_fast_math), as emitted by
// NVRTC 13. Each row lists the instructions that must be present and those that must be absent.
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::CompileOptions;
using lode::Compiler;
using lode::Math;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

constexpr Math ieee{};
constexpr Math fast{.preset = Math::Preset::fast};
constexpr Math host{.preset = Math::Preset::host_comparable};
constexpr Math only_ftz{.ftz = true};
constexpr Math only_div{.prec_div = false};
constexpr Math only_sqrt{.prec_sqrt = false};
constexpr Math div_and_sqrt{.prec_div = false, .prec_sqrt = false};
constexpr Math only_fmad{.fmad = false};
constexpr Math fast_with_div{.preset = Math::Preset::fast, .prec_div = true};
constexpr Math fast_with_sqrt{.preset = Math::Preset::fast, .prec_sqrt = true};
constexpr Math fast_without_ftz{.preset = Math::Preset::fast, .ftz = false};
constexpr Math fast_without_fmad{.preset = Math::Preset::fast, .fmad = false};
constexpr Math host_with_fmad{.preset = Math::Preset::host_comparable, .fmad = true};

using Instructions = std::vector<std::string>;

struct Row {
    const char* expression;  ///< An expression of floats x and y, or of doubles dx and dy.
    Math math;
    Instructions present;
    Instructions absent = {};
};

/// The PTX of a kernel that runs the statement `expression`.
std::string ptx_of(const Compiler& compiler, const std::string& expression, const Math& math) {
    CompileOptions options;
    options.math = math;
    const auto image = compiler.compile(
        Source::text("extern \"C\" __global__ void k(float x, float y, double dx, double dy, "
                     "float* out, double* dout) {\n" +
                     expression + ";\n}\n"),
        sm(90).as_virtual(), options);
    REQUIRE_MESSAGE(image, image.error().describe());
    return image->ptx;
}

/// Whether the PTX contains an instruction of exactly this name.
bool has(const std::string& ptx, const std::string& instruction) {
    return contains(ptx, "\t" + instruction + " ") || contains(ptx, "\t" + instruction + "\t");
}

std::ptrdiff_t count(const std::string& ptx, const std::string& instruction) {
    std::ptrdiff_t found = 0;
    const auto word = "\t" + instruction;
    for (auto at = ptx.find(word); at != std::string::npos; at = ptx.find(word, at + 1))
        ++found;
    return found;
}

/// The lines of the PTX that compute in double precision.
std::string double_instructions(const std::string& ptx) {
    std::istringstream lines(ptx);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        if (contains(line, ".f64")) result += line + "\n";
    }
    return result;
}

}  // namespace

TEST_CASE("math: the substitution table of fast-math, the default and each switch") {
    const Row rows[] = {
        {"*out = x / y", ieee, {"div.rn.f32"}},
        {"*out = x / y", fast, {"div.approx.ftz.f32"}, {"div.rn.f32"}},
        {"*out = x / y", only_div, {"div.full.f32"}, {"div.rn.f32"}},
        {"*out = x / y", only_ftz, {"div.rn.ftz.f32"}},
        {"*out = x / y", only_sqrt, {"div.rn.f32"}},

        {"*out = 1 / x", ieee, {"rcp.rn.f32"}},
        {"*out = 1 / x", fast, {"rcp.approx.ftz.f32"}, {"rcp.rn.f32"}},
        {"*out = 1 / x", only_div, {"rcp.approx.f32"}},

        {"*out = sqrtf(x)", ieee, {"sqrt.rn.f32"}},
        {"*out = sqrtf(x)", fast, {"sqrt.approx.ftz.f32"}, {"sqrt.rn.f32"}},
        {"*out = sqrtf(x)", only_sqrt, {"sqrt.approx.f32"}},
        {"*out = sqrtf(x)", only_div, {"sqrt.rn.f32"}},

        {"*out = rsqrtf(x)", ieee, {"rsqrt.approx.f32"}},
        {"*out = rsqrtf(x)", fast, {"rsqrt.approx.ftz.f32"}},

        {"*out = 1 / sqrtf(x)", ieee, {"sqrt.rn.f32", "rcp.rn.f32"}},
        {"*out = 1 / sqrtf(x)", fast, {"rsqrt.approx.ftz.f32"}, {"sqrt.approx.ftz.f32"}},
        {"*out = 1 / sqrtf(x)", div_and_sqrt, {"sqrt.approx.f32", "rcp.approx.f32"}},

        {"*out = sinf(x)", ieee, {"fma.rn.f32", "cvt.rn.f64.s64"}, {"sin.approx.f32"}},
        {"*out = sinf(x)", fast, {"sin.approx.ftz.f32"}, {"fma.rn.ftz.f32", "fma.rn.f32"}},
        {"*out = cosf(x)", ieee, {"fma.rn.f32", "cvt.rn.f64.s64"}, {"cos.approx.f32"}},
        {"*out = cosf(x)", fast, {"cos.approx.ftz.f32"}, {"fma.rn.ftz.f32"}},
        {"sincosf(x, out, out + 1)", ieee, {"fma.rn.f32"}, {"sin.approx.f32"}},
        {"sincosf(x, out, out + 1)", fast, {"sin.approx.ftz.f32", "cos.approx.ftz.f32"}},
        {"*out = tanf(x)", ieee, {"fma.rn.f32"}, {"sin.approx.f32", "cos.approx.f32"}},
        {"*out = tanf(x)",
         fast,
         {"sin.approx.ftz.f32", "cos.approx.ftz.f32", "div.approx.ftz.f32"}},
        {"*out = tanhf(x)", ieee, {"fma.rn.f32"}, {"tanh.approx.f32"}},
        {"*out = tanhf(x)", fast, {"tanh.approx.f32"}},

        {"*out = logf(x)", ieee, {"fma.rn.f32"}, {"lg2.approx.f32", "lg2.approx.ftz.f32"}},
        {"*out = logf(x)", fast, {"lg2.approx.ftz.f32", "mul.ftz.f32"}},
        {"*out = log10f(x)", ieee, {"fma.rn.f32"}, {"lg2.approx.f32", "lg2.approx.ftz.f32"}},
        {"*out = log10f(x)", fast, {"lg2.approx.ftz.f32", "mul.ftz.f32"}},
        {"*out = log2f(x)", ieee, {"fma.rn.f32"}, {"lg2.approx.f32", "lg2.approx.ftz.f32"}},
        {"*out = log2f(x)", fast, {"lg2.approx.ftz.f32"}, {"fma.rn.ftz.f32"}},
        {"*out = expf(x)", ieee, {"fma.rn.f32", "ex2.approx.ftz.f32"}},
        {"*out = expf(x)", fast, {"ex2.approx.ftz.f32", "mul.ftz.f32"}, {"fma.rn.ftz.f32"}},
        {"*out = exp10f(x)", ieee, {"fma.rn.f32", "ex2.approx.ftz.f32"}},
        {"*out = exp10f(x)", fast, {"ex2.approx.ftz.f32", "mul.ftz.f32"}, {"fma.rn.ftz.f32"}},
        {"*out = exp2f(x)", ieee, {"ex2.approx.f32"}},
        {"*out = exp2f(x)", fast, {"ex2.approx.ftz.f32"}},
        {"*out = exp2f(x)", only_ftz, {"ex2.approx.ftz.f32"}},
        {"*out = powf(x, y)", ieee, {"fma.rn.f32"}, {"lg2.approx.ftz.f32"}},
        {"*out = powf(x, y)",
         fast,
         {"lg2.approx.ftz.f32", "mul.ftz.f32", "ex2.approx.ftz.f32"},
         {"fma.rn.ftz.f32"}},

        {"*out = x * y + 1", ieee, {"fma.rn.f32"}},
        {"*out = x * y + 1", fast, {"fma.rn.ftz.f32"}},
        {"*out = x * y + 1", only_ftz, {"fma.rn.ftz.f32"}},
        {"*out = x * y + 1", only_fmad, {"mul.rn.f32", "add.rn.f32"}, {"fma.rn.f32"}},
        {"*out = x * y + 1", host, {"mul.rn.f32", "add.rn.f32"}, {"fma.rn.f32"}},
        {"*out = x * y + 1", host_with_fmad, {"fma.rn.f32"}},

        {"*out = hypotf(x, y)", ieee, {"sqrt.rn.f32"}},
        {"*out = hypotf(x, y)", fast, {"sqrt.approx.ftz.f32"}},
        {"*out = hypotf(x, y)", only_sqrt, {"sqrt.approx.f32"}},

        // Explicit switches override the preset.
        {"*out = x / y", fast_with_div, {"div.rn.ftz.f32"}, {"div.approx.ftz.f32"}},
        {"*out = sqrtf(x)", fast_with_sqrt, {"sqrt.rn.ftz.f32"}, {"sqrt.approx.ftz.f32"}},
        {"*out = x + y", fast_without_ftz, {"add.f32"}, {"add.ftz.f32"}},
        {"*out = x * y + 1", fast_without_fmad, {"mul.rn.ftz.f32", "add.rn.ftz.f32"}},
    };
    const Compiler compiler;
    for (const auto& row : rows) {
        CAPTURE(row.expression);
        const auto ptx = ptx_of(compiler, row.expression, row.math);
        CAPTURE(ptx);
        for (const auto& instruction : row.present) {
            CAPTURE(instruction);
            CHECK(has(ptx, instruction));
        }
        for (const auto& instruction : row.absent) {
            CAPTURE(instruction);
            CHECK_FALSE(has(ptx, instruction));
        }
    }
}

TEST_CASE("math: functions that fast-math doesn't substitute only flush denormals") {
    const Compiler compiler;
    for (const char* function : {"erff", "cbrtf", "sinpif"}) {
        CAPTURE(function);
        const auto expression = std::string("*out = ") + function + "(x)";
        const auto slow = ptx_of(compiler, expression, ieee);
        const auto quick = ptx_of(compiler, expression, fast);
        CHECK(count(slow, "fma.rn.f32") > 0);
        CHECK(count(quick, "fma.rn.f32") == 0);
        CHECK(count(quick, "fma.rn.ftz.f32") == count(slow, "fma.rn.f32"));
    }
}

TEST_CASE("math: double precision is the same under every preset except for contraction") {
    const Compiler compiler;
    for (const char* expression :
         {"*dout = dx / dy", "*dout = sqrt(dx)", "*dout = sin(dx)", "*dout = log(dx)"}) {
        CAPTURE(expression);
        const auto quick = double_instructions(ptx_of(compiler, expression, fast));
        CHECK(double_instructions(ptx_of(compiler, expression, ieee)) == quick);
        CHECK(quick != "");
    }
    CHECK(has(ptx_of(compiler, "*dout = dx * dy + 1", fast), "fma.rn.f64"));
    const auto unfused = ptx_of(compiler, "*dout = dx * dy + 1", host);
    CHECK(has(unfused, "mul.rn.f64"));
    CHECK(has(unfused, "add.rn.f64"));
}

TEST_CASE("math: the intrinsics with a rounding mode are never contracted") {
    const Compiler compiler;
    const auto ptx = ptx_of(compiler, "*out = __fadd_rn(__fmul_rn(x, y), 1.0f)", ieee);
    CHECK(has(ptx, "mul.rn.f32"));
    CHECK(has(ptx, "add.rn.f32"));
    CHECK_FALSE(has(ptx, "fma.rn.f32"));
}

TEST_CASE("math: kernel source can ask which maths it is compiled with") {
    const Compiler compiler;
    const std::string ask =
        "static_assert(__USE_FAST_MATH__ == FAST && __CUDA_FTZ == FTZ && __CUDA_PREC_DIV == DIV && "
        "__CUDA_PREC_SQRT == SQRT, \"as asked\");\n";
    struct Answer {
        Math math;
        const char* fast;
        const char* ftz;
        const char* div;
        const char* sqrt;
    };
    const Answer answers[] = {
        {ieee, "0", "0", "1", "1"},
        {fast, "1", "1", "0", "0"},
        {only_ftz, "0", "1", "1", "1"},
        {only_div, "0", "0", "0", "1"},
        {only_sqrt, "0", "0", "1", "0"},
        {fast_with_div, "1", "1", "1", "0"},
        {fast_without_ftz, "1", "0", "0", "0"},
    };
    for (const auto& answer : answers) {
        CompileOptions options;
        options.math = answer.math;
        options.definitions = {
            {"FAST", answer.fast}, {"FTZ", answer.ftz}, {"DIV", answer.div}, {"SQRT", answer.sqrt}};
        const auto image = compiler.compile(Source::text(ask), sm(90).as_virtual(), options);
        CHECK_MESSAGE(image, image.error().describe());
    }
}
