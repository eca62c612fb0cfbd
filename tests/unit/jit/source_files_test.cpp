// Code in memory that is also written to files: line information names them, messages don't.
#include "jit/request/source_files.hpp"

#include "base/file.hpp"
#include "jit/request/bytes.hpp"
#include "jit/store/disk_tier.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/second_process.hpp"
#include "tests/unit/jit/pch/place.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::test;

namespace {

// The loop keeps a line of the header in the code.
const std::string code =
    "#include \"a/b.h\"\n"
    "__global__ void k(float* x) {\n"
    "    x[threadIdx.x] = twice(x[threadIdx.x]);\n"
    "}\n";
const std::string upper = "#include \"../c.h\"\n";
const std::string lower =
    "#pragma once\n"
    "__device__ __noinline__ float twice(float x) {\n"
    "    return x + x;\n"
    "}\n";

CompileOptions with_lines() {
    CompileOptions options;
    options.headers = {{"a/b.h", upper}, {"c.h", lower}};
    options.line_info = true;
    return options;
}

CachedCompiler compiler_for_lines(const fs::path& folder, CacheMode mode = CacheMode::on,
                                  WorkerPolicy workers = WorkerPolicy::never) {
    CacheOptions cache;
    cache.mode = mode;
    cache.folder = folder;
    cache.workers = {.policy = workers, .max_processes = 1, .program = LODE_WORKER_PROGRAM};
    return CachedCompiler({}, cache);
}

CachedImage compile_lines(const CachedCompiler& compiler,
                          const CompileOptions& options = with_lines(),
                          const std::string& text = code, const std::string& name = "dir/k.cu") {
    return require(compiler.compile(Source::text(text, name), sm(80), options));
}

/// The files that the PTX names.
std::set<std::string> files_in(const std::string& ptx) {
    std::set<std::string> files;
    for (std::size_t at = 0; (at = ptx.find("\n\t.file\t", at)) != std::string::npos; ++at) {
        const auto start = ptx.find('"', at) + 1;
        files.insert(ptx.substr(start, ptx.find('"', start) - start));
    }
    return files;
}

/// Whether the machine code's own table, which debuggers read, names the file: its folder and its
/// last part may be apart.
bool is_in_table(const Image& image, const fs::path& file) {
    const auto bytes = as_text(image.cubin);
    return contains(bytes, file.parent_path().native()) &&
           contains(bytes, file.filename().native());
}

/// All regular files below the folder of sources.
std::set<std::string> written_in(const fs::path& cache) {
    std::set<std::string> files;
    std::error_code absent;
    for (const auto& item : fs::recursive_directory_iterator(cache / "v6/sources", absent))
        if (item.is_regular_file()) files.insert(item.path().native());
    return files;
}

/// Makes the cache compile everything again.
void remove_results(const fs::path& cache) {
    fs::remove_all(cache / "v6/entries");
    fs::remove_all(cache / "v6/manifests");
}

/// The one whose name ends so.
std::string only(const std::set<std::string>& files, std::string_view end) {
    std::string found;
    for (const auto& file : files) {
        if (!file.ends_with(end)) continue;
        CHECK(found.empty());
        found = file;
    }
    return found;
}

}  // namespace

TEST_CASE("source files: line information names files with exactly the texts") {
    const auto scratch = make_scratch();
    const fs::path cache = scratch.path() / "cache";
    const auto made = compile_lines(compiler_for_lines(cache));
    CHECK(made.report.not_kept.empty());
    const auto files = files_in(made.image->ptx);
    const auto source = only(files, "/k.cu");
    const auto header = only(files, "/c.h");
    INFO(made.image->ptx);
    REQUIRE_FALSE(source.empty());
    REQUIRE_FALSE(header.empty());
    CHECK(require(read_text(source)) == code);
    CHECK(require(read_text(header)) == lower);
    CHECK(source.starts_with((cache / "v6/sources/").native()));
    CHECK(written_in(cache).size() == 3);
    CHECK(require(read_text(fs::path(header).parent_path() / "a/b.h")) == upper);
    CHECK(is_in_table(*made.image, source));
    CHECK(is_in_table(*made.image, header));
    CHECK(made.image->name == "dir/k.cu");
}

TEST_CASE("source files: debug information names them too") {
    const auto scratch = make_scratch();
    CompileOptions options = with_lines();
    options.line_info = false;
    options.debug = true;
    const auto made = compile_lines(compiler_for_lines(scratch.path()), options);
    const auto files = files_in(made.image->ptx);
    INFO(made.image->ptx);
    for (const auto& [name, text] : {std::pair("/k.cu", &code), std::pair("/c.h", &lower)}) {
        const auto file = only(files, name);
        CHECK(require(read_text(file)) == *text);
        CHECK(is_in_table(*made.image, file));
    }
}

TEST_CASE("source files: messages name the source and the headers as the user does") {
    const auto scratch = make_scratch();
    CompileOptions options = with_lines();
    options.headers[1].text = "__device__ float twice(float x) { int inner; return x + x; }\n";
    const std::string text = code + "__global__ void j() { int outer; }\n";
    CompileOptions plain = options;
    plain.source_files = false;
    for (const auto workers : {WorkerPolicy::never, WorkerPolicy::always}) {
        const auto compiler = compiler_for_lines(scratch.path(), CacheMode::on, workers);
        const auto expected = compile_lines(compiler, plain, text);
        const auto made = compile_lines(compiler, options, text);
        CHECK(contains(made.image->log, "dir/k.cu(5)"));
        CHECK(contains(made.image->log, "c.h(1)"));
        CHECK_FALSE(contains(made.image->log, scratch.path().native()));
        CHECK(made.image->log == expected.image->log);
        CHECK(made.image->diagnostics == expected.image->diagnostics);
        CHECK(made.image->ptx != expected.image->ptx);

        for (const bool in_header : {false, true}) {
            CompileOptions wrong = options;
            if (in_header) wrong.headers[1].text += "wrong\n";
            CompileOptions wrong_plain = wrong;
            wrong_plain.source_files = false;
            const auto source = Source::text(in_header ? text : text + "wrong", "dir/k.cu");
            const auto failed = compiler.compile(source, sm(80), wrong);
            const auto same = compiler.compile(source, sm(80), wrong_plain);
            REQUIRE_FALSE(failed);
            REQUIRE_FALSE(same);
            CHECK(failed.error().message == same.error().message);
            CHECK(failed.error().log == same.error().log);
        }
    }
}

TEST_CASE("source files: a worker's result is that of this process") {
    const auto scratch = make_scratch();
    const auto here = compile_lines(compiler_for_lines(scratch.path()));
    remove_results(scratch.path());
    // The times of the files aren't in the code.
    for (const auto& file : written_in(scratch.path()))
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::minutes(5));
    const auto there =
        compile_lines(compiler_for_lines(scratch.path(), CacheMode::on, WorkerPolicy::always));
    CHECK(there.report.tier.empty());
    CHECK(there.image->ptx == here.image->ptx);
    CHECK(there.image->cubin == here.image->cubin);
    CHECK(there.image->log == here.image->log);
    CHECK(there.report.key == here.report.key);
}

TEST_CASE("source files: sources share a precompiled header with headers in memory") {
    NEEDS_PCH();
    const Place place;
    CompileOptions options = place.options();
    options.line_info = true;
    options.headers = {{"a/b.h", "#include <value.h>\n" + upper}, {"c.h", lower}};
    const auto text = [](int number) {
        return code + fmt::format("__global__ void n(int* x) {{ *x = VALUE + {}; }}\n", number);
    };
    const auto compiler = place.compiler(1);
    (void)compile_lines(compiler, options, text(1), "first.cu");
    place.age();
    const auto second = compile_lines(compiler, options, text(2), "second.cu");
    CHECK(place.is_used());
    const auto files = files_in(second.image->ptx);
    CHECK(require(read_text(only(files, "/second.cu"))) == text(2));
    CHECK(require(read_text(only(files, "/c.h"))) == lower);
    CHECK(only(files, "/first.cu").empty());
    remove_results(place.cache());
    const auto without = compile_lines(place.compiler(0), options, text(2), "second.cu");
    CHECK(without.report.tier.empty());
    CHECK(without.image->ptx == second.image->ptx);
    CHECK(without.image->cubin == second.image->cubin);
}

TEST_CASE("source files: nothing is written where nobody asks or where nothing may be") {
    const auto scratch = make_scratch();
    CompileOptions off = with_lines();
    off.source_files = false;
    CompileOptions without = with_lines();
    without.line_info = false;
    const auto on = compiler_for_lines(scratch.path() / "on");
    for (const auto& options : {off, without}) {
        const auto made = compile_lines(on, options);
        CHECK_FALSE(contains(made.image->ptx, scratch.path().native()));
    }
    CHECK(written_in(scratch.path() / "on").empty());
    fs::create_directory(scratch.path() / "read");
    for (const auto mode : {CacheMode::off, CacheMode::read_only}) {
        const auto made = compile_lines(compiler_for_lines(scratch.path() / "read", mode));
        INFO(made.image->ptx);
        CHECK(only(files_in(made.image->ptx), "/k.cu") == fs::absolute("dir/k.cu").native());
        CHECK(fs::is_empty(scratch.path() / "read"));
    }
    // A read-only cache has what was written before.
    const auto first = compile_lines(on);
    const auto again =
        compile_lines(compiler_for_lines(scratch.path() / "on", CacheMode::read_only));
    CHECK(again.report.tier == "disk");
    CHECK(again.report.key == first.report.key);
}

TEST_CASE("source files: a hit writes them again") {
    const auto scratch = make_scratch();
    const auto compiler = compiler_for_lines(scratch.path());
    const auto first = compile_lines(compiler);
    const auto files = written_in(scratch.path());
    REQUIRE(files.size() == 3);
    // They keep their inodes, so that the new files get others.
    fs::rename(scratch.path() / "v6/sources", scratch.path() / "removed");
    CHECK(compile_lines(compiler).report.tier == "memory");
    CHECK(compile_lines(compiler_for_lines(scratch.path())).report.tier == "disk");
    CHECK(written_in(scratch.path()) == files);

    // One that somebody has edited, and one of the same size.
    const auto source = only(files, "/k.cu");
    for (const auto& other : {std::string("edited"), std::string(code.size(), 'x')}) {
        std::ofstream(source) << other;
        const auto hit = compile_lines(compiler_for_lines(scratch.path()));
        CHECK(hit.report.tier == "disk");
        CHECK(hit.report.key == first.report.key);
        CHECK(require(read_text(source)) == code);
    }
    // In the same process as well.
    (void)compile_lines(compiler);
    std::ofstream(source) << "edited";
    CHECK(compile_lines(compiler).report.tier == "memory");
    CHECK(require(read_text(source)) == code);
}

TEST_CASE("source files: another folder's cache has other files") {
    const auto scratch = make_scratch();
    (void)compile_lines(compiler_for_lines(scratch.path() / "a"));
    fs::rename(scratch.path() / "a", scratch.path() / "b");
    const auto moved = compile_lines(compiler_for_lines(scratch.path() / "b"));
    CHECK(moved.report.tier.empty());
    CHECK(fs::exists(only(files_in(moved.image->ptx), "/k.cu")));
    CHECK(compile_lines(compiler_for_lines(scratch.path() / "b")).report.tier == "disk");
}

TEST_CASE("source files: names that no file can have") {
    const auto scratch = make_scratch();
    const auto compiler = compiler_for_lines(scratch.path());
    for (const std::string name : {"", "a/", "..", "a\"b\\.cu", "new\nline.cu"}) {
        INFO(name);
        const auto made = compile_lines(compiler, with_lines(), code, name);
        const auto file = only(files_in(made.image->ptx), "/source.cu");
        CHECK(require(read_text(file)) == code);
    }
    CompileOptions options = with_lines();
    options.headers.push_back({"x", "int a;\n"});
    options.headers.push_back({"x/y.h", "int b;\n"});
    const auto made = compile_lines(compiler, options);
    INFO(made.image->ptx);
    CHECK(only(files_in(made.image->ptx), "/c.h") == fs::absolute("c.h").native());
    CHECK(fs::exists(only(files_in(made.image->ptx), "/k.cu")));
}

TEST_CASE("source files: a path that begins with another one keeps its name") {
    const SourceFiles files{"/s/1/k.cu", "/s/2"};
    const std::vector<Header> headers = {{"./a.h", ""}, {"a.hpp", ""}, {"../up.h", ""}};
    CHECK(with_given_names("/s/1/k.cu(1) /s/2/a.hpp(2) /s/2/a.h(3) /s/2/b.h", files, "K",
                           headers) == "K(1) a.hpp(2) ./a.h(3) /s/2/b.h");
    CHECK(with_given_names("k.cu(1)", files, "K", headers) == "k.cu(1)");
}

TEST_CASE("source files: cleaning and the size limit remove them") {
    const auto scratch = make_scratch();
    (void)compile_lines(compiler_for_lines(scratch.path()));
    const auto tier = require(cache::DiskTier::open(scratch.path(), true, 1 << 30));
    const auto all = require(tier->sweep(std::numeric_limits<std::uint64_t>::max()));
    REQUIRE(all);
    CHECK(all->removed_bytes == 0);
    CHECK(written_in(scratch.path()).size() == 3);
    // The headers' folder is the oldest.
    for (const auto& file : written_in(scratch.path()))
        if (file.ends_with(".h"))
            fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(48));
    REQUIRE(require(tier->sweep(all->bytes - 1)));
    CHECK(written_in(scratch.path()).size() == 1);
    CHECK(count_entries(scratch.path() / "v6/sources") == 1);
    // A hit makes them new again.
    CHECK(compile_lines(compiler_for_lines(scratch.path())).report.tier == "disk");
    CHECK(written_in(scratch.path()).size() == 3);
    require(tier->clear());
    CHECK_FALSE(fs::exists(scratch.path() / "v6/sources"));
}

TEST_CASE("source files: a use makes old ones new") {
    const auto scratch = make_scratch();
    (void)compile_lines(compiler_for_lines(scratch.path()));
    const auto files = written_in(scratch.path());
    const auto now = fs::file_time_type::clock::now();
    for (const auto& file : files)
        fs::last_write_time(file, now - std::chrono::hours(48));
    (void)compile_lines(compiler_for_lines(scratch.path()));
    for (const auto& file : files)
        CHECK(now - fs::last_write_time(file) < std::chrono::hours(1));
}

TEST_CASE("source files: no link is followed") {
    const auto scratch = make_scratch();
    const auto compiler = compiler_for_lines(scratch.path() / "cache");
    (void)compile_lines(compiler);
    const auto source = only(written_in(scratch.path() / "cache"), "/k.cu");
    const auto target = put(scratch.path() / "target", "untouched");
    fs::remove(source);
    fs::create_symlink(target, source);
    (void)compile_lines(compiler);
    CHECK_FALSE(fs::is_symlink(source));
    CHECK(require(read_text(source)) == code);
    CHECK(require(read_text(target)) == "untouched");
}

TEST_CASE("source files: one of two processes" * doctest::skip()) {
    const char* const folder = std::getenv("LODE_TEST_FOLDER");
    REQUIRE(folder != nullptr);
    const auto made = compile_lines(compiler_for_lines(folder));
    CHECK(require(read_text(only(files_in(made.image->ptx), "/k.cu"))) == code);
}

TEST_CASE("source files: two processes write the same files") {
    const auto scratch = make_scratch();
    ::setenv("LODE_TEST_FOLDER", scratch.path().c_str(), 1);
    {
        SecondProcess one("source files: one of two processes");
        SecondProcess two("source files: one of two processes");
        CHECK(one.wait() == 0);
        CHECK(two.wait() == 0);
    }
    ::unsetenv("LODE_TEST_FOLDER");
    CHECK(written_in(scratch.path()).size() == 3);
    CHECK(compile_lines(compiler_for_lines(scratch.path())).report.tier == "disk");
}

TEST_CASE("source files: a source whose path has a quote is named by a copy, which PTX can write") {
    const auto scratch = make_scratch();
    const fs::path folder = scratch.path() / "say \"hi\"";
    fs::create_directory(folder);
    put(folder / "n.h", "#define N 3\n");
    const std::string text = "#include \"n.h\"\n__global__ void k(int* x) { *x = N; }\n";
    const auto file = put(folder / "k.cu", text);
    const auto compiler = compiler_for_lines(scratch.path() / "cache");
    for (const bool is_debug : {false, true}) {
        CompileOptions options;
        (is_debug ? options.debug : options.line_info) = true;
        const auto made = require(compiler.compile(Source::file(file), sm(80), options));
        const auto copy = only(files_in(made.image->ptx), "/k.cu");
        REQUIRE_FALSE(copy.empty());
        CHECK(copy.starts_with((scratch.path() / "cache/v6/sources/").native()));
        CHECK(require(read_text(copy)) == text);
        CHECK(is_in_table(*made.image, copy));
        CHECK(made.image->name == file.string());
        CHECK(require(compiler.compile(Source::file(file), sm(80), options)).report.hit());
    }
    // Messages have the user's name.
    put(file, text + "__device__ int y = undefined_name;\n");
    CompileOptions options;
    options.line_info = true;
    const auto error = require_error(compiler.compile(Source::file(file), sm(80), options));
    CHECK_CONTAINS(error.message, file.string() + ":3:20: error: identifier");
}

TEST_CASE("source files: where a path with a quote must be named, the error says so") {
    const auto scratch = make_scratch();
    const fs::path folder = scratch.path() / "say \"hi\"";
    fs::create_directory(folder);
    put(folder / "n.h", lower);
    const auto file = put(folder / "k.cu", "#include \"n.h\"\n" + code.substr(code.find('\n') + 1));
    CompileOptions options;
    require(Compiler().compile(Source::file(file), sm(80), options));
    options.line_info = true;
    const auto cached = compiler_for_lines(scratch.path() / "cache");
    for (const auto& arch : {sm(80), sm(80).as_virtual()}) {
        // A copy of the source alone doesn't help if code comes from a header.
        const auto header = require_error(cached.compile(Source::file(file), arch, options));
        CHECK(header.code == Errc::compile_failed);
        CHECK_CONTAINS(header.message,
                       "can't have line information: PTX has no way to write the "
                       "double quote in the path ");
        CHECK_CONTAINS(header.message, (folder / "n.h").string() + ". Rename it");
        require_error(Compiler().compile(Source::file(file), arch, options));
    }
}

TEST_CASE("source files: paths with a line break or a backslash compile with line information") {
    const auto scratch = make_scratch();
    for (const std::string name : {"a\nb", "back\\slash", "end\\", "it's", "\u00e9"}) {
        CAPTURE(name);
        const fs::path folder = scratch.path() / name;
        fs::create_directory(folder);
        put(folder / "n.h", lower);
        const auto file =
            put(folder / "k.cu", "#include \"n.h\"\n" + code.substr(code.find('\n') + 1));
        CompileOptions options;
        options.line_info = true;
        const auto image = require(Compiler().compile(Source::file(file), sm(80), options));
        CHECK(files_in(image.ptx).size() == 2);
    }
}
