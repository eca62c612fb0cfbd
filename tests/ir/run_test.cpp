// NVVM IR on the software device: the results are those of the host.
#include "tests/ir/modules.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

Device device_of(const Runtime& runtime) {
    return require(runtime.device());
}

Runtime open(const char* devices, CacheOptions cache = {.mode = CacheMode::off}) {
    ::setenv("LODE_EMULATOR_DEVICES", devices, 1);
    emulator_test::reset();
    return require(
        Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}, .cache = std::move(cache)}));
}

}  // namespace

TEST_CASE("ir: kernels of both dialects run on the software device") {
    if (!has_nvvm()) return;
    struct Case {
        const char* device;
        Dialect dialect;
    };
    for (const auto& [name, dialect] :
         {Case{"sm_75", Dialect::typed}, Case{"sm_90", Dialect::typed},
          Case{"sm_100", Dialect::typed}, Case{"sm_120", Dialect::opaque}}) {
        CAPTURE(name);
        const auto runtime = open(name);
        const auto device = device_of(runtime);
        const auto stream = require(device.create_stream());
        std::vector<float> x(1000);
        for (std::size_t k = 0; k < x.size(); ++k)
            x[k] = 0.01F * static_cast<float>(k) - 3;
        const auto scaled = require(device.upload(x));
        const auto scale = require(device.load<void(float*, float, int)>(
            Source::file(module_path("scale", dialect)), "scale"));
        require(scale.launch(stream, cover(1000), scaled, 2.5F, 999));
        require(stream.sync());
        auto expected = x;
        for (std::size_t k = 0; k < 999; ++k)
            expected[k] *= 2.5F;
        CHECK(require(scaled.to_vector()) == expected);

        x.resize(256);
        const auto waves = require(device.upload(x));
        const auto sine =
            require(device.load<void(float*)>(module_in_memory("sine", dialect), "sine"));
        require(sine.launch(stream, {.grid = 1, .block = 256}, waves));
        require(stream.sync());
        const auto sines = require(waves.to_vector());
        for (std::size_t k = 0; k < x.size(); ++k)
            CHECK(std::abs(sines[k] - std::sin(static_cast<double>(x[k]))) < 2e-7);

        std::vector<std::int32_t> numbers(64);
        for (int k = 0; k < 64; ++k)
            numbers[k] = k * k;
        const auto turned = require(device.upload(numbers));
        const auto reverse = require(
            device.load<void(std::int32_t*)>(module_in_memory("reverse", dialect), "reverse"));
        require(reverse.launch(stream, {.grid = 1, .block = 64}, turned));
        require(stream.sync());
        CHECK(require(turned.to_vector()) ==
              std::vector<std::int32_t>(numbers.rbegin(), numbers.rend()));
    }
}

TEST_CASE("ir: what clang makes of CUDA C++ runs on a device of sm_100 or newer") {
    if (!has_nvvm()) return;
    const auto scratch = make_scratch();
    const auto file = scratch.path() / "clang.ll";
    const std::string command =
        "clang --cuda-device-only -nocudainc -nocudalib -x cuda --cuda-gpu-arch=sm_75 -O2 -S "
        "-emit-llvm " LODE_SOURCE_DIR "/tests/ir/clang.cu -o '" +
        file.string() + "' 2>/dev/null";
    if (std::system(command.c_str()) != 0) {
        MESSAGE("not tested here: there is no clang for CUDA");
        return;
    }
    // clang writes LLVM's data layout, and no version of NVVM IR.
    std::string code = text_of(file);
    const std::string typed = text_of(module_path("scale"));
    const auto layout = [](std::string_view text) {
        const auto at = text.find("target datalayout");
        return text.substr(at, text.find('\n', at) - at);
    };
    code.replace(code.find(layout(code)), layout(code).size(), layout(typed));
    code += "!nvvmir.version = !{!900}\n!900 = !{i32 2, i32 0}\n";
    const auto runtime = open("sm_120");
    const auto device = device_of(runtime);
    const auto scale =
        require(device.load<void(float*, float, int)>(Source::nvvm_ir(code, "clang.ll"), "scale"));
    const auto stream = require(device.create_stream());
    const auto x = require(device.upload(std::vector<float>{1, 2, 3}));
    require(scale.launch(stream, cover(3), x, 3.0F, 2));
    require(stream.sync());
    CHECK(require(x.to_vector()) == std::vector<float>{3, 6, 3});
}

TEST_CASE("ir: a wrong signature is refused at load") {
    if (!has_nvvm()) return;
    const auto runtime = open("sm_90");
    const auto wrong =
        device_of(runtime).load<void(float*, int)>(module_in_memory("scale"), "scale");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == Errc::signature_mismatch);
    const auto unknown = device_of(runtime).load<void(float*)>(module_in_memory("scale"), "scael");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().code == Errc::not_found);
    CHECK(contains(unknown.error().message, "scale"));
}

TEST_CASE("ir: a program loads IR without NVRTC") {
    if (!has_nvvm()) return;
    const Variable nowhere("LODE_NVRTC", "/nonexistent/libnvrtc.so.13");
    const auto runtime = open("sm_90");
    CHECK(device_of(runtime).load<void(float*)>(module_in_memory("sine"), "sine").has_value());
}

TEST_CASE("ir: a watched file of IR is loaded again after an edit") {
    if (!has_nvvm()) return;
    const auto scratch = make_scratch();
    const auto file = scratch.path() / "lines.ll";
    put(file, text_of(module_path("lines")));
    const auto runtime = open("sm_90", {.folder = scratch.path() / "cache"});
    const auto device = device_of(runtime);
    auto watcher = require(Watcher::create(device, Source::file(file), "twice"));
    const auto x = require(device.upload(std::vector<float>{3}));
    const auto launch = [&] {
        const auto stream = require(device.create_stream());
        const auto twice = require(watcher.kernel<void(float*)>());
        require(twice.launch(stream, {.grid = 1, .block = 1}, x));
        require(stream.sync());
        return require(x.to_vector()).front();
    };
    CHECK(launch() == 6);
    CHECK_FALSE(require(watcher.reload()));
    std::string code = text_of(module_path("lines"));
    code.replace(code.find("fadd"), 4, "fmul");
    put(file, code);
    CHECK(require(watcher.reload()));
    CHECK(launch() == 36);
}
