#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/timing.hpp>

using namespace lode;
using namespace lode::test;

TEST_CASE("timing: effective bandwidth of the guide's copy, and its share of the theoretical one") {
    // Best Practices Guide 8.2: a copy of 2048 x 2048 floats, and an M2090 with 177.6 GB/s.
    constexpr std::uint64_t bytes = std::uint64_t{2048} * 2048 * 4;
    constexpr Throughput copy{.bytes_read = bytes, .bytes_written = bytes, .ms = 0.25};
    CHECK(copy.bytes_per_second() == doctest::Approx(134.217728e9));
    CHECK(copy.to_string() == "134.2 GB/s");
    CHECK(copy.percent_of(theoretical_bandwidth(1850000, 384)) == doctest::Approx(75.573));
    CHECK(copy.percent_of(0) == 0);
    CHECK(Throughput{.bytes_read = 5}.bytes_per_second() == 0);
}

TEST_CASE("timing: a summary has the shortest, the median and the longest time of a run") {
    const Timing odd = summarise({6, 2, 4}, 2);
    CHECK(odd.min_ms == 1);
    CHECK(odd.median_ms == 2);
    CHECK(odd.max_ms == 3);
    CHECK(summarise({1, 2, 4, 5}, 1).median_ms == 3);
    CHECK(summarise({}, 1).max_ms == 0);
}

TEST_CASE("timing: a timer measures between two points of a stream") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto timer = require(Timer::create(device));
    require(timer.start(stream));
    require(timer.stop(stream));
    CHECK(require(timer.ms()) > 0);
    CHECK(require_error(Timer().ms()).code == Errc::invalid_argument);
    CHECK(require_error(Timer().start(stream)).code == Errc::invalid_argument);
}

TEST_CASE("timing: work is run as often as asked, and its error ends the measurement") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    int runs = 0;
    const auto work = [&]() -> Status {
        ++runs;
        return {};
    };
    const auto timing =
        require(time_work(device, stream, {.warm_ups = 2, .measurements = 3, .runs = 4}, work));
    CHECK(runs == 2 + 3 * 4);
    CHECK(timing.min_ms <= timing.median_ms);
    CHECK(timing.median_ms <= timing.max_ms);
    CHECK(require_error(time_work(device, stream, {.runs = 0}, work)).code ==
          Errc::invalid_argument);
    const auto failing = [] { return Status(fail(Errc::not_ready, "no")); };
    CHECK(require_error(time_work(device, stream, {}, failing)).code == Errc::not_ready);
}
