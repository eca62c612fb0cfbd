// LTO-IR, host archives and device-side launches: what the compiler makes is linked.
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>
#include <lode/jit/linker.hpp>

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using lode::Arch;
using lode::CompileOptions;
using lode::Errc;
using lode::Image;
using lode::Linker;
using lode::LinkInput;
using lode::Source;
using lode::test::contains;
using lode::test::sm;

namespace {

/// A library's kernel that calls a function of its user.
constexpr const char* lto_caller = R"(
extern "C" __device__ float op(float);
extern "C" __global__ void apply(float* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = op(values[i]);
}
)";
constexpr const char* lto_callee =
    "extern \"C\" __device__ float op(float x) { return x * 3.0f + 1.0f; }\n";

Image lto_image(const char* code, const char* name, const Arch& arch) {
    auto image = lode::Compiler().compile(Source::text(code, name), arch, {.lto = true});
    REQUIRE_MESSAGE(image, image.error().describe());
    return *std::move(image);
}

/// Returns false, with a message that the test is skipped, if nvJitLink isn't installed.
bool has_linker() {
    const auto info = Linker().info();
    if (!info) MESSAGE("skipped: " << info.error().message);
    return info.has_value();
}

}  // namespace

TEST_CASE("lto: the compiler gives LTO-IR, without machine code and PTX") {
    for (const Arch& arch : {sm(80), sm(80).as_virtual()}) {
        const Image image = lto_image(lto_caller, "apply.cu", arch);
        CHECK_FALSE(image.lto_ir.empty());
        CHECK(image.cubin.empty());
        CHECK(image.ptx.empty());
        CHECK(image.arch == arch);
        CHECK(contains(image.compiler, "NVRTC "));
        CHECK(std::ranges::count(image.compiler, '.') == 2);
        const auto input = LinkInput::from_bytes(image.lto_ir, "apply");
        REQUIRE(input);
        CHECK(input->kind == LinkInput::Kind::lto_ir);
    }
}

TEST_CASE("lto: a user's function is inlined into a library's kernel") {
    if (!has_linker()) return;
    const std::vector images{lto_image(lto_caller, "apply.cu", sm(80)),
                             lto_image(lto_callee, "op.cu", sm(80))};
    const auto ptx = Linker().link(images, sm(90).as_virtual());
    REQUIRE_MESSAGE(ptx, ptx.error().describe());
    CHECK(ptx->cubin.empty());
    CHECK(contains(ptx->ptx, ".target sm_90"));
    CHECK_FALSE(contains(ptx->ptx, "call"));
    CHECK(contains(ptx->ptx, "fma.rn.f32"));
    REQUIRE(ptx->signature_of("apply") != nullptr);
    CHECK(ptx->signature_of("apply")->parameters.size() == 2);

    const auto code = Linker().link(images, sm(90), {.verbose = true});
    REQUIRE_MESSAGE(code, code.error().describe());
    CHECK(code->ptx.empty());
    CHECK(code->arch == sm(90));
    REQUIRE(Image::from_cubin(code->cubin, "apply"));
    REQUIRE(code->resources_of("apply") != nullptr);
    CHECK(code->resources_of("apply")->stack_bytes == 0);
}

TEST_CASE("lto: name expressions keep their symbols through the link") {
    if (!has_linker()) return;
    const std::vector<std::string> names{"scale<float>"};
    const auto image = lode::Compiler().compile(
        Source::text("template <class T> __global__ void scale(T* p) { *p *= 2; }", "scale.cu"),
        sm(80), {.lto = true}, names);
    REQUIRE_MESSAGE(image, image.error().describe());
    const auto linked = Linker().link(*image, sm(80).as_virtual());
    REQUIRE_MESSAGE(linked, linked.error().describe());
    CHECK(linked->signature_of("scale<float>") != nullptr);
}

TEST_CASE("lto: kernels that aren't in the list are dropped") {
    if (!has_linker()) return;
    const Image image = lto_image(
        "extern \"C\" __global__ void kept(int* p) { *p = 1; }\n"
        "extern \"C\" __global__ void unused(int* p) { *p = 2; }\n",
        "two.cu", sm(80));
    const auto linked = Linker().link(image, sm(80).as_virtual(), {.kernels_used = {"kept"}});
    REQUIRE_MESSAGE(linked, linked.error().describe());
    CHECK(linked->signature_of("kept") != nullptr);
    CHECK(linked->signature_of("unused") == nullptr);
}

TEST_CASE("lto: errors name the symbol, the inputs and the targets") {
    if (!has_linker()) return;
    const Image caller = lto_image(lto_caller, "apply.cu", sm(80));
    const Image callee = lto_image(lto_callee, "op.cu", sm(80));
    const auto missing = Linker().link(caller, sm(80));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::link_failed);
    CHECK(contains(missing.error().message, "No input defines 'op'."));

    const auto twice = Linker().link(std::vector{caller, callee, callee}, sm(80));
    REQUIRE_FALSE(twice);
    CHECK(contains(twice.error().message, "Several inputs define 'op'."));

    const auto newer = Linker().link(lto_image(lto_callee, "op.cu", sm(90)), sm(80));
    REQUIRE_FALSE(newer);
    CHECK(newer.error().code == Errc::unsupported_arch);
    CHECK(contains(newer.error().message, "'op.cu' is LTO-IR for sm_90"));

    const auto ptx =
        lode::Compiler().compile(Source::text(lto_callee, "op.cu"), sm(80), {.relocatable = true});
    REQUIRE(ptx);
    const auto mixed = Linker().link(std::vector{caller, *ptx}, sm(80).as_virtual());
    REQUIRE_FALSE(mixed);
    CHECK(mixed.error().code == Errc::invalid_argument);
    CHECK(contains(mixed.error().message, "'op.cu' is PTX."));
    CHECK(Linker().link(std::vector{caller, *ptx}, sm(80)));
}

TEST_CASE("linker: a kernel that launches kernels links with the device runtime") {
    if (!has_linker()) return;
    const auto runtime = LinkInput::device_runtime();
    if (!runtime) {
        MESSAGE("skipped: " << runtime.error().message);
        return;
    }
    CHECK(runtime->kind == LinkInput::Kind::archive);
    const auto image = lode::Compiler().compile(
        Source::text("#include <cuda_runtime.h>\n"
                     "__global__ void child(int* to) { to[threadIdx.x] = 7; }\n"
                     "extern \"C\" __global__ void parent(int* to) { child<<<1, 32>>>(to); }\n",
                     "parent.cu"),
        sm(90), {.relocatable = true});
    REQUIRE_MESSAGE(image, image.error().describe());
    const auto alone = Linker().link(*image, sm(90));
    REQUIRE_FALSE(alone);
    CHECK(contains(alone.error().message, "No input defines '__cudaCDP2"));

    const auto program = LinkInput::from_image(*image);
    REQUIRE(program);
    const auto linked = Linker().link(std::vector{*program, *runtime}, sm(90));
    REQUIRE_MESSAGE(linked, linked.error().describe());
    CHECK(linked->name == "parent.cu + libcudadevrt.a");
    CHECK(linked->signature_of("parent") != nullptr);
    CHECK(linked->cubin.size() > image->cubin.size());
}
