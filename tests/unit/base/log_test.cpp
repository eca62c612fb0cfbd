#include <lode/base/log.hpp>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

using lode::Log;
using lode::LogLevel;

TEST_CASE("log: without a hook it drops everything") {
    const Log unset;
    const Log from_empty{lode::LogHook{}};
    CHECK_FALSE(unset.enabled());
    CHECK_FALSE(from_empty.enabled());
    unset.write(LogLevel::error, "nobody hears this");
    from_empty.write(LogLevel::error, "nor this");
}

TEST_CASE("log: the hook gets level and line, and copies share it") {
    std::vector<std::string> lines;
    Log copy;
    {
        const Log log([&](LogLevel level, std::string_view line) {
            lines.push_back(std::string(lode::to_string(level)) + ": " + std::string(line));
        });
        CHECK(log.enabled());
        log.write(LogLevel::debug, "one");
        copy = log;
    }
    copy.write(LogLevel::warning, "two");
    CHECK(lines == std::vector<std::string>{"debug: one", "warning: two"});
}

TEST_CASE("log: a hook's exceptions don't escape") {
    const Log log([](LogLevel, std::string_view) { throw std::runtime_error("broken hook"); });
    CHECK_NOTHROW(log.write(LogLevel::info, "line"));
}

TEST_CASE("log: may be written from several threads") {
    std::atomic<int> lines{0};
    const Log log([&](LogLevel, std::string_view line) { lines += line == "line" ? 1 : 0; });
    constexpr int writers = 4;
    constexpr int each = 500;
    std::vector<std::thread> threads;
    for (int i = 0; i < writers; ++i) {
        threads.emplace_back([log] {
            for (int k = 0; k < each; ++k)
                log.write(LogLevel::info, "line");
        });
    }
    for (auto& thread : threads)
        thread.join();
    CHECK(lines == writers * each);
}

TEST_CASE("log: to_stderr writes the lines of its level and above") {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    for (const Log& log : {Log::to_stderr(), Log::to_stderr(LogLevel::info)}) {
        log.write(LogLevel::info, "info");
        log.write(LogLevel::warning, "warning");
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    char text[64] = {};
    std::rewind(file);
    (void)std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    CHECK(std::string(text) == "lode: warning\nlode: info\nlode: warning\n");
}

TEST_CASE("log: every level has a name") {
    CHECK(lode::to_string(LogLevel::debug) == "debug");
    CHECK(lode::to_string(LogLevel::info) == "info");
    CHECK(lode::to_string(LogLevel::warning) == "warning");
    CHECK(lode::to_string(LogLevel::error) == "error");
}
