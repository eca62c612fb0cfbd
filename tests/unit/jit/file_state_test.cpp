#include "jit/files/file_state.hpp"

#include "jit/files/calculation.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <doctest/doctest.h>

using namespace lode;

namespace {

constexpr std::int64_t millisecond = 1'000'000;

/// A file system whose clock ticks, and one file in it.
class TickingFile {
public:
    explicit TickingFile(std::int64_t tick) : tick_(tick) {}

    [[nodiscard]] std::int64_t clock() const { return now_ / tick_ * tick_; }
    void pass(std::int64_t time) { now_ += time; }
    void edit() {
        stamp_.modified_ns = stamp_.changed_ns = clock();
        ++content_;
    }
    [[nodiscard]] const FileStamp& stamp() const { return stamp_; }
    [[nodiscard]] int content() const { return content_; }

private:
    std::int64_t tick_;
    std::int64_t now_ = 1'000'000'000'123'456'789;
    FileStamp stamp_ = {1, 2, 3, 0, 0};
    int content_ = 0;
};

}  // namespace

TEST_CASE(
    "file state: after a settled read every edit changes the stamp, whatever the clock's tick") {
    std::mt19937_64 random(1);
    for (const int tick : {1, 4, 10, 22, 50}) {
        CAPTURE(tick);
        int settled = 0;
        for (int round = 0; round < 4000; ++round) {
            TickingFile file(tick * millisecond);
            const auto pass = [&] {
                file.pass(static_cast<std::int64_t>(random() % 30) * millisecond / 2 + 1);
            };
            pass();
            file.edit();
            pass();
            // A read takes time, and the file may be edited during it.
            const std::int64_t clock = file.clock();
            const FileStamp before = file.stamp();
            if (random() % 4 == 0) pass();
            if (random() % 4 == 0) file.edit();
            const int content = file.content();
            if (random() % 4 == 0) pass();
            if (random() % 4 == 0) file.edit();
            const FileStamp after = file.stamp();
            if (!is_settled(before, after, clock)) continue;
            ++settled;
            REQUIRE(file.content() == content);
            if (random() % 2 == 0) pass();
            file.edit();
            REQUIRE(file.stamp() != after);
        }
        CHECK(settled > 20);
    }
}

TEST_CASE("file state: a stamp in whole seconds settles after two") {
    const FileStamp stamp{1, 2, 3, 5 * ns_per_second, 5 * ns_per_second};
    CHECK_FALSE(is_settled(stamp, stamp, 7 * ns_per_second));
    CHECK(is_settled(stamp, stamp, 7 * ns_per_second + 1));
}

TEST_CASE("file state: the clock is that of the file system") {
    const auto scratch = ScratchFolder::create("lode-file-state");
    REQUIRE(scratch);
    const std::string path = (scratch->path() / "file").native();
    const auto write = [&](const char* text) { std::ofstream(path) << text; };
    // However long the kernel's tick is: what was written is as new as the clock or newer.
    for (int round = 0; round < 50; ++round) {
        const std::int64_t before = os::file_clock_now();
        write("text");
        const auto stamp = stamp_of(path);
        REQUIRE(stamp);
        CHECK(stamp->changed_ns >= before);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    write("now");
    const auto now = read_file_content(path);
    REQUIRE(now.content);
    CHECK_FALSE(now.content->settled);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const auto later = read_file_content(path);
    REQUIRE(later.content);
    CHECK(later.content->settled);
    const auto digest = read_file_digest(path);
    REQUIRE(digest);
    CHECK(digest->settled);
    CHECK(digest->content == sha256("now"));
    CHECK_FALSE(read_file_digest(scratch->path().native()));
}

TEST_CASE("calculation: results are those of the C library, whatever the rounding mode") {
    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    const Calculation sine{16, bits(0.3), 0};
    const Calculation power{15, bits(1.1), bits(2.2)};
    const Calculation single{9, bits(0.7F), 0};
    CHECK(to_string(sine) == "sin(3fd3333333333333, 0)");
    CHECK(to_string(power).starts_with("pow("));
    CHECK(to_string(single).starts_with("expf("));
    volatile double x = 0.3;
    CHECK(calculate(sine) == bits(std::sin(x)));
    const auto nearest = calculate(power);
    std::fesetround(FE_UPWARD);
    CHECK(calculate(power) == nearest);
    CHECK(std::fegetround() == FE_UPWARD);
    std::fesetround(FE_TONEAREST);
    CHECK(calculate({255, 1, 2}) == 0);
    CHECK(to_string({255, 1, 2}) == "unknown(1, 2)");
}
