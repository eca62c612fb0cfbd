#include "tests/unit/runtime/support.hpp"

#include <algorithm>

using namespace lode;
using namespace lode::test;

TEST_CASE("limits: a value is set, and what the driver made of it is returned") {
    const FakeMachine machine;
    const Device device = machine.device();
    CHECK(require(limit(device, Limit::stack)) == 1024);
    CHECK(require(set_limit(device, Limit::stack, 2001)) == 2016);
    CHECK(require(limit(device, Limit::stack)) == 2016);
    CHECK(machine.driver.context_stack().empty());
}

TEST_CASE("limits: the printf buffer and the malloc heap are fixed by the first load") {
    const FakeMachine machine;
    const Device device = machine.device();
    require(set_limit(device, Limit::printf_fifo, 1 << 22));
    require(set_limit(device, Limit::malloc_heap, 1 << 24));
    const auto library = require(device.load(cubin_image({"k()"})));
    const auto error = require_error(set_limit(device, Limit::malloc_heap, 1 << 25));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "The malloc heap of device 0");
    CHECK_CONTAINS(error.message, "Set it before the first Device::load().");
    CHECK_CONTAINS(require_error(set_limit(device, Limit::printf_fifo, 1)).message,
                   "The printf buffer of device 0");
    CHECK(require(limit(device, Limit::malloc_heap)) == 1 << 24);
    CHECK(require(set_limit(device, Limit::stack, 4096)) == 4096);
}

TEST_CASE("limits: the persisting part of L2 is limited by the device") {
    const FakeMachine machine;
    const Device device = machine.device();
    CHECK(require(set_limit(device, Limit::persisting_l2, 1 << 20)) == 1 << 20);
    const auto error = require_error(set_limit(device, Limit::persisting_l2, (1 << 20) + 1));
    CHECK(error.code == Errc::out_of_resources);
    CHECK_CONTAINS(
        error.message,
        "The persisting part of the L2 cache (1048577) exceeds 1048576, the limit of device 0");
    require(reset_persisting_l2(device));
    CHECK(machine.driver.calls("cuCtxResetPersistingL2Cache") == 1);
}

TEST_CASE("limits: the table has every limit, without a value where the device lacks it") {
    FakeMachine machine;
    const auto table = require(limits(machine.device()));
    REQUIRE(table.size() == 6);
    CHECK(table[0].limit == Limit::stack);
    CHECK(table[0].value == 1024);
    const auto pending = std::ranges::find(table, Limit::pending_launches, &LimitValue::limit);
    CHECK_FALSE(pending->value);
    CHECK(to_string(Limit::l2_fetch_granularity) == "l2_fetch_granularity");

    const auto error = require_error(limit(machine.device(), Limit::pending_launches));
    CHECK(error.code == Errc::not_supported);
    CHECK_CONTAINS(error.message, "has no limit of the number of pending launches");
    machine.driver.fail_always("cuCtxGetLimit", CUDA_ERROR_UNKNOWN);
    CHECK_FALSE(limits(machine.device()));
    machine.driver.fail_always("cuCtxSetLimit", CUDA_ERROR_INVALID_VALUE);
    CHECK_CONTAINS(require_error(set_limit(machine.device(), Limit::stack, 1)).message,
                   "while setting the stack size to 1");
}
