// A launch checks the devices of the buffers among its arguments.
#include "tests/unit/runtime/support.hpp"

using namespace lode;
using namespace lode::test;

namespace {

using Saxpy = void(float, const float*, float*, int);

Kernel<Saxpy> saxpy_on(const Device& device) {
    const auto library = require(device.load(cubin_image({saxpy_entry})));
    return require(library.kernel<Saxpy>("saxpy"));
}

FakeDriver::Options two_devices() {
    FakeDriver::Options options;
    options.devices.resize(2);
    return options;
}

}  // namespace

TEST_CASE("foreign buffer: a buffer of another device is refused, and both are named") {
    FakeMachine machine(two_devices());
    const Device first = machine.device(0);
    const Device second = machine.device(1);
    const auto kernel = saxpy_on(second);
    const auto stream = require(second.create_stream());
    const auto here = require(second.upload(std::vector<float>(4)));
    const auto there = require(first.upload(std::vector<float>(4)));
    const auto launches = machine.driver.calls("cuLaunchKernel");
    for (const auto& [status, argument] :
         {std::pair{kernel.launch(stream, cover(4), 2.0F, there, here, 4), 2},
          std::pair{kernel.launch(stream, cover(4), 2.0F, here, there, 4), 3},
          std::pair{kernel.launch(stream, {.cooperative = true}, 2.0F, here, there, 4), 3}}) {
        const Error error = require_error(status);
        CHECK(error.code == Errc::invalid_argument);
        CHECK_CONTAINS(error.message, "Argument " + std::to_string(argument) +
                                          " of kernel 'saxpy' is memory of device 0 (");
        CHECK_CONTAINS(error.message, "but the kernel is loaded on device 1 (");
    }
    CHECK(machine.driver.calls("cuLaunchKernel") == launches);
    CHECK(kernel.launch(stream, cover(4), 2.0F, here, here, 4));
}

TEST_CASE("foreign buffer: a raw pointer isn't checked") {
    FakeMachine machine(two_devices());
    const Device second = machine.device(1);
    const auto kernel = saxpy_on(second);
    const auto stream = require(second.create_stream());
    const auto there = require(machine.device(0).upload(std::vector<float>(4)));
    CHECK(kernel.launch(stream, cover(4), 2.0F, there.data(), there.data(), 4));
}

TEST_CASE("foreign buffer: a buffer of zero elements is accepted on every device") {
    FakeMachine machine(two_devices());
    const Device second = machine.device(1);
    const auto kernel = saxpy_on(second);
    const auto stream = require(second.create_stream());
    const auto empty = require(machine.device(0).alloc<float>(0));
    const auto target = require(second.alloc<float>(4));
    CHECK(kernel.launch(stream, cover(4), 2.0F, empty, target, 0));
}

TEST_CASE("foreign buffer: two runtimes on one driver share their devices' memory") {
    FakeMachine machine(two_devices());
    const auto other = require(Runtime::with_driver(machine.runtime.driver()));
    const Device device = machine.device(1);
    const auto kernel = saxpy_on(device);
    const auto stream = require(device.create_stream());
    const auto same = require(require(other.device(1)).upload(std::vector<float>(4)));
    const auto wrong = require(require(other.device(0)).upload(std::vector<float>(4)));
    CHECK(kernel.launch(stream, cover(4), 2.0F, same, same, 4));
    CHECK_FALSE(kernel.launch(stream, cover(4), 2.0F, same, wrong, 4));
}
