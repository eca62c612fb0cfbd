// Sharing with other processes and APIs where the driver can't, and with empty objects.
#include "tests/unit/runtime/support.hpp"

#include <lode/runtime/external.hpp>
#include <lode/runtime/ipc.hpp>
#include <lode/runtime/memory_pool.hpp>

#include <unistd.h>

using namespace lode;
using namespace lode::test;

TEST_CASE("ipc: a driver without handles is not_supported, and the error names the call") {
    const FakeMachine machine;
    const Device device = machine.device();
    const auto buffer = require(device.alloc<int>(10));
    const auto event = require(device.create_event({.timing = false, .interprocess = true}));
    const auto refused = [](const Error& error, const char* call) {
        CHECK(error.code == Errc::not_supported);
        CHECK_CONTAINS(error.message, call);
    };
    refused(require_error(IpcMemoryHandle::of(buffer)), "cuIpcGetMemHandle");
    refused(require_error(IpcBuffer<int>::open(device, {{}, 0, 4})), "cuIpcOpenMemHandle");
    refused(require_error(IpcEventHandle::of(event)), "cuIpcGetEventHandle");
    refused(require_error(IpcEventHandle().open(device)), "cuIpcOpenEventHandle");
    refused(require_error(ExternalMemory::import(device, STDIN_FILENO, 4)),
            "cuImportExternalMemory");
    refused(require_error(ExternalSemaphore::import(device, STDIN_FILENO)),
            "cuImportExternalSemaphore");
}

TEST_CASE("ipc: empty objects are refused") {
    const FakeMachine machine;
    IpcBuffer<int> buffer;
    CHECK_FALSE(buffer);
    CHECK(buffer.size() == 0);
    CHECK(buffer.data() == nullptr);
    CHECK(require_error(buffer.span().zero()).code == Errc::invalid_argument);
    CHECK(require_error(IpcEventHandle::of(Event())).code == Errc::invalid_argument);
    CHECK(require_error(IpcMemoryHandle::of(DeviceBuffer<int>())).code == Errc::invalid_argument);
    const ExternalMemory memory;
    CHECK_FALSE(memory);
    CHECK(require_error(memory.span<int>(0, 1)).code == Errc::invalid_argument);
    const auto stream = require(machine.device().create_stream());
    const ExternalSemaphore semaphore;
    CHECK_FALSE(semaphore);
    CHECK(require_error(semaphore.wait_async(stream, 1)).code == Errc::invalid_argument);
    CHECK(require_error(semaphore.signal_async(stream, 1)).code == Errc::invalid_argument);
    const MemoryPool pool;
    CHECK(require_error(pool.export_descriptor()).code == Errc::invalid_argument);
    CHECK(require_error(pool.export_buffer(AsyncBuffer<int>())).code == Errc::invalid_argument);
    CHECK(require_error(pool.import_buffer<int>(stream, {})).code == Errc::invalid_argument);
}
