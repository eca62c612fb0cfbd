#include "tests/unit/runtime/support.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

/// What a view of an empty buffer and a default-constructed span answer.
void check_no_memory(const Status& status) {
    const Error error = require_error(status);
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "is empty: it was default-constructed");
}

/// Checks that a call is refused with all of these parts in its message.
template <class T>
void check_span_refused(const Result<T>& result, std::initializer_list<std::string_view> parts) {
    const Error error = require_error(result);
    CHECK(error.code == Errc::invalid_argument);
    for (const auto part : parts)
        CHECK_CONTAINS(error.message, part);
}

std::vector<int> read_only(DeviceSpan<const int> span) {
    return require(span.to_vector());
}

}  // namespace

TEST_CASE("device span: a buffer converts to a view of its elements") {
    static_assert(std::is_trivially_copyable_v<DeviceSpan<float>>);
    static_assert(std::is_convertible_v<DeviceSpan<float>, DeviceSpan<const float>>);
    static_assert(!std::is_convertible_v<DeviceSpan<const float>, DeviceSpan<float>>);
    static_assert(!std::is_convertible_v<DeviceSpan<float>, DeviceSpan<int>>);
    static_assert(std::is_convertible_v<DeviceBuffer<float>&, DeviceSpan<float>>);
    static_assert(std::is_convertible_v<DeviceBuffer<float>&, DeviceSpan<const float>>);
    static_assert(!std::is_convertible_v<const DeviceBuffer<float>&, DeviceSpan<float>>);
    FakeMachine machine;
    auto buffer = require(machine.device().upload({1, 2, 3}));
    const DeviceSpan<int> span = buffer;
    const DeviceSpan<const int> constant(span);
    CHECK(span.size() == 3);
    CHECK(span.size_bytes() == 12);
    CHECK_FALSE(span.empty());
    CHECK(span.data() == buffer.data());
    CHECK(constant.native() == buffer.native());
    CHECK(span.owner() == buffer.owner());
    CHECK(read_only(buffer) == std::vector{1, 2, 3});
    CHECK(read_only(std::as_const(buffer)) == std::vector{1, 2, 3});
    CHECK(read_only(span) == std::vector{1, 2, 3});
}

TEST_CASE("device span: parts have bounds") {
    FakeMachine machine;
    auto buffer = require(machine.device().upload({1, 2, 3, 4, 5}));
    const auto span = buffer.span();
    CHECK(read_only(require(span.subspan(1, 2))) == std::vector{2, 3});
    CHECK(read_only(require(span.subspan(3))) == std::vector{4, 5});
    CHECK(read_only(require(span.first(2))) == std::vector{1, 2});
    CHECK(read_only(require(span.last(2))) == std::vector{4, 5});
    CHECK(require(span.subspan(5)).empty());
    CHECK(require(span.last(0)).native() == span.native() + 20);
    check_span_refused(span.subspan(1, 5), {"5 elements from offset 1", "span (5 elements)"});
    check_span_refused(span.subspan(6), {"from offset 6"});
    check_span_refused(span.subspan(6, 0), {"0 elements from offset 6"});
    check_span_refused(span.subspan(2, SIZE_MAX - 1), {"from offset 2"});
    check_span_refused(span.first(6), {"6 elements from offset 0"});
    check_span_refused(span.last(6), {"6 elements from offset 0"});
}

TEST_CASE("device span: copies and fills of parts leave the rest alone") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.upload({1, 2, 3, 4, 5, 6}));
    auto other = require(device.upload({7, 8}));
    const auto middle = require(buffer.span().subspan(2, 2));
    const std::array host{9, 10};
    std::array<int, 2> back{};
    for (const bool later : {false, true}) {
        require(later ? middle.copy_from_async(stream, host) : middle.copy_from(host));
        CHECK(require(buffer.to_vector()) == std::vector{1, 2, 9, 10, 5, 6});
        require(later ? middle.copy_from_async(stream, other) : middle.copy_from(other));
        CHECK(require(buffer.to_vector()) == std::vector{1, 2, 7, 8, 5, 6});
        require(later ? middle.copy_to_async(stream, back) : middle.copy_to(back));
        CHECK(back == std::array{7, 8});
        require(later ? middle.fill_async(stream, 3) : middle.fill(3));
        CHECK(require(buffer.to_vector()) == std::vector{1, 2, 3, 3, 5, 6});
        require(later ? middle.zero_async(stream) : middle.zero());
        CHECK(require(buffer.to_vector()) == std::vector{1, 2, 0, 0, 5, 6});
    }
    require(buffer.copy_from(middle));  // A buffer accepts a shorter span.
    CHECK(require(buffer.to_vector()) == std::vector{0, 0, 0, 0, 5, 6});
}

TEST_CASE("device span: copies between different sizes are refused with both sizes") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.upload({1, 2, 3}));
    auto shorter = require(device.upload({4, 5}));
    const auto span = buffer.span();
    std::array<int, 2> host{};
    const auto calls = machine.driver.calls("cuMemcpyHtoD");
    for (const Status& status :
         {span.copy_from(host), span.copy_from_async(stream, host), span.copy_to(host),
          span.copy_to_async(stream, host), span.copy_from(shorter),
          span.copy_from_async(stream, shorter), shorter.span().copy_from(span),
          shorter.span().copy_from_async(stream, span)}) {
        check_span_refused(status, {"2 elements", "3 elements", "differs"});
    }
    CHECK(machine.driver.calls("cuMemcpyHtoD") == calls);
    CHECK(require(buffer.to_vector()) == std::vector{1, 2, 3});
}

TEST_CASE("device span: reinterpret checks size and alignment") {
    FakeMachine machine;
    auto buffer = require(machine.device().upload({0x04030201, 0x08070605, 0}));
    const auto span = buffer.span();
    const auto bytes = require(span.reinterpret<const unsigned char>());
    CHECK(bytes.size() == 12);
    CHECK(require(require(bytes.subspan(3, 2)).to_vector()) == std::vector<unsigned char>{4, 5});
    CHECK(require(require(span.first(2)).reinterpret<double>()).size() == 1);
    check_span_refused(span.reinterpret<double>(), {"12 bytes", "elements of 8 bytes"});
    const auto odd = require(bytes.subspan(1, 4));
    check_span_refused(odd.reinterpret<const int>(), {"isn't aligned to the 4 bytes"});
}

TEST_CASE("device span: native addresses are checked") {
    FakeMachine machine;
    const Device device = machine.device();
    auto buffer = require(device.upload({1, 2, 3}));
    const auto foreign = require(DeviceSpan<int>::from_native(device, buffer.native() + 4, 2));
    CHECK(foreign.owner() == buffer.owner());
    CHECK(read_only(foreign) == std::vector{2, 3});
    CHECK(require(DeviceSpan<int>::from_native(device, 0, 0)).empty());
    check_span_refused(DeviceSpan<int>::from_native(device, 0, 1), {"null address", "1 elements"});
    check_span_refused(DeviceSpan<int>::from_native(device, buffer.native() + 2, 1),
                       {"isn't aligned to the 4 bytes"});
    check_span_refused(DeviceSpan<int>::from_native(device, buffer.native(), SIZE_MAX / 4),
                       {"exceed the address space"});
}

TEST_CASE("device span: a span of no particular device is copied on a stream") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.upload({1, 2}));
    auto other = require(device.upload({5, 6}));
    const auto span = require(DeviceSpan<int>::from_native(buffer.native(), 2));
    CHECK(span.owner() == nullptr);
    std::array<int, 2> host{3, 4};
    require(span.copy_from_async(stream, host));
    CHECK(require(buffer.to_vector()) == std::vector{3, 4});
    require(span.copy_from_async(stream, other));
    require(span.copy_to_async(stream, host));
    CHECK(host == std::array{5, 6});
    require(span.fill_async(stream, 7));
    require(other.copy_from(span));  // The other side's device does the work.
    CHECK(require(other.to_vector()) == std::vector{7, 7});
    for (const Status& status : {span.copy_from(host), span.copy_to(host), span.fill(1),
                                 span.zero(), span.copy_from(span)})
        check_span_refused(status, {"only on a stream"});
}

TEST_CASE("device span: a span without memory is refused everywhere") {
    FakeMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto full = require(device.upload({1}));
    DeviceBuffer<int> empty;
    std::array<int, 0> host{};
    for (const auto span : {DeviceSpan<int>(), empty.span()}) {
        check_no_memory(span.copy_from(host));
        check_no_memory(span.copy_to(host));
        check_no_memory(span.copy_from_async(stream, host));
        check_no_memory(span.fill(1));
        check_no_memory(span.zero_async(stream));
        check_no_memory(require(full.span().first(0)).copy_from(span));
    }
    check_no_memory(require(full.span().first(0)).zero_async(StreamRef(Stream())));
}

TEST_CASE("device span: a launch accepts spans for pointers and checks their device") {
    FakeDriver::Options options;
    options.devices.resize(2);
    FakeMachine machine(options);
    const Device device = machine.device(1);
    const auto library = require(device.load(cubin_image({saxpy_entry})));
    const auto kernel = require(library.kernel<void(float, const float*, float*, int)>("saxpy"));
    const auto stream = require(device.create_stream());
    auto buffer = require(device.upload(std::vector<float>(8)));
    const auto half = require(buffer.span().subspan(4));
    const DeviceSpan<const float> constant = half;
    CHECK(kernel.launch(stream, cover(4), 2.0F, half, half, 4));
    CHECK(kernel.launch(stream, cover(4), 2.0F, constant, buffer, 4));
    const auto anywhere = require(DeviceSpan<float>::from_native(buffer.native(), 8));
    CHECK(kernel.launch(stream, cover(4), 2.0F, anywhere, half, 4));
    CHECK(kernel.launch(stream, cover(4), 2.0F, require(half.first(0)), half, 0));

    auto there = require(machine.device(0).upload(std::vector<float>(4)));
    check_span_refused(kernel.launch(stream, cover(4), 2.0F, half, there.span(), 4),
                       {"Argument 3 of kernel 'saxpy' is memory of device 0 ("});
    check_no_memory(kernel.launch(stream, cover(4), 2.0F, DeviceSpan<float>(), half, 4));
}

TEST_CASE("device span: packed arguments hold its address") {
    FakeMachine machine;
    auto buffer = require(machine.device().upload({1, 2}));
    PackedArguments arguments;
    require(arguments.add(buffer.span()));
    CHECK(arguments.size_bytes() == sizeof(int*));
    NativeDevicePointer address = 0;
    std::memcpy(&address, arguments.data(), sizeof(address));
    CHECK(address == buffer.native());
}
