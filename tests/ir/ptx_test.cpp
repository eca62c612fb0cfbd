// PTX as a source, assembled by nvJitLink: the code is that of the toolkit's ptxas and nvlink, and
// so are the errors; the cache keeps both.
#include "tests/ir/modules.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/target.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <elf.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* broken_ptx =
    ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n"
    "    .reg .b32 %r<3>;\n    add.s32 %r1, %r7, 1;\n    bogus.u32 %r1, 2;\n    ret;\n}\n";

bool has_linker() {
    const auto info = Linker().info();
    if (!info) MESSAGE("skipped: " << info.error().message);
    return info.has_value();
}

/// The PTX of a file of this repository.
Source ptx_of_file(const std::string& file) {
    const auto image =
        require(Compiler().compile(Source::file(LODE_SOURCE_DIR "/" + file), sm(75).as_virtual()));
    return Source::ptx(image.ptx, fs::path(file).stem().string() + ".ptx");
}

/// A program's output, stderr included.
std::string output_of(const std::string& line) {
    std::string text;
    std::FILE* const pipe = ::popen((line + " 2>&1").c_str(), "r");
    std::array<char, 4096> piece{};
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe))
        text.append(piece.data(), got);
    ::pclose(pipe);
    return text;
}

/// Whether there are ptxas and nvlink of the release of nvJitLink; says so if not.
bool has_ptxas() {
    const int version = require(Linker().info()).version;
    const std::string release = "release " + cuda_version_text(version) + ",";
    for (const char* program : {"ptxas", "nvlink"}) {
        if (contains(output_of(std::string(program) + " --version"), release)) continue;
        MESSAGE("skipped: there is no " << std::string(program) << " of " << release);
        return false;
    }
    return true;
}

/// The sections that hold code, its constants, its layout and its relocations.
std::map<std::string, std::string> code_sections(std::string_view elf) {
    Elf64_Ehdr header;
    REQUIRE(elf.size() > sizeof header);
    std::memcpy(&header, elf.data(), sizeof header);
    const auto section = [&](std::size_t index) {
        Elf64_Shdr found;
        std::memcpy(&found, elf.data() + header.e_shoff + index * sizeof found, sizeof found);
        return found;
    };
    const auto names = section(header.e_shstrndx).sh_offset;
    std::map<std::string, std::string> sections;
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        const auto found = section(i);
        const std::string name = elf.data() + names + found.sh_name;
        for (const char* start :
             {".text", ".nv.constant", ".nv.shared", ".nv.global", ".nv.info", ".rela"}) {
            if (!name.starts_with(start)) continue;
            sections[name] = found.sh_type == SHT_NOBITS
                                 ? std::to_string(found.sh_size)
                                 : std::string(elf.substr(found.sh_offset, found.sh_size));
        }
    }
    return sections;
}

std::string code_of(const Image& image) {
    return std::string(as_text(image.cubin));
}

/// What ptxas and nvlink make of PTX.
std::string toolkit_code(const fs::path& folder, const std::string& ptx,
                         const std::string& options) {
    put(folder / "a.ptx", ptx);
    const std::string at = folder.string();
    output_of("ptxas -c " + options + " " + at + "/a.ptx -o " + at + "/a.cubin");
    output_of("nvlink -arch=sm_90 " + at + "/a.cubin -o " + at + "/linked.cubin");
    return text_of(folder / "linked.cubin");
}

/// A log of nvJitLink and one of ptxas say the same, but for the input's name and the last line.
std::string as_ptxas_says(std::string log, const std::string& file) {
    constexpr std::string_view anyone = "application ptx input";
    for (std::size_t at = 0; (at = log.find(anyone, at)) != std::string::npos;)
        log.replace(at, anyone.size(), file);
    return log.substr(0, log.find("ERROR NVJITLINK"));
}

}  // namespace

TEST_CASE("ptx: machine code is that of ptxas and nvlink, section by section") {
    if (!has_linker() || !has_ptxas()) return;
    const auto scratch = make_scratch();
    struct Case {
        const char* file;
        CompileOptions options;
        const char* flags;
    };
    const Case cases[] = {
        {"samples/01_hello/saxpy.cu", {}, ""},
        {"samples/01_hello/saxpy.cu", {.line_info = true}, "-lineinfo"},
        {"samples/01_hello/saxpy.cu", {.debug = true}, "-g"},
        {"tests/corpus/kernels/calls.cu", {}, ""},
        {"tests/corpus/kernels/matmul.cu", {}, ""},
        {"tests/corpus/kernels/matmul.cu", {.max_registers = 24}, "-maxrregcount=24"},
        {"tests/corpus/kernels/matmul.cu", {.extra_flags = {"-Xptxas=-O1"}}, "-O1"},
        {"tests/corpus/kernels/atomics.cu",
         {.extra_flags = {"--ptxas-options=-dlcm=cg"}},
         "-dlcm=cg"},
    };
    for (const auto& [file, options, flags] : cases) {
        CAPTURE(file);
        CAPTURE(flags);
        const Source source = ptx_of_file(file);
        const Image image = require(Compiler().compile(source, sm(90), options));
        const auto theirs = code_sections(
            toolkit_code(scratch.path(), source.code(), std::string("-arch=sm_90 ") + flags));
        CHECK(theirs.size() > 3);
        CHECK(code_sections(code_of(image)) == theirs);
        CHECK(image.arch == sm(90));
        CHECK(image.ptx == source.code());
        CHECK_FALSE(image.kernels.empty());
        CHECK(image.resources.size() == image.kernels.size());
        CHECK(image.compiler == require(Linker().info()).name());
    }
}

TEST_CASE("ptx: broken PTX has ptxas's errors, also from a worker and from memory") {
    if (!has_linker()) return;
    const CachedCompiler compiler({}, {.mode = CacheMode::off});
    const CachedCompiler worker(
        {}, {.mode = CacheMode::off, .workers = {.policy = WorkerPolicy::always}});
    const Source source = Source::ptx(broken_ptx, "broken.ptx");
    const auto first = compiler.compile(source, sm(90));
    REQUIRE_FALSE(first);
    const Error error = first.error();
    CHECK(error.code == Errc::compile_failed);
    CHECK(error.native.origin == Native::Origin::nvjitlink);
    CHECK(contains(error.message, "'broken.ptx' doesn't compile for sm_90: "));
    CHECK(contains(error.message, "broken.ptx:7: error: Arguments mismatch for instruction 'add'"));
    for (const auto* other : {&compiler, &worker}) {
        const auto again = other->compile(source, sm(90));
        REQUIRE_FALSE(again);
        CHECK(again.error().message == error.message);
        CHECK(again.error().log == error.log);
    }
    CHECK(compiler.counters().failures == 1);
    CHECK(compiler.counters().replayed_failures == 1);
    if (!has_ptxas()) return;
    const auto scratch = make_scratch();
    const std::string file = (scratch.path() / "broken.ptx").string();
    put(file, broken_ptx);
    CHECK(as_ptxas_says(error.log, file) ==
          output_of("ptxas -c -arch=sm_90 " + file + " -o /dev/null"));
}

TEST_CASE("ptx: a second compiler answers from the cache and opens nothing") {
    if (!has_linker()) return;
    const auto scratch = make_scratch();
    const Source source = ptx_of_file("samples/01_hello/saxpy.cu");
    Openings openings{"nvJitLink"};
    const auto answer = [&](const std::string& code, const CompileOptions& options = {}) {
        const CachedCompiler compiler({.log = openings.log()}, {.folder = scratch.path()});
        return require(compiler.compile(Source::ptx(code, "a.ptx"), sm(90), options));
    };
    const auto first = answer(source.code());
    CHECK_FALSE(first.report.hit());
    CHECK(first.report.not_kept == "");
    CHECK(openings.count == 1);
    const auto second = answer(source.code());
    CHECK(second.report.hit());
    CHECK(*second.image == *first.image);
    CHECK(openings.count == 1);
    const Image fresh = require(Compiler().compile(Source::ptx(source.code(), "a.ptx"), sm(90)));
    CHECK(fresh == *first.image);

    CHECK_FALSE(answer(source.code() + "\n").report.hit());
    CHECK_FALSE(answer(source.code(), {.max_registers = 32}).report.hit());
    CHECK_FALSE(answer(source.code(), {.line_info = true}).report.hit());
    const Variable variable("NVJITLINK_TRACE_MESSAGES", "1");
    CHECK_FALSE(answer(source.code()).report.hit());
}

TEST_CASE("ptx: what an assembler can't do is refused by its name") {
    if (!has_linker()) return;
    const Source source = ptx_of_file("samples/01_hello/saxpy.cu");
    const auto refusal = [&](const CompileOptions& options, std::vector<std::string> names = {}) {
        const auto image = Compiler().compile(source, sm(90), options, names);
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::invalid_argument);
        return image.error().message;
    };
    CHECK(contains(refusal({.definitions = {{"N", "4"}}}), "CompileOptions::definitions"));
    CHECK(contains(refusal({.math = {.preset = Math::Preset::fast}}), "CompileOptions::math"));
    CHECK(contains(refusal({.relocatable = true}), "CompileOptions::relocatable"));
    CHECK(contains(refusal({.lto = true}), "CompileOptions::lto"));
    CHECK(contains(refusal({.max_registers = 256}), "256"));
    CHECK(contains(refusal({}, {"saxpy<float>"}), "saxpy<float>"));
    for (const char* flag : {"-O1", "--restrict", "-Xptxas=--options-file=a", "-Xptxas="})
        CHECK(contains(refusal({.extra_flags = {flag}}), std::string("'") + flag + "'"));

    const auto newer = Compiler().compile(source, sm(70));
    REQUIRE_FALSE(newer);
    CHECK(newer.error().code == Errc::unsupported_arch);
    std::string text = source.code();
    text.replace(text.find("sm_75"), 5, "sm_90");
    CHECK(contains(Compiler().compile(Source::ptx(text, "s.ptx"), sm(80)).error().message,
                   "PTX for compute_90, which sm_80 can't run"));
    CHECK(Compiler().compile(Source::ptx("nothing", "s.ptx"), sm(90)).error().code ==
          Errc::invalid_image);
    // For a virtual target it stays what it is.
    const auto wrapped = require(Compiler().compile(source, sm(90).as_virtual()));
    CHECK(wrapped.cubin.empty());
    CHECK(wrapped.ptx == source.code());

    const Variable nowhere("LODE_NVJITLINK", "/nonexistent/libnvJitLink.so");
    const auto missing = Compiler().compile(source, sm(90));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::compiler_missing);
}

TEST_CASE("ptx: a worker keeps to its limits, and a jail gives the same image") {
    if (!has_linker()) return;
    const Source source = ptx_of_file("samples/01_hello/saxpy.cu");
    const Image here = require(Compiler().compile(source, sm(90)));
    const CachedCompiler jailed({}, {.mode = CacheMode::off, .workers = {.jail = Jail{}}});
    const auto image = jailed.compile(source, sm(90));
    if (!image && image.error().code == Errc::not_supported) {
        MESSAGE("skipped: " << image.error().message);
    } else {
        CHECK(*require(image).image == here);
    }

    std::string many = source.code().substr(0, source.code().find(".visible .entry"));
    const std::string kernel = source.code().substr(many.size());
    for (int i = 0; i < 20'000; ++i) {
        std::string copy = kernel;
        many += copy.replace(copy.find("saxpy"), 5, "k" + std::to_string(i));
    }
    CompileRequest slow{Source::ptx(std::move(many), "slow.ptx"), sm(90)};
    slow.limits.time = std::chrono::milliseconds(500);
    const CachedCompiler compiler({}, {.mode = CacheMode::off});
    const auto late = compiler.compile(slow);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == Errc::timed_out);
}
