#include "base/file.hpp"
#include "base/shared_library.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/table.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using lode::Compiler;
using lode::Errc;
using lode::NvrtcTable;
using lode::Source;
using lode::test::contains;
using lode::test::sm;
using lode::test::Variable;

namespace {

int any_function = 0;

}  // namespace

TEST_CASE("nvrtc: the table asks for every row once and names a missing one") {
    std::multiset<std::string> asked;
    const auto complete = NvrtcTable::load([&](std::string_view name) -> void* {
        asked.insert(std::string(name));
        return &any_function;
    });
    REQUIRE(complete);
    std::multiset<std::string> rows;
#define X(name, requirement) rows.insert(#name);
#include "jit/nvrtc/symbols.def"
#undef X
    CHECK(asked == rows);
    CHECK(asked.count("nvrtcCompileProgram") == 1);
    CHECK(asked.count("nvrtcGetErrorString") == 1);

    const auto lacking = NvrtcTable::load([](std::string_view name) -> void* {
        return name == "nvrtcGetCUBIN" ? nullptr : &any_function;
    });
    REQUIRE_FALSE(lacking);
    CHECK(lacking.error().code == Errc::compiler_too_old);
    CHECK(contains(lacking.error().message, "nvrtcGetCUBIN"));
}

TEST_CASE("nvrtc: the PTX banner gives the build") {
    CHECK(lode::build_in_ptx("//\n// Compiler Build ID: CL-1\n"
                             "// Cuda compilation tools, release 12.4, V12.4.127\n//\n") ==
          "12.4.127");
    CHECK(lode::build_in_ptx("// Cuda compilation tools, release 12.4\n") == "");
    CHECK(lode::build_in_ptx(".version 8.0\n.target sm_80\n") == "");
    CHECK(lode::build_in_ptx("") == "");
}

TEST_CASE("nvrtc: info says which exact build was opened, and how it was found") {
    const auto info = Compiler().info();
    REQUIRE_MESSAGE(info, info.error().describe());
    CHECK(info->version_major >= 12);
    CHECK(info->build.starts_with(std::to_string(info->version_major) + "." +
                                  std::to_string(info->version_minor) + "."));
    CHECK(std::filesystem::exists(info->path));
    CHECK(std::ranges::is_sorted(info->supported));
    CHECK(std::ranges::find(info->supported, lode::ComputeCapability{9, 0}) !=
          info->supported.end());
    REQUIRE_FALSE(info->search_attempts.empty());
    CHECK(info->search_attempts.back().ends_with(": opened"));
    REQUIRE_FALSE(info->include_folders.empty());
    CHECK(std::filesystem::exists(info->include_folders[0] / "cuda_fp16.h"));
}

TEST_CASE("nvrtc: a compilation reports the same build as info") {
    const Compiler compiler;
    const auto image = compiler.compile(Source::text(""), sm(90).as_virtual());
    REQUIRE_MESSAGE(image, image.error().describe());
    CHECK(image->compiler == "NVRTC " + compiler.info()->build);
}

TEST_CASE("nvrtc: a library given by file or folder, or by LODE_NVRTC, is the one opened") {
    const auto found = Compiler().info();
    REQUIRE(found);
    CHECK(Compiler({.nvrtc = found->path}).info()->path == found->path);
    CHECK(Compiler({.nvrtc = found->path.parent_path()}).info()->path.parent_path() ==
          found->path.parent_path());

    const Variable variable("LODE_NVRTC", found->path.c_str());
    const auto by_variable = Compiler().info();
    REQUIRE(by_variable);
    REQUIRE(by_variable->search_attempts.size() == 1);
    CHECK(contains(by_variable->search_attempts[0], "(LODE_NVRTC): opened"));
}

TEST_CASE("nvrtc: the companion library is taken from beside NVRTC") {
    const auto found = Compiler().info();
    REQUIRE(found);
    const auto companion =
        fmt::format("libnvrtc-builtins.so.{}.{}", found->version_major, found->version_minor);
    const auto scratch = lode::test::make_scratch();
    for (const auto& name : {found->path.filename(), std::filesystem::path(companion)}) {
        std::filesystem::copy_file(found->path.parent_path() / name, scratch.path() / name);
    }
    const Compiler moved({.nvrtc = scratch.path() / found->path.filename()});
    REQUIRE(moved.info());
    CHECK(moved.info()->path.parent_path() == scratch.path());
    const auto maps = lode::read_text("/proc/self/maps").value();
    CHECK(contains(maps, (scratch.path() / companion).string()));
}

TEST_CASE("nvrtc: without a library the error lists what was tried") {
    const Compiler compiler({.nvrtc = "/nonexistent/libnvrtc.so.13"});
    const auto info = compiler.info();
    REQUIRE_FALSE(info);
    CHECK(info.error().code == Errc::compiler_missing);
    CHECK(contains(info.error().message,
                   "/nonexistent/libnvrtc.so.13 (the path given): no such file"));

    const auto image = compiler.compile(Source::text("__global__ void k() {}"), sm(90));
    REQUIRE_FALSE(image);
    CHECK(image.error().code == Errc::compiler_missing);
}

TEST_CASE("nvrtc: a file that isn't NVRTC is skipped, with the reason") {
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    REQUIRE(lode::write_atomic(scratch->path() / "libnvrtc.so.13", std::string_view("not ELF")));
    const auto info = Compiler({.nvrtc = scratch->path()}).info();
    REQUIRE_FALSE(info);
    CHECK(info.error().code == Errc::compiler_missing);
    CHECK(contains(info.error().message, "libnvrtc.so.13 (the path given): not loadable"));
    CHECK(contains(info.error().message, "libnvrtc.so.12 (the path given): no such file"));
    CHECK(contains(info.error().message, "Only the path given is searched"));
}

TEST_CASE("nvrtc: a library whose reads can't be watched says what it lacks") {
    const auto library = lode::SharedLibrary::open("libm.so.6");
    REQUIRE(library);
    const auto watched =
        lode::watch_file_functions(library->symbol("cos"), lode::TimeQuestions::none);
    REQUIRE_FALSE(watched);
    CHECK(watched.error().code == Errc::not_supported);
    CHECK(watched.error().message ==
          "Its reads can't be watched: it doesn't import fopen or fopen64 or open.");
    const auto nowhere = lode::watch_file_functions(nullptr, lode::TimeQuestions::none);
    CHECK(nowhere.error().message == "Its reads can't be watched: no shared library has it.");
}

TEST_CASE("nvrtc: a library without NVRTC's entry points is named as not usable") {
    const auto scratch = lode::ScratchFolder::create();
    REQUIRE(scratch);
    const auto nvrtc = Compiler().info();
    REQUIRE(nvrtc);
    const auto builtins = [&]() -> std::filesystem::path {
        for (const auto& entry : std::filesystem::directory_iterator(nvrtc->path.parent_path())) {
            if (contains(entry.path().filename().string(), "libnvrtc-builtins.so.")) {
                return entry.path();
            }
        }
        return {};
    }();
    REQUIRE_FALSE(builtins.empty());
    const auto info = Compiler({.nvrtc = builtins}).info();
    REQUIRE_FALSE(info);
    CHECK(info.error().code == Errc::compiler_missing);
    CHECK(contains(info.error().message, "not usable: The library has no nvrtcGetErrorString"));
}

TEST_CASE("nvrtc: opening is logged once") {
    std::vector<std::string> lines;
    const Compiler compiler({.nvrtc = {}, .log = lode::Log([&](lode::LogLevel, auto line) {
                                              lines.emplace_back(line);
                                          })});
    CHECK(lines.empty());
    REQUIRE(compiler.info());
    REQUIRE(compiler.info());
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], compiler.info()->path.string()));
}
