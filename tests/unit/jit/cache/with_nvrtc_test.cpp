// The cache with the real NVRTC: the files that NVRTC reads decide between hit and miss.
#include "base/file.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/jit/cache.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using lode::cache::Scratch;
namespace fs = std::filesystem;

namespace {

CachedCompiler compiler_on(const Scratch& scratch) {
    CacheOptions options;
    options.folder = scratch / "cache";
    return CachedCompiler({}, options);
}

CachedImage compile(const CachedCompiler& compiler, const Source& source) {
    return unwrap(compiler.compile(source, unwrap(Arch::parse("sm_90"))));
}

/// Waits until the stamps of the files written so far can be trusted.
void wait_for_stamps() {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
}

}  // namespace

TEST_CASE("with nvrtc: a header that isn't opened may change, one that is may not") {
    const Scratch scratch;
    scratch.write("k.cu",
                  "#include \"opened.h\"\n#ifdef NEVER\n#include \"other.h\"\n#endif\n"
                  "extern \"C\" __global__ void k(int* x) { *x = value; }\n");
    scratch.write("opened.h", "constexpr int value = 1;\n");
    scratch.write("other.h", "int other;\n");
    wait_for_stamps();
    const auto compiler = compiler_on(scratch);
    const auto source = Source::file(scratch / "k.cu");
    CHECK_FALSE(compile(compiler, source).report.hit());
    scratch.write("other.h", "int changed;\n");
    wait_for_stamps();
    CHECK(compile(compiler, source).report.hit());
    scratch.write("opened.h", "constexpr int value = 2;\n");
    wait_for_stamps();
    CHECK_FALSE(compile(compiler, source).report.hit());
}

TEST_CASE("with nvrtc: LTO-IR comes back from the folder, byte for byte") {
    const Scratch scratch;
    const auto source =
        Source::text("extern \"C\" __device__ float op(float x) { return x + 1; }\n", "op.cu");
    const auto compiled =
        unwrap(compiler_on(scratch).compile(source, unwrap(Arch::parse("sm_90")), {.lto = true}));
    CHECK_FALSE(compiled.report.hit());
    CHECK(compiled.report.not_kept == "");
    CHECK_FALSE(compiled.image->lto_ir.empty());
    const auto found =
        unwrap(compiler_on(scratch).compile(source, unwrap(Arch::parse("sm_90")), {.lto = true}));
    CHECK(found.report.tier == "disk");
    CHECK(*found.image == *compiled.image);
}

TEST_CASE("with nvrtc: OptiX IR comes back from the folder, byte for byte") {
    const Scratch scratch;
    const auto source =
        Source::text("extern \"C\" __global__ void __raygen__rg(int* x) { *x = 1; }\n", "rg.cu");
    const auto arch = unwrap(Arch::parse("compute_90"));
    const auto compiled = unwrap(compiler_on(scratch).compile(source, arch, {.optix_ir = true}));
    CHECK_FALSE(compiled.report.hit());
    CHECK(compiled.report.not_kept == "");
    CHECK_FALSE(compiled.image->optix_ir.empty());
    CHECK(compiled.image->ptx.empty());
    const auto found = unwrap(compiler_on(scratch).compile(source, arch, {.optix_ir = true}));
    CHECK(found.report.tier == "disk");
    CHECK(*found.image == *compiled.image);
}

// NVRTC's own trace of file accesses corrupts the heap after a few compilations with #line.
TEST_CASE("with nvrtc: #line directives, sources in memory and failures are handled") {
    const Scratch scratch;
    scratch.write("a.h", "#pragma once\nconstexpr int a = 1;\n");
    scratch.write("generated.h", "#line 77\nconstexpr int b = 2;\n");
    scratch.write("named.h", "#line 3 \"grammar.y\"\nconstexpr int b = 2;\n");
    wait_for_stamps();
    const auto compiler = compiler_on(scratch);
    const std::string kernel = "extern \"C\" __global__ void k(int* x) { *x = a + ";
    for (int round = 0; round < 4; ++round) {
        const auto add = [&](const std::string& name, const std::string& text) {
            const std::string file = fmt::format("{}_{}.cu", name, round);
            scratch.write(file.c_str(), text.c_str());
            wait_for_stamps();
            return Source::file(scratch / file);
        };
        const std::string end = fmt::format("{}; }}\n", round);
        CHECK_FALSE(compile(compiler, add("k", "#include \"a.h\"\n" + kernel + end)).report.hit());
        for (const auto* header : {"generated.h", "named.h"}) {
            const auto text =
                fmt::format("#include \"a.h\"\n#include \"{}\"\n{}b + {}", header, kernel, end);
            const auto name = fmt::format("a_longer_name_{}", header);
            CHECK_FALSE(compile(compiler, add(name, text)).report.hit());
        }
        const auto macro =
            "#define H \"generated.h\"\n#include \"a.h\"\n#include H\n" + kernel + end;
        CHECK_FALSE(compile(compiler, add("macro", macro)).report.hit());
        const auto in_memory =
            fmt::format("#include <cuda_fp16.h>\nconstexpr int a = 3;\n{}{}", kernel, end);
        CHECK_FALSE(compile(compiler, Source::text(in_memory, "memory.cu")).report.hit());
        const auto broken = add("broken", "#include \"a.h\"\n#include \"nowhere.h\"\n");
        CHECK_FALSE(compiler.compile(broken, unwrap(Arch::parse("sm_90"))));
    }
}

TEST_CASE("with nvrtc: every header of a tree in memory is part of the key, and no folder is") {
    const Scratch scratch;
    const auto compiler = compiler_on(scratch);
    const auto arch = unwrap(Arch::parse("compute_90"));
    const auto source =
        Source::text("#include \"a/b.h\"\n__global__ void k(int* x) { *x = value; }\n", "k.cu");
    CompileOptions options;
    options.headers = {{"a/b.h", "#include \"c.h\"\n"},
                       {"a/c.h", "constexpr int value = 1;\n"},
                       {"c.h", "constexpr int value = 2;\n"}};
    const auto first = unwrap(compiler.compile(source, arch, options));
    CHECK_FALSE(first.report.hit());
    CHECK(first.report.not_kept == "");
    CHECK(first.image->ptx.find(", 1;") != std::string::npos);
    // A folder with the name of the tree's isn't looked at.
    const fs::path before = fs::current_path();
    scratch.write("work/<memory>/a/c.h", "#error a file\n");
    fs::current_path(scratch / "work");
    CHECK(unwrap(compiler.compile(source, arch, options)).report.hit());
    const auto again = unwrap(compiler_on(scratch).compile(source, arch, options));
    CHECK(again.report.tier == "disk");
    CHECK(*again.image == *first.image);
    fs::current_path(before);
    options.headers[1].text = "constexpr int value = 3;\n";
    const auto edited = unwrap(compiler.compile(source, arch, options));
    CHECK_FALSE(edited.report.hit());
    CHECK(edited.image->ptx != first.image->ptx);
}
