#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/sm_partition.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::emulator_test;

namespace {

Device open_device(const char* devices) {
    setenv("LODE_EMULATOR_DEVICES", devices, 1);
    reset();
    const auto runtime = require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    return require(runtime.device(0));
}

const Source count_source = Source::text(R"(
extern "C" __global__ void count_up(int* values) { values[threadIdx.x] += 1; }
)",
                                         "partition.cu");

}  // namespace

TEST_CASE("sm partition: kernels run on its streams, which keep it alive") {
    {
        const Device device = open_device("sm_90");
        const auto kernel = require(device.load<void(int*)>(count_source, "count_up"));
        const auto values = require(device.upload(std::vector<int>(32, 1)));
        Stream stream;
        {
            const auto partition = require(SmPartition::create(device, 60));
            CHECK(partition.multiprocessors() == 64);
            stream = require(partition.create_stream({.priority = -1}));
        }
        CHECK(live(LODE_EMULATOR_GREEN_CONTEXTS) == 1);
        require(kernel.launch(stream, LaunchShape{.grid = {1}, .block = {32}}, values));
        require(stream.sync());
        CHECK(require(values.to_vector()) == std::vector<int>(32, 2));
        stream = {};
        CHECK(live(LODE_EMULATOR_GREEN_CONTEXTS) == 0);
    }
    for (int kind = 0; kind < LODE_EMULATOR_KINDS; ++kind)
        CHECK(live(kind) == 0);
}

TEST_CASE("sm partition: a split makes disjoint partitions and the rest") {
    const Device device = open_device("sm_90");
    const auto split = require(SmPartition::split(device, 32));
    REQUIRE(split.partitions.size() == 4);
    for (const auto& partition : split.partitions)
        CHECK(partition.multiprocessors() == 32);
    CHECK(split.rest.multiprocessors() == 4);
    const auto two = require(SmPartition::split(device, 32, {.most = 2}));
    CHECK(two.partitions.size() == 2);
    CHECK(two.rest.multiprocessors() == 68);
    const auto small = require(SmPartition::split(device, 3, {.ignore_coscheduling = true}));
    CHECK(small.partitions.front().multiprocessors() == 4);
    CHECK_FALSE(small.rest);
}

TEST_CASE("sm partition: what can't be split is refused with the value and the limit") {
    const Device device = open_device("sm_75");
    for (const int wrong : {0, -1, 41}) {
        const auto refused = SmPartition::create(device, wrong);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::invalid_argument);
        CHECK(refused.error().message.find(std::to_string(wrong)) != std::string::npos);
        CHECK(refused.error().message.find("all 40") != std::string::npos);
    }
    CHECK(SmPartition::split(device, 2, {.most = 0}).error().code == Errc::invalid_argument);
    const SmPartition empty;
    CHECK_FALSE(empty);
    CHECK(empty.multiprocessors() == 0);
    CHECK(empty.create_stream().error().code == Errc::invalid_argument);
    const auto partition = require(SmPartition::create(device, 1));
    CHECK(partition.multiprocessors() == 2);
    CHECK(partition.create_stream({.blocking = true}).error().code == Errc::invalid_argument);
}

TEST_CASE("sm partition: an older driver lacks it, and the error says which has it") {
    setenv("LODE_EMULATOR_DEVICES", "sm_90", 1);
    reset();
    control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version")(12040);
    const auto runtime = require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    const auto refused = SmPartition::create(require(runtime.device(0)), 8);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code != Errc::invalid_argument);
    CHECK(refused.error().message.find("12.5") != std::string::npos);
}

TEST_CASE("sm partition: groups of different sizes, and what they refuse") {
    const Device device = open_device("sm_90");
    const SmGroup groups[] = {
        {.multiprocessors = 16}, {.multiprocessors = 10, .coscheduled = 2}, {}};
    const auto split = require(SmPartition::split(device, groups));
    REQUIRE(split.partitions.size() == 3);
    CHECK(split.partitions[0].multiprocessors() == 16);
    CHECK(split.partitions[1].multiprocessors() == 10);
    CHECK(split.partitions[2].multiprocessors() == 104);
    CHECK(split.rest.multiprocessors() == 2);
    const SmGroup filled[] = {{.multiprocessors = 16}, {.fill = true}};
    const auto whole = require(SmPartition::split(device, filled));
    CHECK(whole.partitions[1].multiprocessors() == 116);
    CHECK_FALSE(whole.rest);
    const auto stream = require(whole.partitions[1].create_stream());
    const auto kernel = require(device.load<void(int*)>(count_source, "count_up"));
    const auto values = require(device.upload(std::vector<int>(32, 1)));
    require(kernel.launch(stream, LaunchShape{.grid = {1}, .block = {32}}, values));
    require(stream.sync());
    CHECK(require(values.to_vector()) == std::vector<int>(32, 2));

    const auto refused = [&](std::vector<SmGroup> wrong) {
        const auto error = lode::test::require_error(SmPartition::split(device, wrong));
        CHECK(error.code == Errc::invalid_argument);
        return error.message;
    };
    CHECK(refused({}).find("no groups") != std::string::npos);
    CHECK(refused({{.multiprocessors = 133}}).find("from 1 to all 132") != std::string::npos);
    CHECK(refused({{.multiprocessors = 12}}).find("cuDevSmResourceSplit") != std::string::npos);
    CHECK(refused({{.multiprocessors = 8, .coscheduled = -2}}).find("(-2)") != std::string::npos);
    CHECK(refused({{.multiprocessors = 128}, {.multiprocessors = 8}}).find("can't be split") !=
          std::string::npos);
}

TEST_CASE("sm partition: work queues of its own, of the device and of another partition") {
    const Device device = open_device("sm_90");
    CHECK(require(SmPartition::work_queues(device)).concurrency == 8);
    const auto own =
        require(SmPartition::create(device, 60, WorkQueues{.concurrency = 3, .balanced = true}));
    CHECK(require(own.work_queues()).concurrency == 3);
    CHECK(require(own.work_queues()).balanced);
    const auto shared = require(SmPartition::create(device, 60, WorkQueues{.of = &own}));
    CHECK(require(shared.work_queues()).concurrency == 3);
    const auto plain = require(SmPartition::create(device, 60));
    CHECK(require(plain.work_queues()).concurrency == 8);
    CHECK_FALSE(require(plain.work_queues()).balanced);

    const auto split = require(
        SmPartition::split(device, 32, {.most = 2, .work_queues = WorkQueues{.balanced = true}}));
    for (const auto& partition : split.partitions)
        CHECK(require(partition.work_queues()).balanced);
    CHECK_FALSE(require(split.rest.work_queues()).balanced);
    const SmGroup groups[] = {{.multiprocessors = 16, .work_queues = WorkQueues{.concurrency = 2}},
                              {.multiprocessors = 16}};
    const auto grouped = require(SmPartition::split(device, groups));
    CHECK(require(grouped.partitions[0].work_queues()).concurrency == 2);
    CHECK(require(grouped.partitions[1].work_queues()).concurrency == 8);

    const auto kernel = require(device.load<void(int*)>(count_source, "count_up"));
    const auto values = require(device.upload(std::vector<int>(32, 1)));
    const auto stream = require(shared.create_stream());
    require(kernel.launch(stream, LaunchShape{.grid = {1}, .block = {32}}, values));
    require(stream.sync());
    CHECK(require(values.to_vector()) == std::vector<int>(32, 2));
}

TEST_CASE(
    "sm partition: an event of a partition is that of all its streams, and it waits for one") {
    const Device device = open_device("sm_90");
    const auto kernel = require(device.load<void(int*)>(count_source, "count_up"));
    const auto values = require(device.upload(std::vector<int>(32, 0)));
    const auto first = require(SmPartition::create(device, 64));
    const auto second = require(SmPartition::create(device, 64));
    // The first partition's work can't begin before `go` does.
    std::atomic<bool> may_go = false;
    const auto gate = require(device.create_stream());
    const auto go = require(device.create_event({.timing = false}));
    require(gate.call_on_host([&] {
        while (!may_go)
            std::this_thread::yield();
    }));
    require(go.record(gate));
    const std::array streams = {require(first.create_stream()), require(first.create_stream())};
    require(first.wait(go));
    const LaunchShape shape{.grid = {1}, .block = {32}};
    for (const auto& stream : streams)
        require(kernel.launch(stream, shape, values));
    const auto late = require(first.create_stream());
    require(kernel.launch(late, shape, values));

    const auto done = require(device.create_event({.timing = false}));
    require(first.record(done));
    require(second.wait(done));
    const auto after = require(second.create_stream());
    require(kernel.launch(after, shape, values));
    for (const auto* stream : {&streams[0], &streams[1], &late, &after})
        CHECK_FALSE(require(stream->is_idle()));
    CHECK_FALSE(require(done.is_done()));
    may_go = true;
    require(after.sync());
    CHECK(require(done.is_done()));
    CHECK(require(values.to_vector()) == std::vector<int>(32, 4));

    const SmPartition empty;
    CHECK(lode::test::require_error(empty.record(done)).code == Errc::invalid_argument);
    CHECK(lode::test::require_error(empty.wait(done)).code == Errc::invalid_argument);
    CHECK(lode::test::require_error(first.wait(Event())).message.starts_with("The event is empty"));
}

TEST_CASE("sm partition: wrong work queues, and drivers without any") {
    setenv("LODE_EMULATOR_DEVICES", "sm_90,sm_90", 1);
    reset();
    const auto open = [] {
        return require(Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    };
    const auto refused = [](const Device& device, const WorkQueues& queues, Errc code) {
        const auto error = lode::test::require_error(SmPartition::create(device, 8, queues));
        CHECK(error.code == code);
        return error.message;
    };
    {
        const auto runtime = open();
        const auto device = require(runtime.device(0));
        const SmPartition empty;
        CHECK(refused(device, {.of = &empty}, Errc::invalid_argument) ==
              "The partition in WorkQueues::of is empty: it was default-constructed, moved from or "
              "released.");
        const auto other = require(SmPartition::create(require(runtime.device(1)), 8));
        CHECK(refused(device, {.of = &other}, Errc::invalid_argument)
                  .starts_with("The partition in WorkQueues::of belongs to device 1"));
        const auto foreign = require(require(runtime.device(1)).create_event({.timing = false}));
        const auto own = require(SmPartition::create(device, 8));
        CHECK(lode::test::require_error(own.record(foreign))
                  .message.starts_with("The event belongs to device 1"));
        CHECK(own.wait(foreign));
        CHECK(refused(device, {.concurrency = 2, .of = &own}, Errc::invalid_argument)
                  .ends_with("leave concurrency and balanced unset."));
        CHECK(lode::test::require_error(empty.work_queues()).code == Errc::invalid_argument);
    }
    control<decltype(lode_emulator_set_driver_version)>("lode_emulator_set_driver_version")(13000);
    const auto device = require(open().device(0));
    CHECK(refused(device, {.concurrency = 2}, Errc::driver_too_old)
              .starts_with("A partition with its own work queues needs a driver for CUDA 13.1"));
    CHECK(lode::test::require_error(SmPartition::work_queues(device)).code == Errc::driver_too_old);
    const auto plain = require(SmPartition::create(device, 8));
    CHECK(lode::test::require_error(plain.work_queues()).code == Errc::driver_too_old);
}
