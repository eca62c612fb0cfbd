// Linked programs on a device: by the driver, by nvJitLink, with LTO, with the device runtime.
#include "tests/gpu/support.hpp"
#include "tests/support/child_kernels.hpp"

#include <lode/runtime/driver_linker.hpp>

#include <numeric>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// A library's kernel that calls a function of its user.
constexpr const char* apply_source = R"(
extern "C" __device__ float op(float);
__device__ float offset = 0.5f;
extern "C" __global__ void apply(float* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = op(values[i]) + offset;
}
)";
constexpr const char* op_source =
    "extern \"C\" __device__ float op(float x) { return x * 3.0f + 1.0f; }\n";

Image compile_part(const Device& device, const char* code, const char* name,
                   const CompileOptions& options) {
    return require(device.compile(Source::text(code, name), {.compile = options}));
}

void check_apply(const Device& device, Image linked) {
    constexpr int n = 1000;
    const auto library = require(device.load(std::move(linked)));
    const auto apply = require(library.kernel<void(float*, int)>("apply"));
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.0F);
    const auto there = require(device.upload(values));
    const auto stream = require(device.create_stream());
    require(apply.launch(stream, cover(n, 256), there, n));
    require(stream.sync());
    const auto result = require(there.to_vector());
    std::size_t wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += result[i] == static_cast<float>(i) * 3.0F + 1.5F ? 0 : 1;
    CHECK(wrong == 0);
}

/// Whether this machine has nvJitLink.
bool has_nvjitlink() {
    return Linker().info().has_value();
}

}  // namespace

TEST_CASE("link: the driver links PTX of two sources, and the program runs") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = compile_part(device, apply_source, "apply.cu", {.relocatable = true});
    const auto function = compile_part(device, op_source, "op.cu", {.relocatable = true});
    const std::vector inputs{require(LinkInput::from_image(kernel)),
                             require(LinkInput::from_image(function))};
    auto linked = require(link_with_driver(device, inputs));
    CHECK(linked.name == "apply.cu + op.cu");
    REQUIRE(linked.signature_of("apply") != nullptr);
    CHECK(linked.arch.cc() <= device.cc());
    check_apply(device, std::move(linked));

    const auto alone = link_with_driver(device, std::span(inputs).first(1));
    REQUIRE_FALSE(alone);
    CHECK(alone.error().code == Errc::link_failed);
    INFO(alone.error().describe());
    CHECK(alone.error().message.find("No input defines 'op'.") != std::string::npos);
    const std::vector twice{inputs[1], inputs[1]};
    CHECK(link_with_driver(device, twice).error().code == Errc::link_failed);
}

TEST_CASE("link: the driver's linker refuses what only nvJitLink has") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto function = compile_part(device, op_source, "op.cu", {.relocatable = true});
    const std::vector inputs{require(LinkInput::from_image(function))};
    CHECK(link_with_driver(device, {}).error().code == Errc::invalid_argument);
    for (const LinkOptions& options :
         {LinkOptions{.extra_flags = {"-lto"}}, LinkOptions{.lto = true},
          LinkOptions{.optimization_level = 5}, LinkOptions{.split_compile = 2}})
        CHECK(link_with_driver(device, inputs, options).error().code == Errc::invalid_argument);
    const auto lto = compile_part(device, op_source, "op.cu", {.lto = true});
    const std::vector lto_inputs{require(LinkInput::from_image(lto))};
    CHECK(link_with_driver(device, lto_inputs).error().code == Errc::not_supported);
    CHECK(device.load(lto).error().message.find("is LTO-IR") != std::string::npos);
    const auto optix = compile_part(device, op_source, "op.cu", {.optix_ir = true});
    CHECK(device.load(optix).error().message.find("optixModuleCreate()") != std::string::npos);
}

TEST_CASE("link: a user's function is inlined into a library's kernel, which runs") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(has_nvjitlink(), "no nvJitLink");
    const std::vector parts{compile_part(device, apply_source, "apply.cu", {.lto = true}),
                            compile_part(device, op_source, "op.cu", {.lto = true})};
    check_apply(device, require(Linker().link(parts, Arch(device.cc()).as_virtual())));
    LODE_NEEDS(!machine()->driver().is_emulator(), "the software device runs only PTX");
    check_apply(device, require(Linker().link(parts, Arch(device.cc()))));
}

TEST_CASE("link: kernels that launch kernels give the host's results, by either linker") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto runtime = LinkInput::device_runtime();
    LODE_NEEDS(runtime.has_value(), "no libcudadevrt.a");
    const auto part = compile_part(device, child_kernels, "parent.cu", {.relocatable = true});
    const std::vector inputs{require(LinkInput::from_image(part)), *runtime};
    check_child_kernels(device, require(link_with_driver(device, inputs)));
    LODE_NEEDS(has_nvjitlink(), "no nvJitLink");
    LODE_NEEDS(!machine()->driver().is_emulator(), "the software device runs only PTX");
    check_child_kernels(device, require(Linker().link(inputs, Arch(device.cc()))));
}
