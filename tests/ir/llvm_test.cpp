// LLVM IR through libLLVM's back end: the PTX is that of opt and llc, byte by byte, nothing ends
// the host, and kernels of several compilers run on the software device.
#include "jit/compile_ir.hpp"
#include "jit/nvvm_log.hpp"
#include "tests/ir/llvm_programs.hpp"
#include "tests/ir/modules.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

constexpr auto llvm_ir = Source::Language::llvm_ir;

std::string libdevice_file() {
    for (const auto& place :
         toolkit_libdevice_places(NvrtcSearchEnvironment::of_process({}, "LODE_LLVM"))) {
        if (std::filesystem::exists(place)) return place.string();
    }
    return {};
}

std::string file_text(const std::string& name) {
    return text_of(std::filesystem::path(LODE_SOURCE_DIR "/tests/ir") / name);
}

std::string replaced(std::string text, std::string_view old, std::string_view by) {
    for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
        text.replace(at, old.size(), by);
    return text;
}

Error failure(const std::string& code, const Arch& arch = sm(80)) {
    const auto image = Compiler().compile(Source::llvm_ir(code, "wrong.ll"), arch);
    REQUIRE_FALSE(image);
    return image.error();
}

/// A module for any version.
std::string module_of(std::string_view body) {
    return "target triple = \"nvptx64-nvidia-cuda\"\n" + std::string(body);
}

}  // namespace

TEST_CASE("llvm: the PTX is that of opt and llc, and nvJitLink takes it") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto scratch = make_scratch();
    const LlvmPrograms programs(llvm->build, scratch.path());
    if (!programs.are_there()) {
        MESSAGE("not tested here: opt and llc of LLVM ", llvm->build);
        return;
    }
    const std::string libdevice = libdevice_file();
    REQUIRE_FALSE(libdevice.empty());
    struct Case {
        CompileOptions options;
        char level = '3';
        std::vector<std::string> flags = {};
        const char* own = "-strip-debug";
    };
    const Case cases[] = {
        {{}},
        {{.line_info = true}, '3', {}, ""},
        {{.debug = true}, '0', {}, ""},
        {{.extra_flags = {"-O1"}}, '1'},
        {{.extra_flags = {"-mattr=+ptx75"}}, '3', {"-mattr=+ptx75"}},
        {{.math = {.prec_div = false}}, '3', {"-nvptx-prec-divf32=0"}},
        {{.math = {.prec_sqrt = false}}, '3', {"-nvptx-prec-sqrtf32=0"}},
    };
    const CachedCompiler compiler({}, {.mode = CacheMode::off});
    for (const std::string name : {"scale", "sine", "reverse", "lines"}) {
        // A division, for what is said about its precision.
        const Source source = Source::llvm_ir(
            replaced(llvm_module(name, dialect_of(*llvm)).code(), "fmul", "fdiv"), name + ".ll");
        for (const Case& one : cases) {
            CAPTURE(name);
            CAPTURE(one.flags);
            auto flags = one.flags;
            flags.emplace_back("-mcpu=sm_80");
            const auto image = *require(compiler.compile(source, sm(80), one.options)).image;
            const auto right = programs.compile(source.code(), name == "sine" ? libdevice : "",
                                                one.level, flags, one.own);
            CHECK_FALSE(right.empty());
            CHECK(image.ptx == right);
            CHECK_FALSE(image.cubin.empty());
            CHECK(image.compiler == llvm->name());
            REQUIRE(image.kernels.size() == 1);
            CHECK(image.kernels.front().kernel == (name == "lines" ? "twice" : name));
            const bool has_lines = as_text(image.cubin).find("twice.py") != std::string_view::npos;
            CHECK(has_lines == (name == "lines" && (one.options.line_info || one.options.debug)));
        }
        const std::string bitcode = programs.bitcode(source.code());
        REQUIRE_FALSE(bitcode.empty());
        CHECK(
            require(compiler.compile(Source::llvm_ir(bitcode, name + ".bc"), sm(80))).image->ptx ==
            require(compiler.compile(source, sm(80))).image->ptx);
    }
    // The targets are those of llc, too.
    for (int number = 50; number < 130; ++number) {
        CAPTURE(number);
        if (!Arch::parse("sm_" + std::to_string(number))) continue;
        const auto cc = ComputeCapability::from_number(number);
        CHECK(std::ranges::binary_search(llvm->supported, cc) ==
              programs.know("sm_" + std::to_string(number)));
    }
}

TEST_CASE("llvm: a target that LLVM doesn't know is refused, and the ladder takes PTX") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    for (const char* name : {"sm_88", "sm_90a", "sm_100a", "sm_121f"}) {
        const auto arch = *Arch::parse(name);
        const auto image = Compiler().compile(llvm_module("scale", dialect_of(*llvm)), arch);
        if (image) continue;
        CHECK(image.error().code == Errc::unsupported_arch);
        CHECK(
            contains(image.error().message, llvm->name() + " doesn't support the target " + name));
    }
    const auto target = require(choose_target(
        {.device = {12, 1},
         .supported = std::vector<ComputeCapability>{{7, 5}, {8, 0}},
         .tools = {.compiler_version = llvm->cuda_version(), .compiler = llvm->product}}));
    CHECK(target.arch == Arch({8, 0}).as_virtual());
}

TEST_CASE("llvm: options become flags of opt and llc, and others are refused by name") {
    const auto flags = [](const CompileOptions& options) {
        const auto made = ir_flags({Source::llvm_ir("", "a.ll"), sm(90), options});
        if (!made) return made.error().message;
        std::string text;
        for (const auto& flag : made->compiler)
            text += flag + " ";
        return text;
    };
    CHECK(flags({}) == "-mcpu=sm_90 -O3 ");
    CHECK(flags({.debug = true, .extra_flags = {"-O2"}}) == "-mcpu=sm_90 -O0 -g ");
    CHECK(flags({.line_info = true, .extra_flags = {"-O2", "-mattr=+ptx83"}}) ==
          "-mcpu=sm_90 -O2 -mattr=+ptx83 -g ");
    CHECK(flags({.math = {.preset = Math::Preset::fast}}) ==
          "-mcpu=sm_90 -O3 -denormal-fp-math-f32=preserve-sign -nvptx-prec-divf32=0 "
          "-nvptx-prec-sqrtf32=0 ");
    for (const auto& [options, what] : std::vector<std::pair<CompileOptions, const char*>>{
             {{.lto = true}, "CompileOptions::lto"},
             {{.math = {.fmad = true}}, "Math::fmad"},
             {{.math = {.preset = Math::Preset::host_comparable}}, "Math::fmad"},
             {{.minimal = true}, "CompileOptions::minimal"},
             {{.extra_flags = {"-opt=0"}}, "'-opt=0'"},
             {{.extra_flags = {"-O4"}}, "'-O4'"},
             {{.extra_flags = {"-mattr=+ptx83,+sm_90"}}, "'-mattr=+ptx83,+sm_90'"}}) {
        CHECK(contains(flags(options), "'a.ll' is LLVM IR, which"));
        CHECK(contains(flags(options), what));
    }
}

TEST_CASE("llvm: what LLVM can't compile is an error, and ends neither the host nor the cache") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const Source good = llvm_module("scale", dialect_of(*llvm));
    const CachedCompiler compiler({}, {.mode = CacheMode::off});
    int compilations = 0;  // Each of another text, which no memory answers.
    const auto compile = [&](const CachedCompiler& with) {
        const std::string code = good.code() + "; " + std::to_string(++compilations) + "\n";
        return *require(with.compile(Source::llvm_ir(code, good.name()), sm(80))).image;
    };
    const auto before = compile(compiler);

    const auto typo = failure(replaced(good.code(), "fmul", "fmlu"));
    CHECK(typo.code == Errc::compile_failed);
    CHECK(contains(typo.message, "wrong.ll:22:10: error: expected instruction opcode"));
    CHECK(contains(typo.log, "fmlu"));
    CHECK(contains(failure("not IR").message, "wrong.ll:1:1: error: "));
    CHECK(contains(failure(std::string("BC\xC0\xDE\x01\x02\x03\x04", 8)).message, "wrong.ll"));
    CHECK(contains(failure("target triple = \"x86_64-linux-gnu\"\n").message, "x86_64-linux-gnu"));
    CHECK(contains(failure(module_of("declare void @g(i32)\ndefine void @f() {\n"
                                     "  call void @g(i32 undef)\n  unreachable\n}\n"
                                     "define i32 @h() {\n  %x = add i32 %y, 1\n"
                                     "  %y = add i32 %x, 1\n  ret i32 %y\n}\n"))
                       .message,
                   "the module is broken"));
    CHECK(contains(failure(module_of("define void @f() {\n"
                                     "  call void asm sideeffect \"bad\", \"=w\"()\n"
                                     "  ret void\n}\n"))
                       .message,
                   "constraint 'w'"));
    // LLVM reports these with report_fatal_error() and SIGSEGV, which end a process.
    const std::string fatal = module_of(
        "declare i32 @llvm.nvvm.redux.sync.add(i32, i32)\n"
        "define i32 @f(i32 %x) {\n"
        "  %r = call i32 @llvm.nvvm.redux.sync.add(i32 %x, i32 -1)\n"
        "  ret i32 %r\n}\n");
    const std::string crash = module_of(
        "define fp128 @f(fp128 %a) {\n"
        "  %b = fadd fp128 %a, %a\n  ret fp128 %b\n}\n");
    CHECK(contains(failure(fatal, sm(75)).message, "Cannot select: intrinsic"));
    for (const auto& code : {fatal, crash, std::string("not IR"), fatal}) {
        const auto refused = compiler.compile(Source::llvm_ir(code, "wrong.ll"), sm(75));
        REQUIRE_FALSE(refused);
        CHECK(compile(compiler) == before);
    }
    // The host has never opened LLVM, under any policy.
    const CachedCompiler never(
        {}, {.mode = CacheMode::off, .workers = {.policy = WorkerPolicy::never}});
    CHECK(compile(never) == before);
    CHECK_FALSE(contains(text_of("/proc/self/maps"), "libLLVM"));
}

TEST_CASE("llvm: a second compiler answers from the cache, and the key has LLVM and libdevice") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto scratch = make_scratch();
    const auto compile = [&](const CompileOptions& options = {}) {
        const CachedCompiler compiler({}, {.folder = scratch.path()});
        return require(compiler.compile(llvm_module("sine", dialect_of(*llvm)), sm(80), options));
    };
    const auto first = compile();
    CHECK_FALSE(first.report.hit());
    CHECK(first.report.not_kept == "");
    const auto second = compile();
    CHECK(second.report.hit());
    CHECK(*second.image == *first.image);
    CHECK_FALSE(compile({.math = {.preset = Math::Preset::fast}}).report.hit());
    // The same text in the other language is another request.
    const CachedCompiler compiler({}, {.folder = scratch.path()});
    const auto other = compiler.compile(module_in_memory("sine", dialect_of(*llvm)), sm(80));
    if (other) CHECK_FALSE(other->report.hit());
    const Variable nowhere("LODE_NVVM", "/nonexistent/libnvvm.so.4");
    const CachedCompiler without({}, {.folder = scratch.path()});
    const auto missing = without.compile(llvm_module("sine", dialect_of(*llvm)), sm(80));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::compiler_missing);
    CHECK(
        contains(missing.error().message, "libdevice, which isn't found. Install a CUDA toolkit"));
}

TEST_CASE("llvm: a jail gives the image of other workers") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const CachedCompiler compiler({}, {.mode = CacheMode::off, .workers = {.jail = Jail{}}});
    for (const char* name : {"scale", "sine"}) {
        const Source source = llvm_module(name, dialect_of(*llvm));
        const auto image = compiler.compile(source, sm(80));
        if (!image && image.error().code == Errc::not_supported) {
            MESSAGE("skipped: " << image.error().message);
            return;
        }
        CHECK(*require(image).image == require(Compiler().compile(source, sm(80))));
        const auto wrong = compiler.compile(Source::llvm_ir("not IR", "wrong.ll"), sm(80));
        REQUIRE_FALSE(wrong);
        CHECK(wrong.error().code == Errc::compile_failed);
    }
}

TEST_CASE("llvm: a record has the language of code, and of a file whose name tells another") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    const auto scratch = make_scratch();
    const auto record = scratch.path() / "record";
    const CachedCompiler compiler({}, {.folder = scratch.path() / "cache", .record = record});
    const Dialect dialect = dialect_of(*llvm);
    CHECK(compiler.compile(llvm_module("scale", dialect), sm(80)).has_value());
    CHECK(
        compiler.compile(Source::file(module_path("sine", dialect), llvm_ir), sm(80)).has_value());
    const std::string lines = text_of(record);
    CHECK(std::ranges::count(lines, '\n') == 2);
    std::size_t named = 0;
    constexpr std::string_view member = "\"language\":\"llvm_ir\"";
    for (auto at = lines.find(member); at != std::string::npos; at = lines.find(member, at + 1))
        ++named;
    CHECK(named == 2);
}

TEST_CASE("llvm: without libLLVM the error says what to install") {
    const Variable nowhere("LODE_LLVM", "/nonexistent/libLLVM.so.19.1");
    const auto missing = Compiler().compile(llvm_module("scale", Dialect::opaque), sm(80));
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == Errc::compiler_missing);
    CHECK(contains(missing.error().message, "/nonexistent/libLLVM.so.19.1 (LODE_LLVM)"));
    CHECK(contains(llvm_cure({}), "Debian's package libllvm19, or set LODE_LLVM"));
}

TEST_CASE("llvm: kernels of clang, Julia, Rust and Numba run on the software device") {
    const auto llvm = llvm_here();
    if (!llvm) return;
    ::setenv("LODE_EMULATOR_DEVICES", "sm_90", 1);
    emulator_test::reset();
    const auto runtime = require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY},
                                                .cache = CacheOptions{.mode = CacheMode::off}}));
    const auto device = require(runtime.device());
    const auto stream = require(device.create_stream());
    const int version = llvm->version_major;
    std::vector<float> x(100);
    for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = 0.25F * static_cast<float>(k) - 3;

    const auto scale = [&](const Source& source) {
        const auto kernel = require(device.load<void(float*, float, int)>(source, "scale"));
        const auto scaled = require(device.upload(x));
        require(kernel.launch(stream, cover(100), scaled, 2.5F, 99));
        require(stream.sync());
        auto expected = x;
        for (std::size_t k = 0; k < 99; ++k)
            expected[k] *= 2.5F;
        CHECK(require(scaled.to_vector()) == expected);
    };
    scale(llvm_module("scale", dialect_of(*llvm)));
    scale(Source::file(module_path("scale", dialect_of(*llvm)), llvm_ir));
    if (version < 17) scale(Source::llvm_ir(file_text("clang14.ll"), "clang14.ll"));
    if (version >= 19) scale(Source::llvm_ir(file_text("clang19.ll"), "clang19.ll"));

    const auto sine =
        require(device.load<void(float*)>(llvm_module("sine", dialect_of(*llvm)), "sine"));
    const auto waves = require(device.upload(x));
    require(sine.launch(stream, {.grid = 1, .block = 100}, waves));
    require(stream.sync());
    const auto sines = require(waves.to_vector());
    for (std::size_t k = 0; k < x.size(); ++k)
        CHECK(std::abs(sines[k] - std::sin(static_cast<double>(x[k]))) < 2e-7);

    std::vector<float> lines(100);
    const auto partial = require(device.upload(lines));
    const auto from = require(device.upload(x));
    const auto julia = require(device.load<void(float*, const float*, float, float, int)>(
        Source::llvm_ir(file_text("julia.ll"), "julia.ll"), "lines"));
    require(julia.launch(stream, cover(100), partial, from, 0.5F, 0.25F, 99));
    require(stream.sync());
    float total = 0;
    for (std::size_t k = 0; k < 99; ++k) {
        total += 0.5F * x[k] + 0.25F;  // Exact: small multiples of 1/8.
        lines[k] = k % 2 == 0 ? total : std::abs(total);
    }
    CHECK(require(partial.to_vector()) == lines);

    std::vector<float> sum(100, 1.0F);
    auto expected = sum;
    for (std::size_t k = 0; k < 99; ++k)
        expected[k] += 2 * x[k];
    if (version >= 19) {  // rustc's has words of LLVM 21, which change no result.
        std::string code = file_text("rust.ll");
        if (version < 21) {
            code = replaced(replaced(code, " captures(none)", ""), "inbounds nuw", "inbounds");
            code = replaced(replaced(code, "target datalayout", "; "), "ptx_kernel ", "");
            code += "!nvvm.annotations = !{!9}\n!9 = !{ptr @saxpy, !\"kernel\", i32 1}\n";
        }
        const auto to = require(device.upload(sum));
        const auto saxpy = require(device.load<void(const float*, float*, float, std::uint32_t)>(
            Source::llvm_ir(code, "rust.ll"), "saxpy"));
        require(saxpy.launch(stream, cover(100), from, to, 2.0F, 99U));
        require(stream.sync());
        CHECK(require(to.to_vector()) == expected);
    }
    if (version < 17) {  // Numba's has typed pointers: arrays are seven values.
        const auto to = require(device.upload(sum));
        const auto saxpy = require(
            device.load<void(void*, void*, std::int64_t, std::int64_t, const float*, std::int64_t,
                             std::int64_t, void*, void*, std::int64_t, std::int64_t, float*,
                             std::int64_t, std::int64_t, float, std::int32_t)>(
                Source::llvm_ir(file_text("numba.ll"), "numba.ll"), "saxpy"));
        require(saxpy.launch(stream, cover(100), nullptr, nullptr, std::int64_t{100},
                             std::int64_t{4}, from, std::int64_t{100}, std::int64_t{4}, nullptr,
                             nullptr, std::int64_t{100}, std::int64_t{4}, to, std::int64_t{100},
                             std::int64_t{4}, 2.0F, 99));
        require(stream.sync());
        CHECK(require(to.to_vector()) == expected);
    }
}
