// NVVM IR through libNVVM and nvJitLink: the code is theirs, byte by byte, and what can't be
// compiled is refused with a sentence.
#include "jit/compile_ir.hpp"
#include "jit/nvvm_log.hpp"
#include "tests/ir/modules.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"

#include <lode/jit/cache.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>

using namespace lode;
using namespace lode::test;

namespace {

/// libdevice beside the libNVVM in use; the test searches by itself.
std::string libdevice_text(const CompilerInfo& nvvm) {
    for (auto folder = nvvm.path.parent_path(); folder.has_relative_path();
         folder = folder.parent_path()) {
        for (const char* place : {"libdevice/libdevice.10.bc", "nvvm/libdevice/libdevice.10.bc"}) {
            if (std::filesystem::exists(folder / place)) return text_of(folder / place);
        }
    }
    return {};
}

Error refusal(const CompileOptions& options, const Arch& arch = sm(90),
              std::vector<std::string> names = {}) {
    const auto image = Compiler().compile(module_in_memory("scale"), arch, options, names);
    REQUIRE_FALSE(image);
    return image.error();
}

}  // namespace

TEST_CASE("ir: PTX and machine code are those of libNVVM and nvJitLink called by hand") {
    if (!has_nvvm()) return;
    const Compiler compiler;
    const auto info = require(compiler.info(Source::Language::nvvm_ir));
    const DirectLibrary nvvm(info.path);
    const DirectLibrary linker(require(Linker().info()).path);
    const std::string libdevice = libdevice_text(info);
    REQUIRE_FALSE(libdevice.empty());
    for (const std::string name : {"scale", "sine", "reverse", "lines"}) {
        for (const Dialect dialect : {Dialect::typed, Dialect::opaque}) {
            for (const int number : {75, 90, 100, 120}) {
                if (dialect == Dialect::opaque && number < 100) continue;
                CAPTURE(name);
                CAPTURE(number);
                const Source source = module_in_memory(name, dialect);
                const auto image = require(compiler.compile(source, sm(number)));
                const std::string ptx = nvvm_compile(nvvm, source.code(), source.name(),
                                                     name == "sine" ? libdevice : "",
                                                     {"-arch=compute_" + std::to_string(number)});
                CHECK_FALSE(ptx.empty());
                CHECK(image.ptx == ptx);
                CHECK(std::string(reinterpret_cast<const char*>(image.cubin.data()),
                                  image.cubin.size()) ==
                      nvjitlink_assemble(linker, ptx, source.name(),
                                         {"-arch=sm_" + std::to_string(number), "-verbose"}));
                CHECK(image.compiler == info.name());
                CHECK(image.arch == sm(number));
                REQUIRE(image.kernels.size() == 1);
                CHECK(image.kernels.front().kernel == (name == "lines" ? "twice" : name));
                CHECK(image.resources.size() == 1);
                CHECK(image.log.empty());
            }
        }
    }
}

TEST_CASE("ir: the properties of libNVVM are its own") {
    if (!has_nvvm()) return;
    const auto info = require(Compiler().info(Source::Language::nvvm_ir));
    CHECK(info.name() == "libNVVM " + info.build);
    CHECK(info.build.starts_with(std::to_string(info.version_major) + "." +
                                 std::to_string(info.version_minor) + "."));
    CHECK(std::ranges::is_sorted(info.supported));
    // A target is supported if and only if a module compiles for it.
    for (int number = 50; number < 130; ++number) {
        const auto cc = ComputeCapability::from_number(number);
        const bool listed = std::ranges::binary_search(info.supported, cc);
        const auto image = Compiler().compile(module_in_memory("scale"), Arch(cc).as_virtual());
        CAPTURE(number);
        CHECK(image.has_value() == listed);
        if (image) continue;
        CHECK(image.error().code == Errc::unsupported_arch);
        CHECK(contains(image.error().message, "libNVVM"));
    }
}

TEST_CASE("ir: a virtual target gives PTX, and lto LTO-IR that the linker takes") {
    if (!has_nvvm()) return;
    const Compiler compiler;
    const auto ptx = require(compiler.compile(module_in_memory("scale"), sm(90).as_virtual()));
    CHECK(ptx.cubin.empty());
    CHECK(contains(ptx.ptx, ".target sm_90"));
    const auto special =
        require(compiler.compile(module_in_memory("scale"), Arch({9, 0}, ArchSuffix::specific)));
    CHECK(contains(special.ptx, ".target sm_90a"));
    const auto lto = require(compiler.compile(module_in_memory("scale"), sm(90), {.lto = true}));
    CHECK_FALSE(lto.lto_ir.empty());
    CHECK(lto.cubin.empty());
    CHECK(lto.ptx.empty());
    const Linker linker;
    CHECK_FALSE(require(linker.link(std::vector{lto}, sm(90))).cubin.empty());
    CHECK_FALSE(require(linker.link(std::vector{ptx}, sm(90))).cubin.empty());
}

TEST_CASE("ir: maths become libNVVM's flags") {
    const auto flags = [](const Math& math) {
        auto made = require(ir_flags({module_in_memory("scale"), sm(90), {.math = math}})).compiler;
        std::string text;
        for (const auto& flag : made)
            text += flag + " ";
        return text;
    };
    CHECK(flags({}) == "-arch=compute_90 -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=1 ");
    CHECK(flags({.preset = Math::Preset::fast}) ==
          "-arch=compute_90 -ftz=1 -prec-div=0 -prec-sqrt=0 -fma=1 ");
    CHECK(flags({.preset = Math::Preset::host_comparable}) ==
          "-arch=compute_90 -ftz=0 -prec-div=1 -prec-sqrt=1 -fma=0 ");
    CHECK(flags({.preset = Math::Preset::fast, .ftz = false, .prec_sqrt = true}) ==
          "-arch=compute_90 -ftz=0 -prec-div=0 -prec-sqrt=1 -fma=1 ");
    if (!has_nvvm()) return;
    // They reach libdevice, too.
    const auto ftz = require(
        Compiler().compile(module_in_memory("sine"), sm(90).as_virtual(), {.math = {.ftz = true}}));
    CHECK(contains(ftz.ptx, ".ftz.f32"));
    const auto exact = require(Compiler().compile(module_in_memory("sine"), sm(90).as_virtual()));
    CHECK_FALSE(contains(exact.ptx, ".ftz.f32"));
}

TEST_CASE("ir: an option without a meaning for IR is refused by its name") {
    const std::function<void(CompileOptions&)> changes[] = {
        [](CompileOptions& options) {
            options.definitions = {{"N", "4"}};
        },
        [](CompileOptions& options) { options.include_folders = {"include"}; },
        [](CompileOptions& options) {
            options.headers = {{"a.h", ""}};
        },
        [](CompileOptions& options) { options.pre_includes = {"a.h"}; },
        [](CompileOptions& options) { options.standard = Standard::cxx20; },
        [](CompileOptions& options) { options.minimal = true; },
        [](CompileOptions& options) { options.tile = Tile::enabled; },
        [](CompileOptions& options) { options.optix_ir = true; },
    };
    constexpr const char* names[] = {"definitions", "include_folders", "headers", "pre_includes",
                                     "standard",    "minimal",         "tile",    "optix_ir"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        CompileOptions options;
        changes[i](options);
        const auto error = ir_flags({module_in_memory("scale"), sm(90), options});
        REQUIRE_FALSE(error);
        CHECK(error.error().code == Errc::invalid_argument);
        CHECK(contains(error.error().message, std::string("CompileOptions::") + names[i] + " "));
    }
    for (const char* flag : {"--restrict", "-opt=2", "-jump-table-density=102", "-gen-lto",
                             "-jump-table-density=", "-arch=compute_80"}) {
        const auto error = ir_flags({module_in_memory("scale"), sm(90), {.extra_flags = {flag}}});
        REQUIRE_FALSE(error);
        CHECK(contains(error.error().message, std::string("'") + flag + "'"));
    }
    if (!has_nvvm()) return;
    CHECK(contains(refusal({.relocatable = true}).message, "compute_90"));
    CHECK(contains(refusal({.max_registers = 32}, sm(90).as_virtual()).message, "max_registers"));
    CHECK(contains(refusal({.max_registers = 256}).message, "(256) is outside [0, 255]"));
    CHECK(contains(refusal({}, sm(90), {"scale<float>"}).message, "scale<float>"));
}

TEST_CASE("ir: options that concern code reach both compilers") {
    if (!has_nvvm()) return;
    const Compiler compiler;
    const auto unoptimised = require(compiler.compile(
        module_in_memory("lines"), sm(90).as_virtual(), {.extra_flags = {"-opt=0"}}));
    const auto optimised =
        require(compiler.compile(module_in_memory("lines"), sm(90).as_virtual()));
    CHECK(unoptimised.ptx != optimised.ptx);
    CHECK(contains(optimised.ptx, ".loc"));
    CHECK(contains(optimised.ptx, "/source/twice.py"));
    const auto has_lines = [](const Image& image) {
        return as_text(image.cubin).find("twice.py") != std::string_view::npos;
    };
    CHECK(has_lines(
        require(compiler.compile(module_in_memory("lines"), sm(90), {.line_info = true}))));
}

TEST_CASE("ir: wrong IR is an error with its place, and the log is libNVVM's") {
    if (!has_nvvm()) return;
    const auto failure = [](std::string code, const Arch& arch = sm(90)) {
        const auto image = Compiler().compile(Source::nvvm_ir(std::move(code), "wrong.ll"), arch);
        REQUIRE_FALSE(image);
        return image.error();
    };
    std::string code = text_of(module_path("scale"));
    code.replace(code.find("fmul"), 4, "fmlu");
    const auto typo = failure(code);
    CHECK(typo.code == Errc::compile_failed);
    CHECK(typo.native.origin == Native::Origin::nvvm);
    CHECK(contains(typo.message, "wrong.ll:22:10: error: expected instruction opcode"));
    CHECK(contains(typo.log, "wrong.ll (22, 9)"));

    // Where the dialect is a newer one than the target's, the message says which it reads.
    const auto newer = failure(text_of(module_path("scale", Dialect::opaque)));
    CHECK(contains(newer.message, "typed pointers"));
    CHECK(contains(failure("").message, "wrong.ll"));
    CHECK(failure("not IR").code == Errc::compile_failed);
    CHECK(failure(std::string("BC\xC0\xDE\x01\x02\x03\x04", 8)).code == Errc::compile_failed);

    std::string calls = text_of(module_path("reverse"));
    calls.replace(calls.find("@llvm.nvvm.barrier0()\n\n"), 21, "@nobody_defines_it()");
    calls.replace(calls.find("call void @llvm.nvvm.barrier0"), 29, "call void @nobody_defines_it");
    const auto undefined = failure(calls);
    CHECK(undefined.code == Errc::compile_failed);
    CHECK(contains(undefined.message, "nobody_defines_it"));
}

TEST_CASE("ir: messages of every form are read") {
    const auto read = [](std::string_view log, bool has_failed = true) {
        std::string text;
        for (const auto& diagnostic : nvvm::parse_log(log, has_failed))
            text += diagnostic.to_string() + "\n";
        return text;
    };
    CHECK(read("a (1).ll (3, 19): parse expected type\n") ==
          "a (1).ll:3:20: error: expected type\n");
    CHECK(read("a.ll: error: IR version 1.0 incompatible\n\nConsider this") ==
          "a.ll: error: IR version 1.0 incompatible\n");
    CHECK(read("libnvvm : error: -foo is an unsupported option") ==
          "error: -foo is an unsupported option\n");
    CHECK(read("error: Broken function found, compilation aborted!") ==
          "error: Broken function found, compilation aborted!\n");
    CHECK(read("DataLayoutError: Data Layout string is empty") ==
          "error: DataLayoutError: Data Layout string is empty\n");
    CHECK(read("anything", false).empty());
    CHECK(read("").empty());
}

TEST_CASE("ir: without libNVVM the error lists the places and what to install") {
    const Variable nowhere("LODE_NVVM", "/nonexistent/libnvvm.so.4");
    const auto missing = Compiler().compile(module_in_memory("scale"), sm(90));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::compiler_missing);
    CHECK(contains(missing.error().message, "/nonexistent/libnvvm.so.4 (LODE_NVVM)"));
    const NvrtcSearchEnvironment here;
    CHECK(contains(nvvm_cure(here), "wheel nvidia-nvvm, or set LODE_NVVM"));
}

TEST_CASE("ir: without nvJitLink there is PTX, and machine code says what is missing") {
    if (!has_nvvm()) return;
    const Variable nowhere("LODE_NVJITLINK", "/nonexistent/libnvJitLink.so");
    const Compiler compiler;
    CHECK(compiler.compile(module_in_memory("scale"), sm(90).as_virtual()).has_value());
    const auto missing = compiler.compile(module_in_memory("scale"), sm(90));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::not_found);
    CHECK(contains(missing.error().message, "PTX, for compute_90, doesn't"));
}

TEST_CASE("ir: a libNVVM without libdevice compiles what doesn't call it") {
    if (!has_nvvm()) return;
    const auto info = require(Compiler().info(Source::Language::nvvm_ir));
    const auto scratch = make_scratch();
    const auto copy = scratch.path() / "alone" / "lib" / info.path.filename();
    std::filesystem::create_directories(copy.parent_path());
    std::filesystem::copy_file(info.path, copy);
    const Compiler compiler({.nvvm = copy});
    CHECK(compiler.compile(module_in_memory("scale"), sm(90).as_virtual()).has_value());
    const auto missing = compiler.compile(module_in_memory("sine"), sm(90).as_virtual());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::compiler_missing);
    CHECK(contains(missing.error().message, "libdevice"));
}
