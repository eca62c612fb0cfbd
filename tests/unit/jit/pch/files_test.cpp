// The files of precompiled headers: damage, sharing, limits, modes.
#include "jit/store/disk_tier.hpp"
#include "tests/support/second_process.hpp"
#include "tests/unit/jit/pch/place.hpp"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* second_host = "pch: a second host process";

std::uint64_t inode_of(const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_ino;
}

}  // namespace

TEST_CASE("pch: a file that isn't what was made is made again") {
    NEEDS_PCH();
    const Place place;
    CHECK_CONTAINS(place.compile(place.compiler(1), 1), "1111");
    const auto file = place.file();
    Arrivals arrivals(place.cache() / "v6/pch");

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
    options.workers = {
        .policy = WorkerPolicy::always, .max_processes = 1, .program = LODE_WORKER_PROGRAM};
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

TEST_CASE("pch: a head in ever new folders has none made after two that nothing used") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(1);
    int number = 0;
    const auto compile_in = [&](const char* folder) {
        fs::create_directories(place.headers() / folder);
        const auto file = place.headers() / folder / fmt::format("{}.cu", ++number);
        place.write(file, kernel(number));
        (void)require(compiler.compile(Source::file(file), sm(80), place.options()));
        return place.files().size();
    };
    CHECK(compile_in("a") == 1);
    CHECK(compile_in("b") == 2);
    CHECK(compile_in("c") == 2);
    CHECK(compile_in("a") == 2);
    CHECK(compile_in("c") == 3);
}

TEST_CASE("pch: concurrent compilations of one header set make it once") {
    NEEDS_PCH();
    const Place place;
    const auto compiler = place.compiler(4);
    (void)require(compiler.compile(Source::text("__global__ void k() {}"), sm(80)));
    Arrivals arrivals(place.cache() / "v6/pch");
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
    CHECK(count_entries(place.cache() / "v6/tmp") == 0);
}

TEST_CASE("pch: the size limit holds, and the least recently used go first") {
    NEEDS_PCH();
    const Place place;
    const auto variant = [&](const CachedCompiler& compiler, int number) {
        const auto head = fmt::format("// {}\n#include <value.h>\n", number);
        (void)require(
            compiler.compile(Source::text(kernel(number, head)), sm(80), place.options()));
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
    CHECK_FALSE(fs::exists(none.cache() / "v6/pch"));
}

TEST_CASE("pch: clearing the cache removes them") {
    NEEDS_PCH();
    const Place place;
    (void)place.compile(place.compiler(1), 1);
    REQUIRE(place.files().size() == 1);
    const auto tier = require(cache::DiskTier::open(place.cache(), true, 1 << 20));
    REQUIRE(tier->clear());
    CHECK(fs::is_empty(place.cache() / "v6/pch"));
}

TEST_CASE("pch: a cache that isn't written has none made, and a read-only one is used") {
    NEEDS_PCH();
    const Place place;
    (void)place.compile(place.compiler(1, CacheMode::off), 1);
    (void)place.compile(place.compiler(1, CacheMode::read_only), 2);
    CHECK_FALSE(fs::exists(place.cache()));
    (void)place.compile(place.compiler(1), 3);
    (void)place.file();
    const auto before = fs::last_write_time(place.cache() / "v6/pch");
    CHECK_CONTAINS(place.compile(place.compiler(1, CacheMode::read_only), 4), "1111");
    place.write("value.h", "#define VALUE 2222\n");
    CHECK_CONTAINS(place.compile(place.compiler(1, CacheMode::read_only), 5), "2222");
    CHECK(fs::last_write_time(place.cache() / "v6/pch") == before);
}

TEST_CASE("pch: with the automatic policy, the second source with a slow head goes to a worker") {
    NEEDS_PCH();
    const auto folder = make_scratch();
    CacheOptions options;
    options.folder = folder.path();
    options.workers.program = LODE_WORKER_PROGRAM;
    const CachedCompiler compiler({}, options);
    const auto made = [&](int number) {
        const auto code = fmt::format(
            "#include <cub/block/block_reduce.cuh>\n__global__ void k(int* x) {{ *x = {}; }}",
            number);
        CHECK(compiler.compile(Source::text(code), sm(80)).has_value());
        return fs::exists(folder.path() / "v6" / "pch");
    };
    CHECK_FALSE(made(1));
    CHECK(made(2));
}
