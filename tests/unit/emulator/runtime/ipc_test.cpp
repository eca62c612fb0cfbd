// Memory and events of other processes, on the software device.
#include "tests/support/second_process.hpp"
#include "tests/unit/emulator/runtime/memory_machine.hpp"

#include <lode/lode.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace lode;
using namespace lode::emulator_test;
using namespace lode::test;

namespace {

constexpr const char* memory_variable = "LODE_TEST_IPC_MEMORY";
constexpr const char* event_variable = "LODE_TEST_IPC_EVENT";
constexpr std::uint32_t ipc_count = 3000;

/// Runs one of the test cases below in another process, and waits for it.
int in_another_process(const std::string& test_case) {
    return SecondProcess(test_case).wait();
}

}  // namespace

TEST_CASE("ipc memory: another process works on part of a buffer") {
    const MemoryMachine machine;
    const Device device = machine.device();
    auto before = require(device.alloc<std::uint32_t>(7));
    auto buffer = require(device.alloc<std::uint32_t>(ipc_count));
    auto after = require(device.alloc<std::uint32_t>(7));
    for (auto* const each : {&before, &buffer, &after})
        require(each->fill(5U));
    const auto part = require(buffer.span().subspan(10, 2000));
    const auto handle = require(IpcMemoryHandle::of(part));
    CHECK(handle.offset == 40);
    CHECK(handle.bytes == 8000);
    pass_on(memory_variable, handle);
    CHECK(in_another_process("ipc memory: it adds one") == 0);
    std::vector<std::uint32_t> expected(ipc_count, 5);
    std::fill_n(expected.begin() + 10, 2000, 6U);
    CHECK(require(buffer.to_vector()) == expected);
    CHECK(require(before.to_vector()) == std::vector<std::uint32_t>(7, 5));
    CHECK(require(after.to_vector()) == std::vector<std::uint32_t>(7, 5));

    // The memory is freed and used again as always.
    buffer = {};
    auto again = require(device.alloc<std::uint32_t>(ipc_count));
    require(again.fill(1U));
    CHECK(require(again.to_vector()) == std::vector<std::uint32_t>(ipc_count, 1));
}

TEST_CASE("ipc memory: it adds one" * doctest::skip()) {
    const auto handle = passed_on<IpcMemoryHandle>(memory_variable);
    if (!handle) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    {
        auto buffer = require(IpcBuffer<std::uint32_t>::open(device, *handle));
        CHECK(buffer.size() == 2000);
        CHECK(buffer.size_bytes() == 8000);
        CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(2000, 5));
        const auto stream = require(device.create_stream());
        const auto add_one = load_add_one(device);
        for (std::uint32_t i = 0; i < 2; ++i)
            require(add_one.launch(stream, cover(1000, 1000),
                                   require(buffer.span().subspan(i * 1000, 1000)), 1000U));
        require(stream.sync());

        // The same memory once more, at the same address and as other elements.
        const auto again = require(IpcBuffer<std::uint64_t>::open(device, *handle));
        CHECK(static_cast<const void*>(again.data()) == static_cast<const void*>(buffer.data()));
        CHECK(again.size() == 1000);
        auto moved = std::move(buffer);
        CHECK_FALSE(buffer);
        CHECK(moved);
        CHECK(failure_of(buffer.span().to_vector()).code == Errc::invalid_argument);
        CHECK(live(LODE_EMULATOR_IMPORTS) == 1);
    }
    CHECK(live(LODE_EMULATOR_IMPORTS) == 0);

    struct Odd {
        std::array<char, 3> bytes;
    };
    CHECK(says(failure_of(IpcBuffer<Odd>::open(device, *handle)),
               "8000 bytes, which aren't a whole number of elements of 3 bytes"));
    IpcMemoryHandle wrong = *handle;
    wrong.offset = 12'000 - 7996;
    CHECK(says(failure_of(IpcBuffer<std::uint32_t>::open(device, wrong)),
               "8000 bytes from byte 4004 on, but the allocation has 12000 bytes"));
    wrong.offset = ~std::uint64_t{0} - 7;
    CHECK(failure_of(IpcBuffer<std::uint32_t>::open(device, wrong)).code == Errc::invalid_argument);
    wrong = *handle;
    wrong.offset = 2;
    CHECK(failure_of(IpcBuffer<std::uint32_t>::open(device, wrong)).code == Errc::invalid_argument);
    wrong.bytes = 0;
    CHECK(failure_of(IpcBuffer<char>::open(device, wrong)).code == Errc::invalid_argument);
    for (std::size_t byte = 0; byte < wrong.native.size(); ++byte) {
        CAPTURE(byte);
        wrong = *handle;
        wrong.native[byte] ^= std::byte{1};
        CHECK(failure_of(IpcBuffer<char>::open(device, wrong)).code == Errc::invalid_argument);
    }
}

TEST_CASE("ipc memory: wrong memory has no handle, and a freed buffer's handle is dead") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.alloc<std::uint32_t>(10));
    const auto handle = require(IpcMemoryHandle::of(buffer));
    const auto own = failure_of(IpcBuffer<std::uint32_t>::open(device, handle));
    CHECK(own.code == Errc::invalid_argument);
    CHECK(says(own, "was made by this process"));
    CHECK(says(failure_of(IpcBuffer<char>::open(device, IpcMemoryHandle{{}, 0, 4})),
               "doesn't know the handle of memory"));

    CHECK(failure_of(IpcMemoryHandle::of(DeviceSpan<int>())).code == Errc::invalid_argument);
    CHECK(says(failure_of(IpcMemoryHandle::of(require(buffer.span().first(0)))), "at least one"));
    const auto beyond =
        require(DeviceSpan<std::uint32_t>::from_native(device, buffer.native() + 8, 10));
    CHECK(says(failure_of(IpcMemoryHandle::of(beyond)), "exceeds it"));
    auto temporary = require(AsyncBuffer<int>::allocate(device, stream, 4));
    CHECK(says(failure_of(IpcMemoryHandle::of(temporary.span())), "must be from Device::alloc()"));
    auto managed = require(ManagedBuffer<int>::allocate(device, 4));
    CHECK_FALSE(IpcMemoryHandle::of(managed.span()));

    buffer = {};
    pass_on(memory_variable, handle);
    CHECK(in_another_process("ipc memory: it finds nothing") == 0);
}

TEST_CASE("ipc memory: it finds nothing" * doctest::skip()) {
    const auto handle = passed_on<IpcMemoryHandle>(memory_variable);
    if (!handle) return;
    const MemoryMachine machine;
    const auto error = failure_of(IpcBuffer<std::uint32_t>::open(machine.device(), *handle));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(says(error, "has ended or has destroyed the memory"));
}

TEST_CASE("ipc event: another process's stream waits for the work before a recording") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    auto buffer = require(device.alloc<std::uint32_t>(32));
    require(buffer.zero());
    const auto event = require(device.create_event({.timing = false, .interprocess = true}));
    CHECK(require(event.is_done()));
    require(event.sync());
    pass_on(memory_variable, require(IpcMemoryHandle::of(buffer)));
    pass_on(event_variable, require(IpcEventHandle::of(event)));

    std::atomic<bool> go{false};
    require(stream.call_on_host([&] { go.wait(false); }));
    require(buffer.fill_async(stream, 41U));
    require(event.record(stream));
    CHECK_FALSE(require(event.is_done()));
    SecondProcess other("ipc event: it waits");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    go = true;
    go.notify_all();
    CHECK(other.wait() == 0);
    require(event.sync());
    CHECK(require(event.is_done()));
    CHECK(require(buffer.to_vector()) == std::vector<std::uint32_t>(32, 42));
}

TEST_CASE("ipc event: it waits" * doctest::skip()) {
    const auto memory = passed_on<IpcMemoryHandle>(memory_variable);
    const auto handle = passed_on<IpcEventHandle>(event_variable);
    if (!memory || !handle) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    auto buffer = require(IpcBuffer<std::uint32_t>::open(device, *memory));
    const auto event = require(handle->open(device));
    CHECK_FALSE(event.has_timing());
    CHECK(failure_of(IpcEventHandle::of(event)).code == Errc::invalid_argument);
    const auto stream = require(device.create_stream());
    require(stream.wait(event));
    require(load_add_one(device).launch(stream, cover(32, 32), buffer.span(), 32U));
    require(stream.sync());
    CHECK(require(event.is_done()));

    // It records the event too.
    require(event.record(stream));
    require(event.sync());
}

TEST_CASE("ipc event: a recording of a process that has ended doesn't block") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto event = require(device.create_event({.timing = false, .interprocess = true}));
    pass_on(event_variable, require(IpcEventHandle::of(event)));
    CHECK(in_another_process("ipc event: it ends too early") == 17);
    require(event.sync());
    CHECK(require(event.is_done()));
    const auto stream = require(device.create_stream());
    require(stream.wait(event));
    require(stream.sync());
}

TEST_CASE("ipc event: it ends too early" * doctest::skip()) {
    const auto handle = passed_on<IpcEventHandle>(event_variable);
    if (!handle) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto event = require(handle->open(device));
    const auto stream = require(device.create_stream());
    std::atomic<bool> never{false};
    require(stream.call_on_host([&] { never.wait(false); }));
    require(event.record(stream));
    CHECK_FALSE(require(event.is_done()));
    ::_exit(17);
}

TEST_CASE("ipc event: wrong events and handles are refused") {
    const MemoryMachine machine;
    const Device device = machine.device();
    CHECK(says(failure_of(IpcEventHandle::of(require(device.create_event()))),
               ".interprocess = true"));
    CHECK(failure_of(IpcEventHandle::of(Event())).code == Errc::invalid_argument);
    CHECK(says(failure_of(IpcEventHandle().open(device)), "doesn't know the handle of event"));
    const auto event = require(device.create_event({.timing = false, .interprocess = true}));
    CHECK(says(failure_of(require(IpcEventHandle::of(event)).open(device)),
               "was made by this process"));
}
