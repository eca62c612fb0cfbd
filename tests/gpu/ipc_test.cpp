// Memory, events and pools of other processes.
#include "tests/gpu/support.hpp"
#include "tests/support/second_process.hpp"

#include <cstdint>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

using Increment = void(std::uint32_t*, std::uint32_t);

constexpr std::uint32_t shared_elements = 100'000;
constexpr const char* handles_variable = "LODE_TEST_HANDLES";

struct IpcHandles {
    IpcMemoryHandle memory;
    IpcEventHandle event;
};

Kernel<Increment> increment_on(const Device& device) {
    return load<Increment>(device, R"(
extern "C" __global__ void k(unsigned* to, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += 1;
}
)");
}

struct LentBuffer {
    int pool = -1;
    PoolMemoryHandle buffer;
};

bool shares_pools(const Device& device) {
    const int types =
        require(device_attribute(device, DeviceAttribute::mempool_supported_handle_types));
    return device.properties().memory_pools &&
           (types & int{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != 0;
}

bool shares_events(const Device& device) {
    return require(device_attribute(device, DeviceAttribute::ipc_event_supported)) != 0;
}

}  // namespace

TEST_CASE("ipc: another process works on part of a buffer after an event") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(shares_events(device), "the device can't share events with other processes");
    const auto stream = require(device.create_stream());
    const auto increment = increment_on(device);
    auto buffer = require(device.alloc<std::uint32_t>(2 * shared_elements));
    const auto event = require(device.create_event({.timing = false, .interprocess = true}));
    require(buffer.fill_async(stream, 5U));
    require(increment.launch(stream, cover(shared_elements), buffer, shared_elements));
    require(event.record(stream));
    const auto half = require(buffer.span().first(shared_elements));
    pass_on(handles_variable,
            IpcHandles{require(IpcMemoryHandle::of(half)), require(IpcEventHandle::of(event))});
    CHECK(SecondProcess("ipc: the second process").wait() == 0);
    std::vector<std::uint32_t> expected(2 * shared_elements, 5);
    std::fill_n(expected.begin(), shared_elements, 7U);
    CHECK(require(buffer.to_vector()) == expected);
    require(event.sync());
}

TEST_CASE("ipc: the second process" * doctest::skip()) {
    const auto handles = passed_on<IpcHandles>(handles_variable);
    if (!handles) return;
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer = require(IpcBuffer<std::uint32_t>::open(device, handles->memory));
    CHECK(buffer.size() == shared_elements);
    const auto event = require(handles->event.open(device));
    const auto stream = require(device.create_stream());
    require(stream.wait(event));
    require(increment_on(device).launch(stream, cover(shared_elements), buffer.span(),
                                        shared_elements));
    require(event.record(stream));
    require(event.sync());
}

TEST_CASE("ipc: a handle isn't opened by the process that made it") {
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer = require(device.alloc<std::uint32_t>(100));
    const auto handle = require(IpcMemoryHandle::of(buffer));
    const auto opened = IpcBuffer<std::uint32_t>::open(device, handle);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == Errc::invalid_argument);
    CHECK_CONTAINS(opened.error().message, "was made by this process");
    CHECK_FALSE(IpcEventHandle::of(require(device.create_event())));
}

TEST_CASE("ipc: another process works on a buffer of a pool") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(shares_pools(device), "the device can't share pools with other processes");
    const auto stream = require(device.create_stream());
    const auto pool = require(MemoryPool::create(device, {.shareable = true}));
    auto buffer = require(pool.allocate<std::uint32_t>(stream, shared_elements));
    require(buffer.span().fill_async(stream, 5U));
    require(stream.sync());
    const LentBuffer lent{require(pool.export_descriptor()), require(pool.export_buffer(buffer))};
    REQUIRE(::fcntl(lent.pool, F_SETFD, 0) == 0);
    pass_on(handles_variable, lent);
    CHECK(SecondProcess("ipc: the borrower").wait() == 0);
    CHECK(::close(lent.pool) == 0);
    CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(shared_elements, 6));
    CHECK_FALSE(require(MemoryPool::create(device)).export_descriptor());
}

TEST_CASE("ipc: the borrower" * doctest::skip()) {
    const auto lent = passed_on<LentBuffer>(handles_variable);
    if (!lent) return;
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    const auto pool = require(MemoryPool::import(device, lent->pool));
    {
        auto buffer = require(pool.import_buffer<std::uint32_t>(stream, lent->buffer));
        CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(shared_elements, 5));
        require(increment_on(device).launch(stream, cover(shared_elements), buffer.span(),
                                            shared_elements));
    }
    require(stream.sync());
    CHECK_FALSE(pool.allocate<int>(stream, 4));
}
