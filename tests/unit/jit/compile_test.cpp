#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::Arch;
using lode::Compiler;
using lode::Errc;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

constexpr const char* saxpy =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

}  // namespace

TEST_CASE("compile: a real target gives the whole image") {
    const auto image = Compiler().compile(Source::text(saxpy, "saxpy.cu"), sm(90));
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->name == "saxpy.cu");
    CHECK(image->arch == sm(90));
    CHECK(lode::Image::from_cubin(image->cubin, "cubin")->arch == sm(90));
    CHECK(contains(image->ptx, ".target sm_90"));
    CHECK(contains(image->ptx, ".entry saxpy("));
    CHECK(image->compiler.starts_with("NVRTC 1"));
    CHECK(image->log == "");
    CHECK(image->diagnostics.empty());

    const auto* signature = image->signature_of("saxpy");
    REQUIRE(signature != nullptr);
    REQUIRE(signature->parameters.size() == 4);
    CHECK(signature->parameters[1].offset == 8);

    const auto* resources = image->resources_of("saxpy");
    REQUIRE(resources != nullptr);
    CHECK(resources->registers >= 6);
    CHECK(resources->registers <= 32);
    CHECK(resources->shared_bytes == 0);
    CHECK(resources->stack_bytes == 0);
}

TEST_CASE("compile: a virtual target gives PTX alone") {
    const auto image = Compiler().compile(Source::text(saxpy), sm(80).as_virtual());
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->cubin.empty());
    CHECK(image->resources.empty());
    CHECK(contains(image->ptx, ".target sm_80"));
    CHECK(image->arch == sm(80).as_virtual());
}

TEST_CASE("compile: a suffixed target keeps its suffix") {
    const Arch arch({9, 0}, lode::ArchSuffix::specific);
    const auto image = Compiler().compile(Source::text(saxpy), arch);
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->arch == arch);
    CHECK(contains(image->ptx, ".target sm_90a"));
}

TEST_CASE("compile: name expressions come back lowered, kernels and variables") {
    const std::string code =
        "namespace n { __device__ int table[4];\n"
        "template <class T, int N> __global__ void scale(T* p) { p[threadIdx.x] *= N; } }\n";
    const std::vector<std::string> names = {"n::scale<float, 3>", "&n::table",
                                            "n::scale<double,7>"};
    const auto image = Compiler().compile(Source::text(code), sm(80), {}, names);
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->lowered_names.size() == 3);
    CHECK(image->symbol_of("n::scale<float, 3>") == "_ZN1n5scaleIfLi3EEEvPT_");
    CHECK(image->symbol_of("&n::table") == "_ZN1n5tableE");
    CHECK(image->resources_of("n::scale<double,7>") != nullptr);
    CHECK(image->signature_of("n::scale<double,7>") != nullptr);
}

TEST_CASE("compile: warnings are in the log and in the diagnostics, the report is in neither") {
    const auto image = Compiler().compile(
        Source::text("__global__ void k(int* p) {\n  int unused;\n  *p = 1;\n}\n", "w.cu"), sm(90));
    REQUIRE_MESSAGE(image, image.error().describe());
    REQUIRE(image->diagnostics.size() == 1);
    CHECK(image->diagnostics[0] ==
          lode::Diagnostic{lode::Diagnostic::Severity::warning, "w.cu", 2, 7, "177-D",
                           "variable \"unused\" was declared but never referenced"});
    CHECK(contains(image->log, "w.cu(2): warning #177-D"));
    CHECK_FALSE(contains(image->log, "ptxas info"));
    CHECK(image->resources.size() == 1);
}

TEST_CASE("compile: a syntax error is named with file, line, column and count") {
    const auto image = Compiler().compile(
        Source::text("__global__ void k() {\n    x = 1;\n    y = 2;\n}\n", "broken.cu"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::compile_failed);
    CHECK(contains(image.error().message, "broken.cu:2:5: error: identifier \"x\" is undefined"));
    CHECK(contains(image.error().message, "2 errors"));
    CHECK(contains(image.error().message, "sm_90"));
    CHECK(contains(image.error().log, "identifier \"y\" is undefined"));
    CHECK(image.error().native.origin == lode::Native::Origin::nvrtc);
}

TEST_CASE("compile: an architecture that NVRTC doesn't know is refused with the list") {
    const auto image = Compiler().compile(Source::text(saxpy), sm(35));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::unsupported_arch);
    CHECK(contains(image.error().message, "sm_35"));
    CHECK(contains(image.error().message, "it supports sm_"));
    CHECK(contains(image.error().message, ", sm_90"));
}

TEST_CASE("compile: PTX is wrapped, not compiled, and needs no compiler") {
    const std::string ptx =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    const Compiler absent({.nvrtc = "/nonexistent/libnvrtc.so"});
    const auto image = absent.compile(Source::ptx(ptx), sm(90).as_virtual());
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->arch == sm(80).as_virtual());
    CHECK(image->ptx == ptx);
    CHECK(image->compiler.empty());
    CHECK(image->kernels.size() == 1);

    const auto bad = absent.compile(Source::ptx("not ptx", "x.ptx"), sm(90).as_virtual());
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code == Errc::invalid_image);
}

TEST_CASE("compile: __int128 is there without a flag, and with it") {
    const auto source = Source::text(
        "#ifndef __CUDACC_RTC_INT128__\n#error no int128\n#endif\n"
        "__global__ void k(long long* x) { *x = static_cast<long long>((__int128(*x) * *x) >> 64); "
        "}\n");
    lode::CompileOptions options;
    for (const auto& flags : std::vector<std::vector<std::string>>{{}, {"--device-int128"}}) {
        options.extra_flags = flags;
        const auto image = Compiler().compile(source, sm(80), options);
        CHECK_MESSAGE(image, image.error().describe());
    }
}

TEST_CASE("compile: minimal leaves textures out, and nothing else of a small kernel") {
    const auto info = Compiler().info();
    REQUIRE(info);
    if (std::pair(info->version_major, info->version_minor) < std::pair(12, 8)) return;
    lode::CompileOptions minimal;
    minimal.minimal = true;
    const auto texture = Source::text("__global__ void k(cudaTextureObject_t x) {}\n");
    CHECK(Compiler().compile(texture, sm(80)));
    CHECK_FALSE(Compiler().compile(texture, sm(80), minimal));
    const auto small = Compiler().compile(Source::text(saxpy), sm(80), minimal);
    REQUIRE_MESSAGE(small, small.error().describe());
    CHECK(small->ptx == Compiler().compile(Source::text(saxpy), sm(80))->ptx);
}
