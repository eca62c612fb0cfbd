// NVVM IR in the cache and in workers.
#include "tests/ir/modules.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"

#include <lode/jit/cache.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

void append_byte(const std::filesystem::path& file) {
    std::ofstream(file, std::ios::binary | std::ios::app) << '\0';
}

}  // namespace

TEST_CASE("ir: a second compiler answers from the cache and opens nothing") {
    if (!has_nvvm()) return;
    const auto scratch = make_scratch();
    Openings openings{"libNVVM"};
    const auto answer = [&](std::string name) {
        const CachedCompiler compiler({.log = openings.log()}, {.folder = scratch.path()});
        return require(compiler.compile(
            Source::nvvm_ir(text_of(module_path("sine")), std::move(name)), sm(90)));
    };
    const auto first = answer("sine.ll");
    CHECK_FALSE(first.report.hit());
    CHECK(first.report.not_kept.empty());
    CHECK(openings.count == 1);
    const auto second = answer("sine.ll");
    CHECK(second.report.hit());
    CHECK(*second.image == *first.image);
    CHECK(answer("elsewhere/sine.ll").report.hit());
    CHECK(openings.count == 1);
}

TEST_CASE("ir: the key has the contents of libNVVM and of libdevice") {
    if (!has_nvvm()) return;
    const auto info = require(Compiler().info(Source::Language::nvvm_ir));
    const auto scratch = make_scratch();
    const auto library = scratch.path() / "toolkit/nvvm/lib64/libnvvm.so.4";
    const auto libdevice = scratch.path() / "toolkit/nvvm/libdevice/libdevice.10.bc";
    std::filesystem::create_directories(library.parent_path());
    std::filesystem::create_directories(libdevice.parent_path());
    std::filesystem::copy_file(info.path, library);
    put(libdevice, "not the real one");
    // The cache keeps nothing of a compiler whose files have just changed.
    const auto age = [&](const std::filesystem::path& file) {
        std::filesystem::last_write_time(
            file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    };
    const auto compile = [&] {
        const CachedCompiler compiler({.nvvm = library}, {.folder = scratch.path() / "cache"});
        return require(compiler.compile(module_in_memory("scale"), sm(90).as_virtual())).report;
    };
    age(library);
    age(libdevice);
    std::this_thread::sleep_for(std::chrono::seconds(3));
    const auto first = compile();
    CHECK_FALSE(first.hit());
    CHECK(first.not_kept == "");
    CHECK(compile().hit());
    append_byte(libdevice);
    CHECK_FALSE(compile().hit());
    append_byte(library);
    CHECK_FALSE(compile().hit());
}

TEST_CASE("ir: workers give the same image, and contain limits and crashes") {
    if (!has_nvvm()) return;
    const CachedCompiler compiler(
        {}, {.mode = CacheMode::off, .workers = {.policy = WorkerPolicy::always}});
    const Image here = require(Compiler().compile(module_in_memory("sine"), sm(90)));
    CHECK(*require(compiler.compile(module_in_memory("sine"), sm(90))).image == here);
    CHECK(require(compiler.info(Source::Language::nvvm_ir)).supported ==
          require(Compiler().info(Source::Language::nvvm_ir)).supported);

    // The parser descends once for each brace.
    const std::string deep = "%t = type " + std::string(20'000'000, '{') + "\n";
    const auto crashed = compiler.compile(Source::nvvm_ir(deep, "deep.ll"), sm(90));
    REQUIRE_FALSE(crashed);
    CHECK(crashed.error().code == Errc::compiler_failed);
    CHECK(*require(compiler.compile(module_in_memory("sine"), sm(90))).image == here);

    std::string many;
    const std::string one = text_of(module_path("sine"));
    const auto begin = one.find("define");
    const auto end = one.find("!nvvm.annotations");
    for (int i = 0; i < 3000; ++i) {
        auto function = one.substr(begin, end - begin);
        many += function.replace(function.find("@sine"), 5, "@sine" + std::to_string(i));
    }
    CompileRequest slow{Source::nvvm_ir(one.substr(0, end) + many + one.substr(end), "slow.ll"),
                        sm(90)};
    slow.limits.time = std::chrono::milliseconds(500);
    const auto late = compiler.compile(slow);
    REQUIRE_FALSE(late);
    CHECK(late.error().code == Errc::timed_out);

    const CachedCompiler here_only(
        {}, {.mode = CacheMode::off, .workers = {.policy = WorkerPolicy::never}});
    CHECK(here_only.compile(slow).error().code == Errc::not_supported);
}

TEST_CASE("ir: a jail gives the image of this process") {
    if (!has_nvvm()) return;
    const CachedCompiler compiler({}, {.mode = CacheMode::off, .workers = {.jail = Jail{}}});
    for (const char* name : {"scale", "sine", "lines"}) {
        const auto image = compiler.compile(module_in_memory(name), sm(90));
        if (!image && image.error().code == Errc::not_supported) {
            MESSAGE("skipped: " << image.error().message);
            return;
        }
        CHECK(*require(image).image == require(Compiler().compile(module_in_memory(name), sm(90))));
    }
    // The same jail compiles CUDA C++.
    CHECK(compiler.compile(Source::text("__global__ void k() {}"), sm(90)).has_value());
    const auto wrong = compiler.compile(Source::nvvm_ir("not IR", "wrong.ll"), sm(90));
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == Errc::compile_failed);
}

TEST_CASE("ir: recorded requests have their language, and are made again from the record") {
    if (!has_nvvm()) return;
    const auto scratch = make_scratch();
    const auto record = scratch.path() / "record";
    const CachedCompiler compiler({}, {.folder = scratch.path() / "cache", .record = record});
    CHECK(compiler.compile(module_in_memory("scale"), sm(90)).has_value());
    CHECK(compiler.compile(Source::file(module_path("sine")), sm(90)).has_value());
    const auto ptx = require(compiler.compile(module_in_memory("scale"), sm(90).as_virtual()));
    CHECK(compiler.compile(Source::ptx(ptx.image->ptx), sm(90)).has_value());
    CHECK(compiler.compile(Source::ptx(ptx.image->ptx), sm(90).as_virtual()).has_value());
    const std::string lines = text_of(record);
    CHECK(std::ranges::count(lines, '\n') == 4);  // PTX for the driver isn't compiled.
    CHECK(contains(lines, "\"language\":\"nvvm_ir\""));
    CHECK(contains(lines, "\"language\":\"ptx\""));
    CHECK(contains(lines, "sine.typed.ll\""));
}

TEST_CASE("ir: threads compile at once what one thread compiles") {
    if (!has_nvvm()) return;
    const Compiler compiler;
    const char* const names[] = {"scale", "sine", "reverse", "lines"};
    std::vector<Image> alone;
    for (const char* name : names)
        alone.push_back(require(compiler.compile(module_in_memory(name), sm(90))));
    std::vector<Result<Image>> made(16, fail(Errc::cancelled, ""));
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < made.size(); ++i) {
            threads.emplace_back(
                [&, i] { made[i] = compiler.compile(module_in_memory(names[i % 4]), sm(90)); });
        }
    }
    for (std::size_t i = 0; i < made.size(); ++i)
        CHECK(require(made[i]) == alone[i % 4]);
}
