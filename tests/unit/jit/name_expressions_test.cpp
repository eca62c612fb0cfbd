#include "jit/name_expressions.hpp"

#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using lode::Compiler;
using lode::Errc;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

using Names = std::vector<std::string>;

constexpr const char* kernels =
    "namespace image {\n"
    "template <class T> __global__ void __launch_bounds__(256) blur(T* p) { *p = T(1); }\n"
    "__global__ void sharpen(float* p) { *p = 1; }\n"
    "}\n"
    "extern \"C\" __global__ void scale(float* p) { *p *= 2; }\n";

}  // namespace

TEST_CASE("names: an unknown name is not_found, with the kernels and a suggestion") {
    const Names names = {"image::sharpen", "image::blurr<float>"};
    const auto image = Compiler().compile(Source::text(kernels, "filters.cu"), sm(80), {}, names);
    REQUIRE_FALSE(image);
    const auto& error = image.error();
    CHECK(error.code == Errc::not_found);
    CHECK(contains(error.message,
                   "'image::blurr<float>' doesn't name a kernel or variable of "
                   "'filters.cu'. Did you mean 'image::blur<...>'?"));
    CHECK(contains(error.message, "namespace \"image\" has no member \"blurr\""));
    CHECK(contains(error.message, "Its kernels: image::blur<...>, image::sharpen, scale."));
    CHECK_FALSE(contains(error.message, "'image::sharpen' doesn't name"));
    CHECK(contains(error.log, "__nv_name_map"));
}

TEST_CASE("names: of 1,500 kernels the error lists those nearest to the wrong name") {
    std::string code;
    for (int i = 0; i < 1500; ++i)
        code += "extern \"C\" __global__ void kernel_" + std::to_string(i) + "() {}\n";
    const Names names = {"kernel_1234x"};
    const auto image =
        Compiler().compile(Source::text(code, "many.cu"), sm(80).as_virtual(), {}, names);
    REQUIRE_FALSE(image);
    const auto& message = image.error().message;
    CHECK(contains(message, "Did you mean 'kernel_1234'?"));
    CHECK(contains(message, "Its kernels: kernel_1234, "));
    CHECK(contains(message, " and 1,488 more."));
    CHECK_MESSAGE(message.size() < 1000, message);
}

TEST_CASE("names: of many wrong and long names the error quotes a part") {
    Names names;
    for (int i = 0; i < 20; ++i)
        names.push_back("kernel_" + std::to_string(i) + std::string(3000, 'x'));
    const auto image = Compiler().compile(Source::text(kernels), sm(80), {}, names);
    REQUIRE_FALSE(image);
    CHECK(contains(image.error().message, "'kernel_11xxx"));
    CHECK(contains(image.error().message, "8 other names don't either."));
    CHECK_MESSAGE(image.error().message.size() < 4000, image.error().message);
}

TEST_CASE("names: the error lists every wrong name") {
    const Names names = {"nothing", "&image :: neither", "1+1", ""};
    const auto image = Compiler().compile(Source::text(kernels), sm(80), {}, names);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::not_found);
    for (const auto& name : names)
        CHECK(contains(image.error().message, "'" + name + "' doesn't name a kernel"));
}

TEST_CASE("names: wrong template arguments are named, with what the template takes") {
    constexpr const char* templates =
        "template <int n> __global__ void fill(int* x) { *x = n; }\n"
        "template <class T, int n = (1 > 0)>\n__global__ void scale(T* x) { *x *= n; }\n";
    const auto message_for = [&](const Names& names) {
        const auto image =
            Compiler().compile(Source::text(templates, "fill.cu"), sm(80), {}, names);
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::not_found);
        return image.error().message;
    };
    for (const char* wrong : {"fill<3.5>", "fill<3.50f>", "fill<1e-3>", "fill<'a', 2>", "fill<>",
                              "fill<int>", "fill"}) {
        CAPTURE(wrong);
        const auto message = message_for({wrong});
        CHECK(contains(message, "'" + std::string(wrong) + "' doesn't name a kernel"));
        CHECK(contains(message,
                       "It is declared with template <int n>: the argument for a value is "
                       "a constant that converts to its type without loss"));
    }
    const auto one = message_for({"fill<4>", "scale<3>", "scale<float>"});
    CHECK(contains(one, "'scale<3>' doesn't name a kernel"));
    CHECK(contains(one, "with template <class T, int n = (1 > 0)>"));
    CHECK_FALSE(contains(one, "'fill<4>' doesn't"));
    CHECK_FALSE(contains(message_for({"nothing<3>"}), "It is declared"));
}

TEST_CASE("names: the error for an ambiguous name says so") {
    const Names names = {"k"};
    const auto image =
        Compiler().compile(Source::text("__global__ void k(int) {}\n__global__ void k(float) {}\n"),
                           sm(80), {}, names);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::not_found);
    CHECK(contains(image.error().message, "overloaded function \"k\""));
}

TEST_CASE("names: an error in the source itself comes before a wrong name") {
    const Names names = {"absent"};
    const auto image =
        Compiler().compile(Source::text("__global__ void k() { x; }\n", "s.cu"), sm(80), {}, names);
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::compile_failed);
    CHECK(contains(image.error().message, "s.cu:1:23: error: identifier \"x\" is undefined"));
}

TEST_CASE("names: the error for a source without kernels says so") {
    const Names names = {"k"};
    const auto image = Compiler().compile(Source::text("__device__ int v;\n"), sm(80), {}, names);
    REQUIRE_FALSE(image);
    CHECK(contains(image.error().message, "It has no kernels."));
}

TEST_CASE("names: the same name given twice counts once") {
    const Names names = {"scale", "scale"};
    const auto image = Compiler().compile(Source::text(kernels), sm(80), {}, names);
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->lowered_names.size() == 1);
    CHECK(image->symbol_of("scale") == "scale");
}

TEST_CASE("names: kernels are listed readably from PTX, and with templates from the source text") {
    const std::string ptx =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry _Z5scaleIfLi3EEvPT_(\n.param .u64 p) { ret; }\n"
        ".visible .entry plain() { ret; }\n"
        ".visible .entry _ZN1n4coreEPf(.param .u64 p) { ret; }\n";
    CHECK(lode::kernel_names("", ptx) == Names{"n::core", "plain", "scale<float, 3>"});
    CHECK(lode::kernel_names(
              "template <int N> __global__ void __launch_bounds__(N, (2)) first(int* p);\n"
              "__global__ static void\nsecond (float) {}\n"
              "extern \"C\" __global__ void plain() {}\n#define GLOBAL __global__\n",
              ptx) == Names{"first<...>", "n::core", "plain", "scale<float, 3>", "second"});
    CHECK(lode::kernel_names("__global__", "").empty());
    CHECK(lode::kernel_names("__global__ void k", "").empty());
    CHECK(lode::kernel_names("__global__ void __launch_bounds__(", "").empty());
}

TEST_CASE("names: declared kernels have their namespaces, and comments and literals declare none") {
    CHECK(lode::kernel_names("namespace a { inline namespace b::c { struct s { int i; };\n"
                             "template <class T, int N = (1 < 2)>\n__global__ void k(T*) {} }\n"
                             "// __global__ void no(); {\n/* } __global__ void no(); */\n"
                             "const char* text = \"} __global__ void no();\";\n"
                             "using namespace std; __device__ int f() { return '}'; }\n"
                             "__global__ void l() {} }\nnamespace { __global__ void m() {} }\n"
                             "} } __global__ void n();",
                             "") == Names{"a::b::c::k<...>", "a::l", "m", "n"});
}

TEST_CASE("names: the suggestion says what differs, and never repeats what was asked") {
    const auto message = [](const char* wanted) {
        const Names names = {wanted};
        const auto image = Compiler().compile(Source::text(kernels), sm(80), {}, names);
        REQUIRE_FALSE(image);
        return image.error().message;
    };
    CHECK(contains(message("sharpen"),
                   " Did you mean 'image::sharpen'? Its namespace is part of the name."));
    CHECK(
        contains(message("image::blur"),
                 " Did you mean 'image::blur<...>'? A template's arguments are part of the name."));
    CHECK(contains(message("Scale"), " Did you mean 'scale'? The case differs."));
    CHECK_FALSE(contains(message("transpose"), "Did you mean"));
}
