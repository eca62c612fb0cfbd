#include "tests/unit/runtime/support.hpp"

#include <memory>
#include <stdexcept>

using namespace lode;
using namespace lode::test;

TEST_CASE("stream: create reports what the driver says, with the call's name") {
    FakeMachine machine;
    const Device device = machine.device();
    machine.driver.fail_always("cuStreamCreateWithPriority", CUDA_ERROR_OUT_OF_MEMORY);
    const auto error = require_error(device.create_stream());
    CHECK(error.code == Errc::out_of_memory);
    CHECK_CONTAINS(error.message, "cuStreamCreateWithPriority fails: memory is exhausted.");
}

TEST_CASE("stream: unfinished work isn't an error") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto event = require(device.create_event());
    CHECK(require(stream.ref().is_idle()));
    CHECK(require(event.is_done()));
    machine.driver.fail_always("cuStreamQuery", CUDA_ERROR_NOT_READY);
    machine.driver.fail_always("cuEventQuery", CUDA_ERROR_NOT_READY);
    CHECK_FALSE(require(stream.ref().is_idle()));
    CHECK_FALSE(require(event.is_done()));
    machine.driver.fail_always("cuStreamQuery", CUDA_ERROR_INVALID_HANDLE);
    machine.driver.fail_always("cuEventQuery", CUDA_ERROR_INVALID_HANDLE);
    CHECK(require_error(stream.ref().is_idle()).code == Errc::invalid_argument);
    CHECK(require_error(event.is_done()).code == Errc::invalid_argument);
    machine.driver.fail_always("cuEventElapsedTime", CUDA_ERROR_NOT_READY);
    CHECK(require_error(event.elapsed_ms_since(event)).code == Errc::not_ready);
}

TEST_CASE("stream: a host function runs, and what it throws goes to the log") {
    std::vector<std::string> lines;
    FakeMachine machine({}, {.log = Log([&](LogLevel level, std::string_view line) {
                                 if (level == LogLevel::error) lines.emplace_back(line);
                             })});
    const auto stream = require(machine.device().create_stream());
    int runs = 0;
    require(stream.ref().call_on_host([&] { ++runs; }));
    CHECK(runs == 1);
    require(stream.ref().call_on_host([] { throw std::runtime_error("bad day"); }));
    require(stream.ref().call_on_host([] { throw 1; }));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "A host function on a stream throws: bad day");
}

TEST_CASE("stream: a host function is refused when empty, in a capture, or by the driver") {
    FakeMachine machine;
    const auto stream = require(machine.device().create_stream());
    CHECK(require_error(stream.ref().call_on_host({})).code == Errc::invalid_argument);
    machine.driver.set_capturing(stream.native(), true);
    CHECK(require_error(stream.ref().call_on_host([] {})).code == Errc::capture_active);
    machine.driver.set_capturing(stream.native(), false);
    machine.driver.fail_always("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    bool ran = false;
    CHECK(require_error(stream.ref().call_on_host([&] { ran = true; })).code ==
          Errc::out_of_memory);
    CHECK_FALSE(ran);
}

TEST_CASE("event: recording on another device's stream is refused") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const auto event = require(machine.device(0).create_event());
    const auto stream = require(machine.device(1).create_stream());
    const auto error = require_error(event.record(stream));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(error.message == "The event belongs to device 0, but the stream belongs to device 1.");
    require(stream.ref().wait(event));  // Waiting across devices works.
}

TEST_CASE("stream: a host function is destroyed once it has run, and when the driver refuses it") {
    FakeMachine machine;
    const auto stream = require(machine.device().create_stream());
    const auto token = std::make_shared<int>(0);
    require(stream.call_on_host([token] { ++*token; }));
    CHECK(*token == 1);
    CHECK(token.use_count() == 1);
    machine.driver.fail_always("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_FALSE(stream.call_on_host([token] { ++*token; }));
    CHECK(*token == 1);
    CHECK(token.use_count() == 1);
}

TEST_CASE("stream: the stream itself has the calls of its view") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto event = require(device.create_event());
    require(event.record(stream));
    require(stream.wait(event));
    CHECK(require(stream.is_idle()));
    CHECK_FALSE(require(stream.is_capturing()));
    const auto priorities = require(stream_priorities(device));
    CHECK(priorities.greatest <= priorities.least);
    CHECK(require_error(device.create_event({.interprocess = true})).code ==
          Errc::invalid_argument);
}
