// Precompiled headers of workers: the results are those without, and never those of old headers.
#include "jit/cache/store/disk_tier.hpp"
#include "jit/compile.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/pch/record.hpp"
#include "jit/worker/pool.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/second_process.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* second_host = "pch: a second host process";

/// Whether NVRTC and the system have what precompiled headers need.
bool can_precompile() {
    const auto nvrtc = NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({}));
    const int current = ::personality(0xffffffff);
    if (!nvrtc || !(*nvrtc)->at_least(12, 8) || current < 0) return false;
    const auto fixed = static_cast<unsigned long>(current) | ADDR_NO_RANDOMIZE;
    const bool can_fix = ::personality(fixed) >= 0;
    ::personality(static_cast<unsigned long>(current));
    return can_fix;
}

#define NEEDS_PCH()                                                   \
    if (!can_precompile()) {                                          \
        MESSAGE("skipped: precompiled headers aren't possible here"); \
        return;                                                       \
    }

/// Includes, and a kernel with a constant and the header's VALUE.
std::string kernel(int number, std::string_view head = "#include <value.h>\n") {
    return fmt::format("{}__global__ void k(int* x) {{ x[0] = VALUE; x[1] = {}; }}\n", head,
                       number);
}

/// A cache in a folder of its own, and headers beside it.
class Place {
public:
    Place() {
        fs::create_directories(headers());
        write("value.h", "#include <cuda_fp16.h>\n#define VALUE 1111\n");
    }

    [[nodiscard]] fs::path headers() const { return folder_.path() / "headers"; }
    [[nodiscard]] fs::path cache() const { return folder_.path() / "cache"; }
    void write(const fs::path& name, std::string_view text) const { put(headers() / name, text); }

    [[nodiscard]] CachedCompiler compiler(int workers, CacheMode mode = CacheMode::on,
                                          std::uint64_t max_bytes = std::uint64_t{1} << 30) const {
        CacheOptions options;
        options.folder = cache();
        options.mode = mode;
        options.workers = {.max_processes = workers, .program = LODE_WORKER_PROGRAM};
        options.precompiled_headers = {.max_bytes = max_bytes, .least_header_bytes = 1};
        return CachedCompiler({}, options);
    }
    [[nodiscard]] CompileOptions options() const {
        CompileOptions options;
        options.include_folders = {headers()};
        return options;
    }
    /// The PTX of a kernel.
    [[nodiscard]] std::string compile(const CachedCompiler& compiler, int number) const {
        return require(compiler.compile(Source::text(kernel(number)), sm(80), options()))
            .image->ptx;
    }

    /// The precompiled headers, by name.
    [[nodiscard]] std::map<std::string, fs::path> files() const {
        std::map<std::string, fs::path> all;
        std::error_code none;
        for (const auto& item : fs::directory_iterator(cache() / "v4/pch", none)) {
            if (item.path().extension() != ".record" && item.file_size() > 0)
                all[item.path().filename().string()] = item.path();
        }
        return all;
    }
    [[nodiscard]] fs::path file() const {
        REQUIRE(is_complete());
        return files().begin()->second;
    }
    [[nodiscard]] fs::path record() const { return file() += ".record"; }

    /// Sets the time of the last use to long ago.
    void age() const {
        fs::last_write_time(record(), fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
    /// Whether it was used since age().
    [[nodiscard]] bool is_used() const {
        return fs::last_write_time(record()) >
               fs::file_time_type::clock::now() - std::chrono::hours(1);
    }

private:
    [[nodiscard]] bool is_complete() const {
        const auto all = files();
        return all.size() == 1 && fs::exists(fs::path(all.begin()->second) += ".record");
    }

    ScratchFolder folder_ = make_scratch();
};

std::uint64_t inode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_ino;
}

/// Counts the files that get their name in a folder.
class Arrivals {
public:
    explicit Arrivals(const fs::path& folder) : queue_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        fs::create_directories(folder);
        fs::permissions(folder, fs::perms::owner_all);
        REQUIRE(::inotify_add_watch(queue_, folder.c_str(), IN_MOVED_TO) >= 0);
    }
    ~Arrivals() { ::close(queue_); }
    Arrivals(const Arrivals&) = delete;
    Arrivals& operator=(const Arrivals&) = delete;

    /// Those that aren't records.
    [[nodiscard]] int count() {
        alignas(inotify_event) char buffer[4096];
        for (ssize_t size = 0; (size = ::read(queue_, buffer, sizeof buffer)) > 0;) {
            for (const char* at = buffer; at < buffer + size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(at);
                if (!std::string_view(event->name).ends_with(".record")) ++count_;
                at += sizeof(inotify_event) + event->len;
            }
        }
        return count_;
    }

private:
    int queue_;
    int count_ = 0;
};

}  // namespace

TEST_CASE("pch: images, logs and dependencies are those without") {
    NEEDS_PCH();
    const Place place;
    place.write("all.h",
                "#pragma once\n#include <cuda_fp16.h>\n#include <cstdint>\n"
                "namespace { __device__ int hidden[2] = {1, 2};\n"
                "__device__ __noinline__ int helper(int x) { return hidden[x & 1]; } }\n"
                "static __device__ int counter = 3;\n"
                "template <class T> __device__ __noinline__ T twice(T x) { return x + x; }\n"
                "template <class T> __device__ T table[2] = {T(1), T(2)};\n"
                "__device__ inline const char* here() { return __FILE__; }\n"
                "__device__ inline int first(int x) { return twice(x) + table<int>[x & 1]; }\n"
                "template <class T> __global__ void scale(T* x) { *x = twice(*x); }\n");
    const std::string code =
        "// A comment.\n#define SIZE 4\n#include <all.h>\n#include <optional.h>\n"
        "#define LATER 1\n"
        "namespace { __global__ void inner(int* x, const char** y) { *x = __LINE__; *y = here(); } "
        "}\n"
        "__global__ void k(int* x, const char** y) {\n"
        "    int unused;\n"
        "    *x = helper(*x) + first(*x) + counter + SIZE + __LINE__;\n    *y = __FILE__;\n}\n";
    place.write("optional.h", "#if __has_include(<missing.h>)\n#include <missing.h>\n#endif\n");
    put(place.headers() / "source.cu", code);

    std::vector<CompileOptions> variants(6, place.options());
    variants[1].line_info = true;
    variants[2].debug = true;
    variants[3].relocatable = true;
    variants[4].lto = true;
    variants[5].definitions = {{"X", "1"}};
    variants[5].standard = Standard::cxx20;
    const std::vector<std::string> names{"scale<float>"};
    const auto nvrtc = require(NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({})));
    worker::Pool pool({.max_processes = 1, .program = LODE_WORKER_PROGRAM});
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    std::size_t made = 0;
    for (const auto& source :
         {Source::text(code, "memory.cu"), Source::file(place.headers() / "source.cu")}) {
        for (const auto& options : variants) {
            CAPTURE(source.name());
            CompileFiles files;
            const auto here = require(compile_with(*nvrtc, source, sm(80), options, names, &files));
            worker::Request request{NvrtcSearchEnvironment::of_process({}),
                                    fs::current_path().native(),
                                    variables,
                                    source,
                                    sm(80),
                                    options,
                                    names,
                                    {place.cache().native(), true, std::uint64_t{1} << 30, 1}};
            ++made;
            // The first one makes the precompiled header, the second one uses it.
            for (int round = 0; round < 2; ++round) {
                CAPTURE(round);
                const auto answer = require(pool.compile(request));
                const auto& there = require(Result<Image>(answer.image));
                CHECK(there.log == here.log);
                CHECK(there.ptx == here.ptx);
                CHECK(there == here);
                CHECK(answer.files.compiler.variables() == files.compiler.variables());
                CHECK(answer.files.compiler.unforeseen() == files.compiler.unforeseen());
                const auto& mine = files.compiler.answers();
                const auto& theirs = answer.files.compiler.answers();
                for (const auto& [path, known] : mine) {
                    CAPTURE(path);
                    REQUIRE(theirs.contains(path));
                    CHECK(theirs.at(path).kind == known.kind);
                    CHECK(theirs.at(path).consumed == known.consumed);
                }
                CHECK(theirs.size() == mine.size());
            }
            CHECK(place.files().size() == made);
        }
    }
}

TEST_CASE("pch: an error names the same lines") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(1);
    const auto fails = [&](const CachedCompiler& with) {
        return require_error(
            with.compile(Source::text("#include <value.h>\n\nint x = VALUE +;\n", "bad.cu"), sm(80),
                         place.options()));
    };
    (void)place.compile(compiler, 1);
    place.age();
    const auto error = fails(compiler);
    CHECK(place.is_used());
    CHECK(error.code == Errc::compile_failed);
    CHECK_CONTAINS(error.log, "bad.cu(3): error");
    CHECK(error.log == fails(CachedCompiler()).log);
}

TEST_CASE("pch: a header that changes is read again") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(1);
    CHECK_CONTAINS(place.compile(compiler, 1), "1111");
    place.age();
    CHECK_CONTAINS(place.compile(compiler, 2), "1111");
    CHECK(place.is_used());

    SUBCASE("edited") {
        place.write("value.h", "#include <cuda_fp16.h>\n#define VALUE 2222\n");
        CHECK_CONTAINS(place.compile(compiler, 3), "2222");
        CHECK_CONTAINS(place.compile(place.compiler(1), 4), "2222");
    }
    SUBCASE("hidden by a new file in an earlier folder") {
        const auto before = place.headers() / "before";
        fs::create_directories(before);
        auto options = place.options();
        options.include_folders.insert(options.include_folders.begin(), before);
        const auto ptx = [&](int number) {
            return require(compiler.compile(Source::text(kernel(number)), sm(80), options))
                .image->ptx;
        };
        CHECK_CONTAINS(ptx(3), "1111");
        CHECK_CONTAINS(ptx(4), "1111");
        put(before / "value.h", "#define VALUE 3333\n");
        CHECK_CONTAINS(ptx(5), "3333");
    }
    SUBCASE("removed") {
        fs::remove(place.headers() / "value.h");
        const auto error =
            require_error(compiler.compile(Source::text(kernel(3)), sm(80), place.options()));
        CHECK(error.code == Errc::compile_failed);
    }
    SUBCASE("another value of a variable that NVRTC reads") {
        Arrivals arrivals(place.cache() / "v4/pch");
        ::setenv("NVRTC_APPEND_FLAGS", "-lineinfo", 1);
        CHECK_CONTAINS(place.compile(compiler, 3), "1111");
        ::unsetenv("NVRTC_APPEND_FLAGS");
        CHECK(arrivals.count() == 1);
    }
}

TEST_CASE("pch: headers that depend on the time aren't precompiled") {
    NEEDS_PCH();
    const Place place;
    place.write("value.h",
                "#define VALUE 1\nstatic __device__ const char* when() { return __TIME__; }\n");
    const auto compiler = place.compiler(1);
    for (int number = 0; number < 2; ++number)
        (void)place.compile(compiler, number);
    (void)place.compile(place.compiler(1), 3);
    CHECK(place.files().empty());
}

TEST_CASE("pch: a file that isn't what was made is made again") {
    NEEDS_PCH();
    const Place place;
    CHECK_CONTAINS(place.compile(place.compiler(1), 1), "1111");
    const auto file = place.file();
    Arrivals arrivals(place.cache() / "v4/pch");

    SUBCASE("changed in the middle") {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
        stream << "damage";
    }
    SUBCASE("cut off") {
        fs::resize_file(file, fs::file_size(file) / 2);
    }
    SUBCASE("its record is damaged") {
        fs::resize_file(place.record(), 100);
    }
    SUBCASE("writable by others") {
        fs::permissions(file, fs::perms::others_write, fs::perm_options::add);
    }
    SUBCASE("of another user") {
        if (::chown(file.c_str(), 12345, 12345) != 0) return;
    }
    SUBCASE("a link") {
        const auto moved = place.headers() / "moved";
        fs::copy_file(file, moved);
        fs::remove(file);
        fs::create_symlink(moved, file);
    }
    CHECK_CONTAINS(place.compile(place.compiler(1), 2), "1111");
    CHECK_FALSE(fs::is_symlink(place.file()));
    CHECK(arrivals.count() == 1);
    place.age();
    CHECK_CONTAINS(place.compile(place.compiler(1), 3), "1111");
    CHECK(place.is_used());
    CHECK(arrivals.count() == 1);
}

TEST_CASE("pch: a file that only looks changed is verified, and used") {
    NEEDS_PCH();
    const Place place;
    (void)place.compile(place.compiler(1), 1);
    const auto before = inode_of(place.file());
    fs::permissions(place.file(), fs::perms::owner_read | fs::perms::owner_write);  // A new ctime.
    place.age();
    CHECK_CONTAINS(place.compile(place.compiler(1), 2), "1111");
    CHECK(place.is_used());
    CHECK(inode_of(place.file()) == before);
}

TEST_CASE("pch: a second host process" * doctest::skip()) {
    const char* const folder = std::getenv("LODE_TEST_PCH_FOLDER");
    REQUIRE(folder != nullptr);
    CacheOptions options;
    options.folder = fs::path(folder) / "cache";
    options.workers = {.max_processes = 1, .program = LODE_WORKER_PROGRAM};
    options.precompiled_headers.least_header_bytes = 1;
    CompileOptions compile;
    compile.include_folders = {fs::path(folder) / "headers"};
    CHECK_CONTAINS(
        require(
            CachedCompiler({}, options).compile(Source::text(kernel(99), "b.cu"), sm(80), compile))
            .image->ptx,
        "1111");
}

TEST_CASE("pch: workers and host processes share it, whatever the source is called") {
    NEEDS_PCH();
    const Place place;
    const auto one = place.compiler(1);
    (void)place.compile(one, 1);
    const auto before = inode_of(place.file());
    place.age();
    (void)place.compile(place.compiler(1), 2);
    CHECK(place.is_used());
    place.age();
    ::setenv("LODE_TEST_PCH_FOLDER", place.headers().parent_path().c_str(), 1);
    CHECK(SecondProcess(second_host).wait() == 0);
    ::unsetenv("LODE_TEST_PCH_FOLDER");
    CHECK(place.is_used());
    CHECK(inode_of(place.file()) == before);
}

TEST_CASE("pch: concurrent compilations of one header set make it once") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(4);
    (void)require(compiler.compile(Source::text("__global__ void k() {}"), sm(80)));
    Arrivals arrivals(place.cache() / "v4/pch");
    std::vector<std::thread> threads;
    std::vector<std::string> ptx(8);
    for (std::size_t thread = 0; thread < ptx.size(); ++thread)
        threads.emplace_back(
            [&, thread] { ptx[thread] = place.compile(compiler, static_cast<int>(thread)); });
    for (auto& thread : threads)
        thread.join();
    for (const auto& text : ptx)
        CHECK_CONTAINS(text, "1111");
    (void)place.file();
    CHECK(arrivals.count() == 1);
    CHECK(count_entries(place.cache() / "v4/tmp") == 0);
}

TEST_CASE("pch: the size limit holds, and the least recently used go first") {
    NEEDS_PCH();
    const Place place;
    const auto variant = [&](const CachedCompiler& compiler, int number) {
        auto options = place.options();
        options.definitions = {{"VARIANT", std::to_string(number)}};
        (void)require(compiler.compile(Source::text(kernel(number)), sm(80), options));
    };
    variant(place.compiler(1), 0);
    const auto size = fs::file_size(place.file());
    const auto name = place.file().filename().string();
    const auto limit = 3 * size + size / 2;
    const auto compiler = place.compiler(1, CacheMode::on, limit);
    variant(compiler, 1);
    variant(compiler, 2);
    REQUIRE(place.files().size() == 3);
    for (const auto& [file, path] : place.files()) {
        const bool is_first = file == name;
        fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(9));
        fs::last_write_time(fs::path(path) += ".record", fs::file_time_type::clock::now() -
                                                             std::chrono::hours(is_first ? 3 : 2));
    }
    variant(compiler, 3);
    CHECK(place.files().size() == 3);
    CHECK_FALSE(place.files().contains(name));

    const Place small;
    (void)small.compile(small.compiler(1, CacheMode::on, size / 2), 1);
    (void)small.compile(small.compiler(1, CacheMode::on, size / 2), 2);
    CHECK(small.files().empty());
    const Place none;
    (void)none.compile(none.compiler(1, CacheMode::on, 0), 1);
    CHECK_FALSE(fs::exists(none.cache() / "v4/pch"));
}

TEST_CASE("pch: clearing the cache removes them") {
    NEEDS_PCH();
    const Place place;
    (void)place.compile(place.compiler(1), 1);
    REQUIRE(place.files().size() == 1);
    const auto tier = require(cache::DiskTier::open(place.cache(), true, 1 << 20));
    REQUIRE(tier->clear());
    CHECK(fs::is_empty(place.cache() / "v4/pch"));
}

TEST_CASE("pch: a cache that isn't written has none made; a read-only one is used") {
    NEEDS_PCH();
    const Place place;
    (void)place.compile(place.compiler(1, CacheMode::off), 1);
    (void)place.compile(place.compiler(1, CacheMode::read_only), 2);
    CHECK_FALSE(fs::exists(place.cache()));
    (void)place.compile(place.compiler(1), 3);
    (void)place.file();
    const auto before = fs::last_write_time(place.cache() / "v4/pch");
    CHECK_CONTAINS(place.compile(place.compiler(1, CacheMode::read_only), 4), "1111");
    place.write("value.h", "#define VALUE 2222\n");
    CHECK_CONTAINS(place.compile(place.compiler(1, CacheMode::read_only), 5), "2222");
    CHECK(fs::last_write_time(place.cache() / "v4/pch") == before);
}
