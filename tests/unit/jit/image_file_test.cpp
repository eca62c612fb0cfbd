#include "base/cubin.hpp"
#include "tests/support/fatbin_file.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>
#include <lode/jit/image_file.hpp>
#include <lode/jit/linker.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;

namespace {

constexpr std::string_view plain_ptx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

std::span<const std::byte> bytes_of_text(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("image file: PTX loses its byte order mark, which drivers refuse, and UTF-16 is named") {
    const std::string marked = "\xEF\xBB\xBF" + std::string(plain_ptx);
    const auto read = require(images_of_bytes(bytes_of_text(marked), "a"));
    CHECK(read.front().ptx == plain_ptx);
    CHECK(require(Image::from_ptx(marked, "a.ptx")).ptx == plain_ptx);
    CHECK(require(Compiler().compile(Source::ptx(marked), sm(80).as_virtual())).ptx == plain_ptx);
    CHECK(require(LinkInput::from_bytes(bytes_of_text(marked), "a")).bytes.size() ==
          plain_ptx.size());
    for (const bool is_big : {false, true}) {
        std::string wide;
        for (const char c : plain_ptx)
            wide += is_big ? std::string{'\0', c} : std::string{c, '\0'};
        for (const auto& text : {wide, (is_big ? "\xFE\xFF" : "\xFF\xFE") + wide}) {
            for (const auto& error : {require_error(images_of_bytes(bytes_of_text(text), "a.ptx")),
                                      require_error(Image::from_ptx(text, "a.ptx"))}) {
                CHECK(error.code == Errc::invalid_image);
                CHECK(error.message ==
                      "'a.ptx' is UTF-16 text, which lode doesn't read: save it as UTF-8.");
            }
        }
    }
}

TEST_CASE("image file: PTX, machine code and fat binaries are recognised by their content") {
    const auto ptx = require(images_of_bytes(bytes_of_text(plain_ptx), "a"));
    REQUIRE(ptx.size() == 1);
    CHECK(ptx.front().ptx == plain_ptx);
    CHECK(ptx.front().name == "a");

    const auto compiled = require(Compiler().compile(
        Source::text("extern \"C\" __global__ void k(int* x) { *x = 1; }", "k.cu"), sm(80)));
    const auto cubin = require(images_of_bytes(compiled.cubin, "b"));
    REQUIRE(cubin.size() == 1);
    CHECK(cubin.front().cubin == compiled.cubin);
    CHECK(cubin.front().arch == sm(80));

    const std::string_view code(reinterpret_cast<const char*>(compiled.cubin.data()),
                                compiled.cubin.size());
    const auto fatbin = file_of_parts([&](std::vector<std::byte>& to) {
        append_part(to, 1, 80, 0x11, plain_ptx);
        append_part(to, 2, 80, 0x11, code);
    });
    const auto parts = require(images_of_bytes(fatbin, "c"));
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].ptx == plain_ptx);
    CHECK(parts[1].cubin == compiled.cubin);

    const auto folder = make_scratch();
    const auto path = put(folder.path() / "no-extension", plain_ptx);
    CHECK(require(images_of_file(path)).front().name == "no-extension");
}

TEST_CASE("image file: what no driver loads is refused with its format") {
    CHECK_CONTAINS(require_error(images_of_bytes(bytes_of_text("hello"), "x")).message,
                   "'x' (5 bytes) is neither PTX nor a cubin");
    CHECK_CONTAINS(require_error(images_of_bytes(bytes_of_text("!<arch>\n"), "libx.a")).message,
                   "'libx.a' is an archive, which no driver loads");
    const auto lto = require(
        Compiler().compile(Source::text("extern \"C\" __device__ int f() { return 1; }", "f.cu"),
                           sm(80), {.lto = true}));
    const auto error = require_error(images_of_bytes(lto.lto_ir, "f"));
    CHECK(error.code == Errc::invalid_image);
    CHECK_CONTAINS(error.message, "'f' is LTO-IR, which no driver loads");
    const auto none = file_of_parts([](std::vector<std::byte>&) {});
    CHECK_CONTAINS(require_error(images_of_bytes(none, "empty")).message,
                   "'empty' has neither PTX nor machine code");
    CHECK(require_error(images_of_file("/nonexistent/x.cubin")).code == Errc::not_found);
}

TEST_CASE("image file: the kernels of machine code are those that the host may launch") {
    const std::vector<std::string> names{"second<float>"};
    const auto image = require(Compiler().compile(Source::text(R"(
__device__ __noinline__ int helper(int x) { return x * x; }
extern "C" __global__ void first(int* x) { *x = helper(*x); }
template <class T> __global__ void second(T* x) { *x += 1; }
__device__ int variable;
)",
                                                               "k.cu"),
                                                  sm(80), {}, names));
    auto kernels = cubin_kernels(image.cubin);
    std::ranges::sort(kernels);
    CHECK(kernels == std::vector<std::string>{"_Z6secondIfEvPT_", "first"});
    CHECK(cubin_kernels({}).empty());
    CHECK(cubin_kernels(bytes_of_text(plain_ptx)).empty());
    for (std::size_t size = 0; size < image.cubin.size(); size += 61)
        (void)cubin_kernels(std::span(image.cubin).first(size));
}
