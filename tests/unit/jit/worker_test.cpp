// Compilations in processes of their own: the same results, and none of the compiler's accidents.
#include "jit/worker/pool.hpp"
#include "jit/worker/process.hpp"
#include "tests/support/child.hpp"
#include "tests/support/endless_code.hpp"
#include "tests/support/processes.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/second_process.hpp"
#include "tests/unit/jit/support.hpp"
#include "tests/unit/jit/worker_request.hpp"

#include <lode/jit/cache.hpp>
#include <lode/jit/compiler.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* saxpy = R"(
#include <cuda_fp16.h>
template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }
__global__ void k(int* x) { int unused; *x = LIMIT; }
)";

WorkerOptions workers(int processes) {
    return {
        .policy = WorkerPolicy::always, .max_processes = processes, .program = LODE_WORKER_PROGRAM};
}

/// A compiler with an empty cache in a folder of its own.
CachedCompiler compiler_in(const fs::path& folder, const WorkerOptions& options) {
    CacheOptions cache;
    cache.folder = folder;
    cache.workers = options;
    return CachedCompiler({}, cache);
}

Source endless() {
    return Source::text(endless_code(), "endless.cu");
}

/// Source that overflows NVRTC's stack.
Source deep() {
    const std::size_t depth = 200'000;
    return Source::text("__global__ void k(int* x) { *x = " + std::string(depth, '(') + "1" +
                            std::string(depth, ')') + "; }",
                        "deep.cu");
}

std::ptrdiff_t open_files() {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

}  // namespace

TEST_CASE("workers: images, errors and what they depend on are those of this process") {
    auto folder = make_scratch();
    std::ofstream(folder.path() / "value.h") << "#define LIMIT 7\n";
    std::ofstream(folder.path() / "k.cu") << "#include \"value.h\"\n" << saxpy;
    CompileOptions options;
    options.line_info = true;
    options.source_files = false;  // The caches' folders differ.
    options.headers = {{"tree/limit.h", "#include \"value.h\"\n"},
                       {"tree/value.h", "#define LIMIT 3\n"}};
    const std::vector<std::string> names{"scale<float>", "k"};
    const auto here = compiler_in(folder.path() / "a", {});
    const auto there = compiler_in(folder.path() / "b", workers(1));
    const auto compile = [&](const CachedCompiler& compiler, const Source& source) {
        return compiler.compile(source, sm(80), options, names);
    };
    for (const auto& source :
         {Source::file(folder.path() / "k.cu"),
          Source::text(std::string("#include <tree/limit.h>\n") + saxpy, "text.cu")}) {
        const auto mine = require(compile(here, source));
        const auto theirs = require(compile(there, source));
        CHECK(*mine.image == *theirs.image);
        CHECK_FALSE(mine.image->cubin.empty());
        CHECK(theirs.report.not_kept.empty());
        CHECK(require(compile(there, source)).report.tier == "memory");
        CHECK(require(compile(compiler_in(folder.path() / "b", {}), source)).report.tier == "disk");
    }
    // The headers that the worker read are checked.
    std::ofstream(folder.path() / "value.h") << "#define LIMIT 8\n";
    const auto changed = require(compile(there, Source::file(folder.path() / "k.cu")));
    CHECK(changed.report.miss.reason == MissReason::dependency_changed);

    const auto wrong = Source::text("__global__ void k() { undefined(); }\n", "wrong.cu");
    const auto mine = require_error(compile(here, wrong));
    const auto theirs = require_error(compile(there, wrong));
    CHECK(mine.describe() == theirs.describe());
    CHECK(theirs.code == Errc::compile_failed);
    const auto missing = Source::file(folder.path() / "missing.cu");
    CHECK(require_error(compile(here, missing)).describe() ==
          require_error(compile(there, missing)).describe());
}

TEST_CASE("workers: whatever option is set, the image is that of this process") {
    auto folder = make_scratch();
    fs::create_directories(folder.path() / "include");
    std::ofstream(folder.path() / "include/value.h") << "#define LIMIT 7\n";
    std::vector<CompileOptions> all(15);
    auto next = all.begin();
    (next++)->definitions = {{"LIMIT", "5"}};
    (next++)->include_folders = {folder.path() / "include"};
    (next++)->headers = {{"value.h", "#define LIMIT 9\n"}};
    next->headers = {{"value.h", "#define LIMIT 11\n"}};
    (next++)->pre_includes = {"value.h"};
    (next++)->standard = Standard::cxx14;
    (next++)->math.preset = Math::Preset::fast;
    (next++)->max_registers = 16;
    next->source_files = false;  // The caches' folders differ.
    (next++)->line_info = true;
    next->source_files = false;
    (next++)->debug = true;
    (next++)->relocatable = true;
    (next++)->lto = true;
    (next++)->minimal = true;
    (next++)->optix_ir = true;
    (next++)->toolkit_headers = false;
    (next++)->extra_flags = {"--restrict"};
    REQUIRE(next == all.end());
    // A further member doesn't compile here: add it above.
    [[maybe_unused]] const auto& [definitions, include_folders, headers, pre_includes, standard,
                                  math, max_registers, line_info, debug, source_files, relocatable,
                                  lto, minimal, tile, optix_ir, toolkit_headers, extra_flags] =
        all.front();
    const auto here = compiler_in(folder.path() / "a", {});
    const auto there = compiler_in(folder.path() / "b", workers(1));
    const auto source = Source::text(
        "#if __has_include(<value.h>)\n#include <value.h>\n#endif\n"
        "#ifndef LIMIT\n#define LIMIT 1\n#endif\n"
        "extern \"C\" __global__ void k(float* x, float* y) { for (int i = 0; i < LIMIT; ++i) "
        "x[i] = y[i] / x[i + 1] + sinf(y[i + 2]) + __cplusplus % 7; }",
        "options.cu");
    for (const auto& options : all) {
        CAPTURE(&options - all.data());
        const auto mine = require(here.compile(source, sm(80), options));
        const auto theirs = require(there.compile(source, sm(80), options));
        CHECK(*mine.image == *theirs.image);
    }
}

TEST_CASE("workers: relative paths and variables are the host's, also when they change") {
    auto folder = make_scratch();
    const auto before = fs::current_path();
    auto request = request_of(Source::text("#include \"v.h\"\n__device__ int v = V;", "v.cu"));
    request.compilation.options.include_folders = {"include"};
    worker::Pool pool(workers(1));
    for (const int value : {1, 2}) {
        const auto here = folder.path() / fmt::format("{}", value);
        fs::create_directories(here / "include");
        std::ofstream(here / "include" / "v.h") << fmt::format("#define V {}\n", value);
        request.working_folder = here;
        const auto answer = require(pool.compile(request, {}));
        CHECK_CONTAINS(require(answer.image).ptx, fmt::format(".u32 v = {};", value));
        CHECK(answer.files.compiler.working() == here.native());
    }
    CHECK(fs::current_path() == before);
    request.working_folder = folder.path() / "gone";
    CHECK_CONTAINS(require_error(require(pool.compile(request, {})).image).message, "gone");
    CHECK(pool.size() == 1);
}

TEST_CASE("workers: a compiler that crashes is an error, and the next compilation works") {
    auto folder = make_scratch();
    const auto compiler = compiler_in(folder.path(), workers(2));
    const auto error = require_error(compiler.compile(deep(), sm(80)));
    CHECK(error.code == Errc::compiler_failed);
#ifdef __SANITIZE_ADDRESS__  // Its handler turns the signal into an exit code.
    CHECK_CONTAINS(error.message, "ended with code 1 while it compiled 'deep.cu'.");
#else
    CHECK_CONTAINS(error.message, "was ended by SIGSEGV while it compiled 'deep.cu'.");
#endif
    CHECK(compiler.compile(Source::text("__global__ void k() {}"), sm(80)).has_value());
}

TEST_CASE("workers: a cancelled request ends its worker, and others go on") {
    auto folder = make_scratch();
    auto options = workers(2);
    options.policy = WorkerPolicy::automatic;
    const auto compiler = compiler_in(folder.path(), options);
    const auto before = children().size();
    const auto endless_one = compiler.compile_async({endless(), sm(80), {}, {}, {}});
    while (children().size() == before)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto other =
        compiler.compile_async({Source::text("__global__ void k() {}"), sm(80), {}, {}, {}});
    CHECK(other.get().has_value());
    CHECK_FALSE(endless_one.ready());
    const auto running = children();
    endless_one.cancel();
    CHECK(require_error(endless_one.get()).code == Errc::cancelled);
    // One of the two has ended; the other is idle.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (children().size() == running.size() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(children().size() + 1 == running.size());
}

TEST_CASE("workers: the policy decides which requests go there") {
    auto folder = make_scratch();
    const auto source = [n = 0]() mutable {
        return Source::text(fmt::format("__global__ void k{}() {{}}", ++n));
    };
    const auto before = children().size();
    auto options = workers(2);
    auto make = source;
    {
        options.policy = WorkerPolicy::automatic;
        const auto compiler = compiler_in(folder.path(), options);
        CHECK(compiler.compile(make(), sm(80)).has_value());
        CHECK(children().size() == before);
        const CompileRequest limited{make(), sm(80), {}, {}, {.time = std::chrono::minutes(1)}};
        CHECK(compiler.compile(limited).has_value());
        CHECK(children().size() == before + 1);
        CHECK(compiler.compile_async({make(), sm(80), {}, {}, {}}).get().has_value());
        CHECK(children().size() >= before + 1);
    }
    CHECK(children().size() == before);
    {
        options.policy = WorkerPolicy::never;
        const auto compiler = compiler_in(folder.path(), options);
        CHECK(compiler.compile_async({make(), sm(80), {}, {}, {}}).get().has_value());
        const auto error =
            require_error(compiler.compile({make(), sm(80), {}, {}, {.memory_bytes = 1}}));
        CHECK(error.code == Errc::not_supported);
        CHECK_CONTAINS(error.message, "LODE_WORKERS=off");
        CHECK(children().size() == before);
    }
    {
        options.policy = WorkerPolicy::automatic;
        options.program = folder.path() / "missing";
        CacheOptions cache;
        cache.folder = folder.path();
        cache.workers = options;
        std::string said;
        cache.log = Log([&](LogLevel, std::string_view line) { said += line; });
        const CachedCompiler compiler({}, cache);
        CHECK(compiler.compile_async({make(), sm(80), {}, {}, {}}).get().has_value());
        CHECK_CONTAINS(said, "Asynchronous requests are compiled in this process");
        CHECK_CONTAINS(said, "missing");
        CHECK(require_error(compiler.compile({make(), sm(80), {}, {}, {.memory_bytes = 1}})).code ==
              Errc::compiler_missing);
    }
}

TEST_CASE("workers: the memory of all of them is bounded") {
    auto folder = make_scratch();
    auto options = workers(8);
    options.total_memory_bytes = 1;  // So only one fits.
    const auto compiler = compiler_in(folder.path(), options);
    std::vector<Pending<CachedImage>> all;
    std::size_t most = 0;
    for (int i = 0; i < 6; ++i) {
        all.push_back(compiler.compile_async(
            {Source::text(fmt::format("__global__ void k{}() {{}}", i)), sm(80), {}, {}, {}}));
    }
    for (const auto& pending : all) {
        CHECK(pending.get().has_value());
        most = std::max(most, children().size());
    }
    CHECK(most == 1);
}

TEST_CASE("workers: time and memory have limits") {
    auto folder = make_scratch();
    auto options = workers(1);
    options.limits.time = std::chrono::milliseconds(700);
    const auto start = std::chrono::steady_clock::now();
    const auto late = require_error(compiler_in(folder.path(), options).compile(endless(), sm(80)));
    CHECK(late.code == Errc::timed_out);
    CHECK_CONTAINS(late.message, "Compiling 'endless.cu' took longer than 700 ms.");
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
    options = workers(1);
    options.limits.memory_bytes = std::uint64_t{192} << 20;
    const auto large =
        require_error(compiler_in(folder.path(), options).compile(endless(), sm(80)));
    CHECK(large.code == Errc::out_of_memory);
    CHECK_CONTAINS(large.message, "201326592 bytes");
    // A request's own limit, whatever the others have.
    const auto compiler = compiler_in(folder.path(), workers(1));
    const CompileRequest limited{
        endless(), sm(80), {}, {}, {.time = std::chrono::milliseconds(300)}};
    CHECK_CONTAINS(require_error(compiler.compile(limited)).message, "took longer than 300 ms.");
    CHECK_CONTAINS(require_error(compiler.compile_async(limited).get()).message, "300 ms.");
}

TEST_CASE("workers: any limit of time can be given") {
    worker::Pool pool(workers(1));
    auto request = request_of(Source::text("__global__ void k() {}"));
    request.compilation.limits.time = std::chrono::milliseconds::max();
    request.compilation.limits.memory_bytes = UINT64_MAX;
    CHECK(require(pool.compile(request, {})).image.has_value());
}

TEST_CASE("workers: one that somebody ends is replaced, and the request repeated once") {
    const auto process = require(worker::Process::start(LODE_WORKER_PROGRAM));
    ::kill(process->pid(), SIGKILL);
    CHECK(require_error(process->run(request_of(Source::text("")), {})).code ==
          Errc::compiler_failed);
    CHECK(process->failure() == worker::Failure::killed);

    worker::Pool pool(workers(1));
    const auto trivial = request_of(Source::text("__global__ void k() {}"));
    CHECK(require(pool.compile(trivial, {})).image.has_value());
    REQUIRE(children().size() == 1);
    ::kill(children().front(), SIGKILL);
    CHECK(require(pool.compile(trivial, {})).image.has_value());
    CHECK(pool.size() == 1);
}

TEST_CASE("workers: a forked child of the host leaves them alone") {
    auto pool = std::make_unique<worker::Pool>(workers(1));
    const auto trivial = request_of(Source::text("__global__ void k() {}"));
    CHECK(require(pool->compile(trivial, {})).image.has_value());
    const auto before = children();
    REQUIRE(before.size() == 1);
    CHECK(in_child([&] {
              pool.reset();
              return 0;
          }) == 0);
    CHECK(require(pool->compile(trivial, {})).image.has_value());
    CHECK(children() == before);
}

TEST_CASE("workers: threads share a pool, and nothing is left behind") {
    auto folder = make_scratch();
    std::atomic<int> done = 0;
    {
        const auto compiler = compiler_in(folder.path(), workers(2));
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&compiler, &done, t] {
                for (int i = 0; i < 4; ++i) {
                    const auto code = fmt::format("__device__ int v = {};", 10 * t + i);
                    done += compiler.compile(Source::text(code), sm(80)).has_value() ? 1 : 0;
                }
            });
        }
        for (auto& thread : threads)
            thread.join();
    }
    CHECK(done == 16);
    CHECK(children().empty());
}

TEST_CASE("workers: killed at random, every request is answered and nothing is left") {
    const char* const wanted = std::getenv("LODE_TORTURE_KILLS");
    const long kills = wanted != nullptr ? std::strtol(wanted, nullptr, 10) : 40;
    const auto files = open_files();
    std::atomic<long> images = 0;
    std::atomic<long> killed = 0;
    std::atomic<long> wrong = 0;
    {
        worker::Pool pool(workers(4));
        std::atomic<bool> is_over = false;
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                const auto request = request_of(Source::text("__global__ void k() {}"));
                while (!is_over) {
                    const auto answer = pool.compile(request, {});
                    if (answer && answer->image)
                        ++images;
                    else if (!answer && contains(answer.error().message, "ended by SIGKILL"))
                        ++killed;  // Twice.
                    else
                        ++wrong;
                }
            });
        }
        std::minstd_rand dice(1);
        for (long done = 0; done < kills;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(dice() % 100));
            const auto all = children();
            if (all.empty()) continue;
            ::kill(all[dice() % all.size()], SIGKILL);
            ++done;
        }
        is_over = true;
        for (auto& thread : threads)
            thread.join();
        CHECK(pool.size() <= 4);
    }
    MESSAGE(kills << " kills: " << images.load() << " images, " << killed.load()
                  << " requests killed twice");
    CHECK(wrong == 0);
    CHECK(images > 0);
    CHECK(children().empty());
    CHECK(open_files() == files);
}

TEST_CASE("workers: a missing program is an error that says where it was searched") {
    auto options = workers(1);
    options.program = "/nonexistent/lode-worker";
    auto folder = make_scratch();
    const auto error =
        require_error(compiler_in(folder.path(), options).compile(Source::text(""), sm(80)));
    CHECK(error.code == Errc::compiler_missing);
    CHECK_CONTAINS(error.message, "/nonexistent/lode-worker");
    options.program = "/etc/passwd";
    CHECK_CONTAINS(
        require_error(compiler_in(folder.path(), options).compile(Source::text(""), sm(80)))
            .message,
        "/etc/passwd");
    options.program = "/bin/true";
    CHECK_CONTAINS(
        require_error(compiler_in(folder.path(), options).compile(Source::text(""), sm(80)))
            .message,
        "ended with code 0");
}

TEST_CASE("workers: an answer from the cache starts none") {
    auto folder = make_scratch();
    const auto source = Source::text("__global__ void k() {}");
    CHECK(compiler_in(folder.path(), workers(1)).compile(source, sm(80)).has_value());
    auto options = workers(1);
    options.program = "/nonexistent/lode-worker";
    CHECK(require(compiler_in(folder.path(), options).compile(source, sm(80))).report.tier ==
          "disk");
}

TEST_CASE("child: worker host" * doctest::skip()) {
    const auto process = require(worker::Process::start(LODE_WORKER_PROGRAM));
    std::ofstream(std::getenv("LODE_TEST_PID_FILE")) << process->pid() << std::flush;
    (void)process->run(request_of(endless()), {});
}

TEST_CASE("workers: none outlives its host, even one that is killed while they compile") {
    auto folder = make_scratch();
    const auto pid_file = folder.path() / "pid";
    ::setenv("LODE_TEST_PID_FILE", pid_file.c_str(), 1);
    pid_t worker = 0;
    {
        const SecondProcess host("child: worker host");
        for (int i = 0; i < 1000 && worker == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            std::ifstream(pid_file) >> worker;
        }
        REQUIRE(worker > 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        CHECK(is_running(worker));
        ::kill(host.pid(), SIGKILL);
    }
    CHECK(becomes([&] { return !is_running(worker); }));
}

TEST_CASE("workers: LODE_WORKERS is auto, off or a number") {
    const auto read = [](const char* value) {
        ::setenv("LODE_WORKERS", value, 1);
        auto options = WorkerOptions::from_environment();
        ::unsetenv("LODE_WORKERS");
        return options;
    };
    CHECK(require(read("auto")) == WorkerOptions{});
    CHECK(require(read("")) == WorkerOptions{});
    CHECK(require(read("off")).policy == WorkerPolicy::never);
    CHECK(require(read("0")).policy == WorkerPolicy::never);
    CHECK(require(read("3")).policy == WorkerPolicy::always);
    CHECK(require(read("3")).max_processes == 3);
    for (const char* wrong : {"x", "-1", "1025", "3 "}) {
        const auto error = require_error(read(wrong));
        CHECK(error.code == Errc::invalid_argument);
        CHECK(error.message ==
              fmt::format("LODE_WORKERS is '{}'; it must be auto, off, or a number "
                          "from 0 to 1024.",
                          wrong));
    }
}
