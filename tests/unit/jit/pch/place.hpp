// A cache and headers for tests of precompiled headers.
#pragma once

#include "tests/support/can_precompile.hpp"
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/jit/support.hpp"

#include <lode/jit/cache.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace lode::test {

namespace fs = std::filesystem;

#define NEEDS_PCH()                                                   \
    if (!can_precompile()) {                                          \
        MESSAGE("skipped: precompiled headers aren't possible here"); \
        return;                                                       \
    }

/// Includes, and a kernel with a constant and the header's VALUE.
inline std::string kernel(int number, std::string_view head = "#include <value.h>\n") {
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
        options.workers = {.policy = workers > 0 ? WorkerPolicy::always : WorkerPolicy::never,
                           .max_processes = workers,
                           .program = LODE_WORKER_PROGRAM};
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
        for (const auto& item : fs::directory_iterator(cache() / "v6/pch", none)) {
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

}  // namespace lode::test
