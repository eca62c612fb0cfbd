#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/runtime/runtime.hpp>
#include <lode/runtime/sm_partition.hpp>

#include <cstdlib>
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
