// The software device is given the code that a GPU would get, under the same key. Its reports name
// source lines all the same: the request is compiled again with line information once a place has
// to be named, and nobody notices that.
#include "base/file.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/support/variable.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/batch.hpp>
#include <lode/runtime/driver_linker.hpp>
#include <lode/runtime/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::emulator_test;
using lode::test::contains;
using lode::test::FakeDriver;
using lode::test::make_scratch;
using lode::test::put;
using lode::test::Variable;
namespace fs = std::filesystem;

namespace {

/// What a runtime logs.
struct Lines {
    std::mutex mutex;
    std::string text;
    [[nodiscard]] Log log() {
        return Log([this](LogLevel level, std::string_view line) {
            const std::lock_guard lock(mutex);
            text += fmt::format("{}: {}\n", to_string(level), line);
        });
    }
    [[nodiscard]] bool has(std::string_view part) {
        const std::lock_guard lock(mutex);
        return text.find(part) != std::string::npos;
    }
};

Runtime open(CacheOptions cache, const char* devices = "sm_90", Log log = {}) {
    setenv("LODE_EMULATOR_DEVICES", devices, 1);
    reset();
    return require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY, .log = log},
                                  .cache = std::move(cache),
                                  .log = log}));
}

CacheOptions in_folder(const fs::path& folder) {
    CacheOptions cache;
    cache.folder = folder;
    return cache;
}

/// The message of a kernel that fails at once, launched with one warp.
std::string message_of(const Device& device, const UntypedKernel& kernel) {
    const auto typed = require(Kernel<void(int*)>::from_untyped(kernel));
    const auto stream = require(device.create_stream());
    const auto memory = require(device.alloc<int>(32));
    const LaunchShape shape{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    auto ended = typed.launch(stream, shape, memory);
    if (ended) ended = stream.sync();
    REQUIRE_FALSE(ended);
    return ended.error().message;
}

std::string message_of(const Device& device, const Source& source,
                       const KernelOptions& options = {}) {
    return message_of(device, require(device.load(source, "k", options)));
}

/// The third line writes past the end.
const std::string wrong =
    "extern \"C\" __global__ void k(int* x) {\n"
    "    int* const y = x + 1000;\n"
    "    y[threadIdx.x] = 1;\n"
    "}\n";

const Source in_memory = Source::text(wrong, "wrong.cu");
constexpr std::string_view its_line = "wrong.cu:3: k writes 4 bytes past the end of ";

std::size_t records_below(const fs::path& folder) {
    std::size_t count = 0;
    if (!fs::exists(folder)) return 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) ++count;
    return count;
}

}  // namespace

TEST_CASE("device lines: a request has the key, the code and the record that it has for a GPU") {
    std::vector<KernelOptions> variants(5);
    variants[1].compile.relocatable = true;
    variants[2].compile.lto = true;
    variants[3].compile.definitions = {{"N", "4"}};
    variants[4].compile.line_info = true;
    for (const KernelOptions& options : variants) {
        const auto scratch = make_scratch();
        const auto answer_of = [&](const Runtime& runtime) {
            return require(require(runtime.device()).compile_cached(in_memory, options));
        };
        const auto cache_with = [&](const char* record) {
            CacheOptions cache = in_folder(scratch.path() / "cache");
            cache.record = scratch.path() / record;
            return cache;
        };
        const auto here = answer_of(open(cache_with("here")));
        CHECK_FALSE(here.report.hit());
        FakeDriver fake;
        const auto gpu = answer_of(
            require(Runtime::with_driver(require(fake.open()), {.cache = cache_with("gpu")})));
        CHECK(gpu.report.hit());
        CHECK(gpu.report.key == here.report.key);
        CHECK(*gpu.image == *here.image);
        const bool has_lines = gpu.image->ptx.find(".loc") != std::string::npos;
        CHECK(has_lines == options.compile.line_info);
        const auto requests_in = [&](const char* record) {
            const std::string line = require(read_text(scratch.path() / record));
            return line.substr(0, line.find("\"compile_ms\""));
        };
        CHECK(requests_in("here") == requests_in("gpu"));
    }
}

TEST_CASE("device lines: code that runs without findings is compiled once, like a GPU's") {
    const auto scratch = make_scratch();
    const Runtime runtime = open(in_folder(scratch.path()));
    const Device device = require(runtime.device());
    const auto kernel = require(device.load<void(int*)>(
        Source::text("__global__ void k(int* x) { x[threadIdx.x] = 1; }", "right.cu"), "k"));
    const auto records = records_below(scratch.path());
    const auto stream = require(device.create_stream());
    const auto memory = require(device.alloc<int>(32));
    require(kernel.launch(stream, {.grid = {1, 1, 1}, .block = {32, 1, 1}}, memory));
    require(stream.sync());
    CHECK(records_below(scratch.path()) == records);
    CHECK(runtime.compiler().counters().compilations == 1);
}

TEST_CASE("device lines: a finding costs one compilation, which the user's compiler doesn't tell") {
    const auto scratch = make_scratch();
    CacheOptions cache = in_folder(scratch.path() / "cache");
    cache.record = scratch.path() / "record";
    cache.policy = JitPolicy::warn;
    std::atomic<int> events{0};
    cache.events = [&](const CompileEvent&) { ++events; };
    std::size_t records = 0;
    for (const bool is_warm : {false, true}) {
        CAPTURE(is_warm);
        Lines lines;
        const Runtime runtime = open(cache, "sm_90", lines.log());
        const Device device = require(runtime.device());
        const auto kernel = require(device.load(in_memory, "k"));
        const int before = events;
        CHECK(contains(message_of(device, kernel), its_line));
        CHECK(events == before);
        const CacheCounters counters = runtime.compiler().counters();
        CHECK(counters.compilations == (is_warm ? 0 : 1));
        CHECK(counters.hits() == (is_warm ? 1 : 0));
        CHECK(lines.has("isn't in the cache") != is_warm);
        CHECK(lines.text.find("isn't in the cache") == lines.text.rfind("isn't in the cache"));
        if (is_warm) CHECK(records_below(scratch.path() / "cache") == records);
        records = records_below(scratch.path() / "cache");
        const std::string recorded = require(read_text(cache.record));
        CHECK(std::ranges::count(recorded, '\n') == 1);
        CHECK_FALSE(contains(recorded, "line_info"));
    }
}

TEST_CASE("device lines: with JitPolicy::forbid there are those that the cache has") {
    const auto scratch = make_scratch();
    CacheOptions cache = in_folder(scratch.path());
    const auto message = [&](JitPolicy policy) {
        cache.policy = policy;
        Lines lines;
        const Runtime runtime = open(cache, "sm_90", lines.log());
        std::string text = message_of(require(runtime.device()), in_memory);
        CHECK(runtime.compiler().counters().refused == 0);
        CHECK(lines.has("info: 'wrong.cu' has no source lines: ") == !contains(text, its_line));
        return text;
    };
    {
        const Runtime runtime = open(cache);
        (void)require(require(runtime.device()).compile(in_memory));
    }
    const std::string without = message(JitPolicy::forbid);
    CHECK(without.starts_with("PTX line "));
    CHECK(contains(without, ": k writes 4 bytes past the end of "));
    CHECK(contains(without, "\n  lines: compile with --line-info (lode) or -lineinfo"));
    CHECK_FALSE(contains(without, "wrong.cu:"));
    CHECK(contains(message(JitPolicy::allow), its_line));
    CHECK(contains(message(JitPolicy::forbid), its_line));
}

TEST_CASE("device lines: they come with every way to load code") {
    const Runtime runtime = open(CacheOptions{.mode = CacheMode::off}, "sm_90,sm_80");
    const Device device = require(runtime.device());
    std::string message;
    std::string_view place = its_line;
    SUBCASE("compiled by another device and loaded apart") {
        const Image image = require(require(runtime.device(1)).compile(in_memory));
        message = message_of(device, require(require(device.load(image)).kernel("k")));
    }
    SUBCASE("asynchronously") {
        message = message_of(device, require(device.load_async(in_memory, "k").get()));
    }
    SUBCASE("in a batch") {
        Batch batch;
        const auto kernel = batch.add(device, in_memory, "k");
        require(batch.wait());
        message = message_of(device, require(kernel.get()));
    }
    SUBCASE("with a name expression") {
        const Source source = Source::text(
            "template <class T> __global__ void f(T* x) {\n    x[1000] = 1;\n}\n", "template.cu");
        message = message_of(device, require(device.load(source, "f<int>")));
        place = "template.cu:2: f<int> writes ";
    }
    SUBCASE("linked by the driver") {
        KernelOptions options;
        options.compile.relocatable = true;
        std::vector<LinkInput> inputs;
        for (const char* name : {"k1", "k22"}) {
            const Source source =
                Source::text(fmt::format("static __device__ __noinline__ void put(int* x) {{\n"
                                         "    x[1000 * sizeof(\"{0}\")] = 1;\n}}\n"
                                         "extern \"C\" __global__ void {0}(int* x) {{ put(x); }}\n",
                                         name),
                             fmt::format("{}.cu", name));
            inputs.push_back(
                require(LinkInput::from_image(require(device.compile(source, options)))));
        }
        const Library library = require(device.load(require(link_with_driver(device, inputs))));
        message = message_of(device, require(library.kernel("k22")));
        place = "k22.cu:2: k22 writes ";
    }
    CHECK_MESSAGE(contains(message, place), message);
}

TEST_CASE("device lines: they have the names that the user gave, through headers and inlining") {
    const auto scratch = make_scratch();
    const Runtime runtime = open(in_folder(scratch.path()));
    KernelOptions options;
    options.compile.headers = {{"store.cuh",
                                "#pragma once\n"
                                "template <class T> __device__ void store(T* x) {\n"
                                "    x[1000] = 1;\n"
                                "}\n"}};
    const Source source = Source::text(
        "#include \"store.cuh\"\n"
        "extern \"C\" __global__ void k(int* x) {\n"
        "    store(x);\n"
        "}\n",
        "includes.cu");
    const std::string message = message_of(require(runtime.device()), source, options);
    CAPTURE(message);
    CHECK(contains(message, "store.cuh:3: k writes "));
    CHECK(contains(message, "\n  inlined at: includes.cu:3"));
    CHECK_FALSE(fs::exists(scratch.path() / "v5/sources"));
}

TEST_CASE(
    "device lines: a file may change after the load, and with another header there are no lines") {
    const auto scratch = make_scratch();
    const auto header = scratch.path() / "h.h";
    const auto file = scratch.path() / "k.cu";
    const std::string code =
        "#include \"h.h\"\nextern \"C\" __global__ void k(int* x) { x[AT] = 1; }";
    struct Row {
        std::function<void()> change;
        bool has_lines;
        bool is_logged;
    };
    const Row rows[] = {{[&] { put(file, "\n\n" + code); }, true, false},
                        {[&] { fs::remove(file); }, true, false},
                        {[&] { put(header, "#define AT 1001\n"); }, false, false},
                        {[&] { put(header, "#error\n"); }, false, true}};
    for (const auto& [change, has_lines, is_logged] : rows) {
        put(header, "#define AT 1000\n");
        put(file, code);
        Lines lines;
        const Runtime runtime = open(CacheOptions{.mode = CacheMode::off}, "sm_90", lines.log());
        const Device device = require(runtime.device());
        const auto kernel = require(device.load(Source::file(file), "k"));
        change();
        const std::string message = message_of(device, kernel);
        CHECK(contains(message,
                       has_lines ? file.filename().string() + ":2: k writes " : ": k writes "));
        CHECK(message.starts_with("PTX line ") != has_lines);
        CHECK(lines.has("has no source lines") == is_logged);
    }
}

TEST_CASE("device lines: a folder whose name has a quote breaks only the lines") {
    const auto scratch = make_scratch();
    const auto folder = scratch.path() / "say \"hi\"";
    fs::create_directory(folder);
    const auto file = put(folder / "wrong.cu", wrong);
    const Runtime runtime = open(CacheOptions{.mode = CacheMode::off});
    CHECK(contains(message_of(require(runtime.device()), Source::file(file)), "block (0,0,0); "));
}

TEST_CASE("device lines: threads find errors in several modules at once") {
    const Variable checks("LODE_EMULATOR_CHECK", "init,sync");
    const Variable findings("LODE_EMULATOR_FINDINGS", "log");
    constexpr int count = 4;
    Lines lines;
    {
        const Runtime runtime = open(CacheOptions{.mode = CacheMode::off}, "sm_90", lines.log());
        const Device device = require(runtime.device());
        std::vector<std::thread> threads;
        std::atomic<int> failures{0};
        for (int i = 0; i < 2 * count; ++i) {
            threads.emplace_back([&, i] {
                const Source source =
                    Source::text(fmt::format("extern \"C\" __global__ void k(int* x) {{\n"
                                             "    __shared__ int unwritten[{0}];\n"
                                             "    x[threadIdx.x] = unwritten[threadIdx.x];\n"
                                             "}}\n",
                                             32 + i % count),
                                 fmt::format("file{}.cu", i % count));
                const auto kernel = device.load<void(int*)>(source, "k");
                const auto stream = device.create_stream();
                const auto memory = device.alloc<int>(32);
                if (!kernel || !stream || !memory ||
                    !kernel->launch(*stream, {.grid = {1, 1, 1}, .block = {32, 1, 1}}, *memory) ||
                    !stream->sync())
                    ++failures;
            });
        }
        for (auto& thread : threads)
            thread.join();
        CHECK(failures == 0);
    }
    for (int i = 0; i < count; ++i)
        CHECK(lines.has(fmt::format("file{}.cu:3: k reads ", i)));
}

TEST_CASE("device lines: a program that drops everything while a place is named gets the report") {
    const Variable checks("LODE_EMULATOR_CHECK", "init");
    const Variable findings("LODE_EMULATOR_FINDINGS", "log");
    Lines lines;
    {
        const Runtime runtime = open(CacheOptions{.mode = CacheMode::off}, "sm_90", lines.log());
        const Device device = require(runtime.device());
        const auto memory = require(device.alloc<int>(32));
        const auto kernel = require(
            device.load<void(int*)>(Source::text("extern \"C\" __global__ void k(int* x) {\n"
                                                 "    __shared__ int unwritten[32];\n"
                                                 "    x[threadIdx.x] = unwritten[threadIdx.x];\n"
                                                 "}\n",
                                                 "dropped.cu"),
                                    "k"));
        require(kernel.launch(device.default_stream(), {.grid = {1, 1, 1}, .block = {32, 1, 1}},
                              memory));
    }
    CHECK(lines.has("dropped.cu:3: k reads "));
    for (const int kind : {LODE_EMULATOR_LIBRARIES, LODE_EMULATOR_PRIMARY_REFERENCES})
        CHECK(live(kind) == 0);
}
