// Partitions on a driver that lacks what they need; tests/unit/emulator/runtime has the others.
#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/sm_partition.hpp>

using namespace lode;
using namespace lode::test;

TEST_CASE("sm partition: a driver without green contexts is told which release has them") {
    FakeMachine machine({.version = 12000});
    const Device device = machine.device();
    const auto refused = [](const Error& error, Errc code, std::string_view start,
                            std::string_view part) {
        CHECK(error.code == code);
        CHECK_CONTAINS(error.message, start);
        CHECK_CONTAINS(error.message, part);
    };
    refused(require_error(SmPartition::create(device, 2)), Errc::not_supported,
            "A partition of the multiprocessors needs a driver for CUDA 12.5 or newer: ",
            " supports CUDA 12.0 and has no cuGreenCtxStreamCreate.");
    const SmGroup groups[] = {{.multiprocessors = 2}};
    refused(require_error(SmPartition::split(device, groups)), Errc::not_supported,
            "A split into partitions of different sizes needs a driver for CUDA 13.1 or newer: ",
            " has no cuDevSmResourceSplit.");
    refused(require_error(SmPartition::work_queues(device)), Errc::driver_too_old,
            "Asking for work queues needs a driver for CUDA 13.1; this one is for 12.0.", "");
}
