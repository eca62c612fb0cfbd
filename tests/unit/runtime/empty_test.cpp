// Empty objects: members before they are set, and after a move or a release.
#include "tests/unit/runtime/support.hpp"

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

using Saxpy = void(float, const float*, float*, int);

/// A host's class whose members are set later.
struct Host {
    Library library;
    Kernel<Saxpy> kernel;
    UntypedKernel untyped;
    Stream stream;
    Event event;
    DeviceBuffer<float> buffer;
    PinnedBuffer<float> pinned;
};

Host full_host(const Device& device) {
    Host host;
    host.library = require(device.load(cubin_image({saxpy_entry})));
    host.kernel = require(host.library.kernel<Saxpy>("saxpy"));
    host.untyped = require(host.library.kernel("saxpy"));
    host.stream = require(device.create_stream());
    host.event = require(device.create_event());
    host.buffer = require(device.alloc<float>(4));
    host.pinned = require(device.alloc_pinned<float>(4));
    return host;
}

template <class T>
void check_refused(Result<T> result, std::string_view what) {
    const Error error = require_error(std::move(result));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "The " + std::string(what) + " is empty: ");
}

/// Tries everything with each empty object, while all others are there.
void check_empty(Host& empty, Host& full) {
    CHECK_FALSE(empty.library);
    CHECK_FALSE(empty.kernel);
    CHECK_FALSE(empty.untyped);
    CHECK_FALSE(empty.stream);
    CHECK_FALSE(empty.event);
    CHECK_FALSE(empty.buffer);
    CHECK_FALSE(empty.pinned);

    int value = 0;
    check_refused(empty.library.kernel_names(), "library");
    check_refused(empty.library.kernel("saxpy"), "library");
    check_refused(empty.library.kernel<Saxpy>("saxpy"), "library");
    check_refused(empty.library.global("table"), "library");
    check_refused(empty.library.write_global("table", &value, sizeof(value)), "library");
    check_refused(empty.library.read_global("table", &value, sizeof(value)), "library");
    CHECK(empty.library.image() == Image{});
    CHECK(empty.library.load_log().empty());
    CHECK(empty.library.native() == nullptr);

    const auto& x = full.buffer;
    for (const LaunchShape& shape :
         {LaunchShape{}, LaunchShape{.block = {0}}, LaunchShape{.block = {65536, 65536}},
          LaunchShape{.cooperative = true}, cover(1000)}) {
        const StreamRef streams[] = {full.stream, empty.stream};
        for (const StreamRef& stream : streams) {
            check_refused(empty.kernel.launch(stream, shape, 1.0F, x, x, 4), "kernel");
            check_refused(empty.kernel.launch(stream, shape, 1.0F, nullptr, nullptr, 4), "kernel");
            check_refused(empty.untyped.launch(stream, shape, std::span<void*>{}), "kernel");
            check_refused(empty.untyped.launch(stream, shape, PackedArguments{}), "kernel");
        }
        check_refused(full.kernel.launch(empty.stream, shape, 1.0F, x, x, 4), "stream");
    }
    check_refused(full.kernel.launch(full.stream, cover(4), 1.0F, x, empty.buffer, 4),
                  "buffer at argument 3 of kernel 'saxpy'");
    CHECK(empty.kernel.name().empty());
    CHECK(empty.kernel.attributes().registers == 0);
    CHECK(empty.untyped.symbol().empty());
    CHECK(empty.untyped.native() == nullptr);
    check_refused(empty.untyped.parameters(), "kernel");
    check_refused(empty.untyped.preload(), "kernel");
    check_refused(empty.untyped.occupancy(1), "kernel");
    check_refused(empty.untyped.suggest_block_size(), "kernel");
    check_refused(Kernel<Saxpy>::from_untyped(empty.untyped), "kernel");

    CHECK(empty.stream.native() == nullptr);
    check_refused(empty.stream.sync(), "stream");
    check_refused(empty.stream.ref().is_idle(), "stream");
    check_refused(empty.stream.ref().is_capturing(), "stream");
    check_refused(empty.stream.ref().call_on_host([] {}), "stream");
    check_refused(empty.stream.ref().wait(full.event), "stream");
    check_refused(full.stream.ref().wait(empty.event), "event");

    CHECK(empty.event.native() == nullptr);
    check_refused(empty.event.record(full.stream), "event");
    check_refused(full.event.record(empty.stream), "stream");
    check_refused(empty.event.sync(), "event");
    check_refused(empty.event.is_done(), "event");
    check_refused(empty.event.elapsed_ms_since(full.event), "event");
    check_refused(full.event.elapsed_ms_since(empty.event), "event at the start");

    CHECK(empty.buffer.empty());
    CHECK(empty.buffer.data() == nullptr);
    std::array<float, 1> host{};
    const std::span<float> nothing;
    for (const auto& range : {std::span<float>(host), nothing}) {
        check_refused(empty.buffer.copy_from(range), "buffer");
        check_refused(empty.buffer.copy_to(range), "buffer");
        check_refused(empty.buffer.copy_from_async(full.stream, range), "buffer");
        check_refused(empty.buffer.copy_to_async(full.stream, range), "buffer");
        check_refused(full.buffer.copy_from_async(empty.stream, range), "stream");
        check_refused(full.buffer.copy_to_async(empty.stream, range), "stream");
    }
    check_refused(empty.buffer.to_vector(), "buffer");
    check_refused(DeviceBuffer<bool>().to_vector(), "buffer");
    check_refused(empty.buffer.copy_from(full.buffer), "buffer");
    check_refused(empty.buffer.copy_from_async(full.stream, full.buffer), "buffer");
    check_refused(full.buffer.copy_from(empty.buffer), "buffer to copy from");
    check_refused(full.buffer.copy_from_async(full.stream, empty.buffer), "buffer to copy from");
    check_refused(full.buffer.copy_from_async(empty.stream, full.buffer), "stream");
    check_refused(empty.buffer.fill(1.0F), "buffer");
    check_refused(empty.buffer.zero(), "buffer");
    check_refused(empty.buffer.fill_async(full.stream, 1.0F), "buffer");
    check_refused(empty.buffer.zero_async(full.stream), "buffer");
    check_refused(full.buffer.zero_async(empty.stream), "stream");

    CHECK(empty.pinned.size() == 0);
    CHECK(empty.pinned.data() == nullptr);
    CHECK(empty.pinned.begin() == empty.pinned.end());
    CHECK(empty.pinned.span().empty());
}

}  // namespace

TEST_CASE("empty: a default-constructed object refuses every use with a clear error") {
    FakeMachine machine;
    Host full = full_host(machine.device());
    Host empty;
    check_empty(empty, full);
    CHECK(machine.driver.calls("cuLaunchKernel") == 0);
    CHECK(machine.driver.calls("cuLaunchKernelEx") == 0);
}

TEST_CASE("empty: so does a moved-from object, until another is moved onto it") {
    static_assert(std::is_nothrow_move_constructible_v<Host>);
    static_assert(std::is_nothrow_move_assignable_v<Host>);
    FakeMachine machine;
    Host source = full_host(machine.device());
    Host full = std::move(source);
    check_empty(source, full);  // NOLINT(bugprone-use-after-move): tested here.
    source = std::move(full);
    check_empty(full, source);  // NOLINT(bugprone-use-after-move)
    CHECK(source.library);
    CHECK(source.kernel);
    CHECK(source.untyped);
    CHECK(source.stream);
    CHECK(source.event);
    CHECK(source.buffer);
    CHECK(source.pinned);
    require(source.kernel.launch(source.stream, cover(4), 1.0F, source.buffer, source.buffer, 4));
    require(source.stream.sync());
    auto& same = source;
    source = std::move(same);
    require(source.kernel.launch(source.stream, cover(4), 1.0F, source.buffer, source.buffer, 4));
}

TEST_CASE("empty: a copied kernel stays usable when its original is moved from") {
    FakeMachine machine;
    Host host = full_host(machine.device());
    const auto copy = host.kernel;
    const auto moved = std::move(host.kernel);
    CHECK(copy);
    CHECK(moved);
    CHECK_FALSE(host.kernel);  // NOLINT(bugprone-use-after-move)
    host.kernel = copy;
    require(host.kernel.launch(host.stream, cover(4), 1.0F, host.buffer, host.buffer, 4));
    CHECK(host.kernel.name() == "saxpy");
}

TEST_CASE("empty: a released object is empty, and its handle lives on") {
    FakeMachine machine;
    Host host = full_host(machine.device());
    CHECK(std::move(host.stream).release() != nullptr);
    CHECK(std::move(host.event).release() != nullptr);
    CHECK(std::move(host.buffer).release() != 0);
    // NOLINTBEGIN(bugprone-use-after-move)
    check_refused(host.stream.sync(), "stream");
    check_refused(host.event.sync(), "event");
    check_refused(host.buffer.zero(), "buffer");
    // NOLINTEND(bugprone-use-after-move)
    CHECK(machine.driver.calls("cuStreamDestroy") == 0);
    CHECK(machine.driver.calls("cuEventDestroy") == 0);
    CHECK(machine.driver.calls("cuMemFree") == 0);
    CHECK(std::move(Host().stream).release() == nullptr);
}

TEST_CASE("empty: a buffer of zero elements isn't empty in this sense") {
    FakeMachine machine;
    const Host host = full_host(machine.device());
    auto none = require(machine.device().alloc<float>(0));
    CHECK(none);
    CHECK(none.zero());
    CHECK(require(none.to_vector()).empty());
    CHECK(host.kernel.launch(host.stream, cover(4), 1.0F, none, none, 0));
    CHECK(require(machine.device().alloc_pinned<int>(0)));
}
