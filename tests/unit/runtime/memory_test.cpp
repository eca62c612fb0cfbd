#include "tests/unit/runtime/support.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// Counts the calls that keep the order.
struct Order {
    explicit Order(const FakeDriver& fake)
        : device_waits(fake.calls("cuCtxSynchronize")),
          stream_waits(fake.calls("cuStreamSynchronize")) {}
    std::size_t device_waits;
    std::size_t stream_waits;
};

}  // namespace

TEST_CASE("memory: a round trip, whole and in part") {
    FakeMachine machine;
    const Device device = machine.device();
    auto buffer = require(device.upload(std::vector<int>{1, 2, 3, 4}));
    const std::vector<int> two{8, 9};
    require(buffer.copy_from(two));
    CHECK(require(buffer.to_vector()) == std::vector<int>{8, 9, 3, 4});
    std::array<int, 3> part{};
    require(buffer.copy_to(part));
    CHECK(part == std::array{8, 9, 3});
    CHECK(buffer.size_bytes() == 16);
}

TEST_CASE("memory: any contiguous range can be uploaded and copied") {
    FakeMachine machine;
    const Device device = machine.device();
    const std::vector<int> expected{1, 2, 3};
    std::vector<int> vector{1, 2, 3};
    std::array<int, 3> array{1, 2, 3};
    const std::array<int, 3> constant{1, 2, 3};
    int plain[] = {1, 2, 3};
    const int plain_constant[] = {1, 2, 3};
    auto pinned = require(device.alloc_pinned<int>(3));
    std::ranges::copy(expected, pinned.begin());
    auto buffer = require(device.alloc<int>(3));
    const auto stream = require(device.create_stream());
    const auto check = [&](auto& range) {
        CHECK(require(require(device.upload(range)).to_vector()) == expected);
        for (const bool later : {false, true}) {
            require(buffer.zero());
            require(later ? buffer.copy_from_async(stream, range) : buffer.copy_from(range));
            CHECK(require(buffer.to_vector()) == expected);
        }
    };
    const auto check_back = [&](auto& range) {
        for (const bool later : {false, true}) {
            require(buffer.copy_from(expected));
            std::ranges::fill(range, 0);
            require(later ? buffer.copy_to_async(stream, range) : buffer.copy_to(range));
            CHECK(std::ranges::equal(range, expected));
        }
    };
    check(expected);
    check(constant);
    check(plain_constant);
    check(vector);
    check_back(vector);
    check(array);
    check_back(array);
    check(plain);
    check_back(plain);
    check(pinned);
    check_back(pinned);

    CHECK(require(require(device.upload(pinned.span())).to_vector()) == expected);
    CHECK(require(require(device.upload(std::span(vector))).to_vector()) == expected);
    CHECK(require(require(device.upload(std::array{1, 2, 3})).to_vector()) == expected);
    CHECK(require(require(device.upload({1, 2, 3})).to_vector()) == expected);
    CHECK(require(require(device.upload<int>(vector)).to_vector()) == expected);
    CHECK(require(require(device.upload<int>({1, 2, 3})).to_vector()) == expected);
    require(buffer.copy_from(std::array{7, 8, 9}));  // A synchronous copy accepts a temporary.
    require(buffer.copy_from_async(stream, {vector.data(), 2}));
    CHECK(require(buffer.to_vector()) == std::vector<int>{1, 2, 9});
}

TEST_CASE("memory: a buffer of bool has a byte for each element") {
    FakeMachine machine;
    const Device device = machine.device();
    const std::vector<bool> expected{true, false, true};
    auto buffer = require(device.upload(expected));
    static_assert(std::is_same_v<decltype(buffer), DeviceBuffer<bool>>);
    CHECK(buffer.size_bytes() == 3);
    CHECK(require(buffer.to_vector()) == expected);
    CHECK(require(require(device.upload({false, true})).to_vector()) ==
          std::vector<bool>{false, true});
    require(buffer.fill(true));
    require(buffer.copy_from(std::array{false}));
    std::array<bool, 3> back{};
    require(buffer.copy_to(back));
    CHECK(back == std::array{false, true, true});
    CHECK(require(require(device.upload(std::vector<bool>{})).to_vector()).empty());
}

TEST_CASE("memory: an empty buffer has no address and takes empty copies") {
    FakeMachine machine;
    const Device device = machine.device();
    auto empty = require(device.alloc<double>(0));
    CHECK(empty.empty());
    CHECK(empty.data() == nullptr);
    CHECK(empty.copy_from(std::vector<double>{}));
    CHECK(empty.zero());
    CHECK(require(empty.to_vector()).empty());
    CHECK(machine.driver.calls("cuMemAlloc") == 0);
    const auto error = require_error(empty.copy_from(std::vector<double>{1}));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "(1 elements) exceeds the buffer (0 elements)");
}

TEST_CASE("memory: waiting copies keep order with non-blocking streams") {
    FakeMachine machine;
    const Device device = machine.device();
    auto buffer = require(device.alloc<int>(2));
    auto other = require(device.alloc<int>(2));
    std::array<int, 2> host{};
    const auto check = [&](const auto& copy) {
        const Order before(machine.driver);
        require(copy());
        const Order after(machine.driver);
        CHECK(after.device_waits == before.device_waits + 1);
        CHECK(after.stream_waits == before.stream_waits + 1);
    };
    check([&] { return buffer.copy_from(host); });
    check([&] { return buffer.copy_to(host); });
    check([&] { return buffer.copy_from(other); });
    check([&] { return buffer.fill(3); });
    check([&] { return buffer.zero(); });
}

TEST_CASE("memory: asynchronous copies don't wait") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.alloc<int>(2));
    auto other = require(device.upload(std::vector<int>{5, 6}));
    const auto pinned = require(device.alloc_pinned<int>(2));
    const Order before(machine.driver);
    require(buffer.copy_from_async(stream, other));
    require(buffer.copy_to_async(stream, pinned.span()));
    CHECK(pinned[0] == 5);
    CHECK(pinned[1] == 6);
    const std::vector<int> seven{7};
    require(buffer.copy_from_async(stream, seven));
    require(buffer.fill_async(stream, 4));
    require(buffer.zero_async(stream));
    const Order after(machine.driver);
    CHECK(after.device_waits == before.device_waits);
    CHECK(after.stream_waits == before.stream_waits);
    CHECK(require(buffer.to_vector()) == std::vector<int>{0, 0});
}

TEST_CASE("memory: fills set elements of 1, 2 and 4 bytes") {
    FakeMachine machine;
    const Device device = machine.device();
    auto bytes = require(device.alloc<char>(3));
    require(bytes.fill('x'));
    CHECK(require(bytes.to_vector()) == std::vector{'x', 'x', 'x'});
    auto halves = require(device.alloc<std::int16_t>(2));
    require(halves.fill(-2));
    CHECK(require(halves.to_vector()) == std::vector<std::int16_t>{-2, -2});
    auto floats = require(device.alloc<float>(2));
    require(floats.fill(1.5F));
    CHECK(require(floats.to_vector()) == std::vector{1.5F, 1.5F});
    auto doubles = require(device.upload(std::vector{1.0, 2.0}));
    require(doubles.zero());
    CHECK(require(doubles.to_vector()) == std::vector{0.0, 0.0});
}

TEST_CASE("memory: copies between devices name both contexts") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}}});
    const auto on_a = require(machine.device(0).upload(std::vector<int>{1, 2}));
    auto on_b = require(machine.device(1).alloc<int>(2));
    require(on_b.copy_from(on_a));
    CHECK(machine.driver.calls("cuMemcpyPeer") == 1);
    CHECK(require(on_b.to_vector()) == std::vector<int>{1, 2});
    require(on_b.zero());
    for (const int ordinal : {0, 1}) {  // A stream of either device works.
        const auto stream = require(machine.device(ordinal).create_stream());
        require(on_b.copy_from_async(stream, on_a));
    }
    CHECK(machine.driver.calls("cuMemcpyPeerAsync") == 2);
    CHECK(require(on_b.to_vector()) == std::vector<int>{1, 2});
}

TEST_CASE("memory: a stream of another device is refused") {
    FakeMachine machine({.devices = {{.name = "A"}, {.name = "B"}, {.name = "C"}}});
    auto on_a = require(machine.device(0).alloc<int>(2));
    auto on_b = require(machine.device(1).alloc<int>(2));
    const auto stream = require(machine.device(2).create_stream());
    std::array<int, 2> host{};
    for (const Status& status :
         {on_a.copy_from_async(stream, host), on_a.copy_to_async(stream, host),
          on_a.zero_async(stream), on_a.copy_from_async(stream, on_b)}) {
        REQUIRE_FALSE(status);
        CHECK(status.error().code == Errc::invalid_argument);
        CHECK_CONTAINS(status.error().message, "but the stream belongs to device 2");
    }
}

TEST_CASE("memory: buffers of two drivers don't mix") {
    FakeMachine one;
    FakeMachine two;
    auto here = require(one.device().alloc<int>(1));
    const auto there = require(two.device().alloc<int>(1));
    CHECK(require_error(here.copy_from(there)).code == Errc::invalid_argument);
}
