// Memory and semaphores that come as file descriptors, and shared pools, on the software device.
#include "tests/support/second_process.hpp"
#include "tests/unit/emulator/runtime/memory_machine.hpp"

#include <lode/lode.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace lode;
using namespace lode::emulator_test;
using namespace lode::test;

namespace {

/// A file in memory, as a graphics API would export it; programs inherit the descriptor.
struct ForeignFile {
    explicit ForeignFile(std::size_t its_bytes) : bytes(its_bytes) {
        descriptor = ::memfd_create("foreign", 0);
        REQUIRE(descriptor >= 0);
        REQUIRE(::ftruncate(descriptor, static_cast<off_t>(bytes)) == 0);
        address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        REQUIRE(address != MAP_FAILED);
    }
    ~ForeignFile() {
        ::munmap(address, bytes);
        ::close(descriptor);
    }
    ForeignFile(const ForeignFile&) = delete;
    ForeignFile& operator=(const ForeignFile&) = delete;
    [[nodiscard]] int duplicate() const { return ::dup(descriptor); }

    std::size_t bytes;
    int descriptor = -1;
    void* address = nullptr;
};

bool is_open(int descriptor) {
    return ::fcntl(descriptor, F_GETFD) >= 0;
}

constexpr const char* external_variable = "LODE_TEST_EXTERNAL";
constexpr const char* pool_variable = "LODE_TEST_POOL";
constexpr std::size_t external_bytes = 10'000;

struct ExternalDescriptors {
    int memory = -1;
    int semaphore = -1;
};

struct PoolMessage {
    int descriptor = -1;
    PoolMemoryHandle buffer;
    PoolMemoryHandle freed;
};

}  // namespace

TEST_CASE("external memory: kernels and the file's other users see the same bytes") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const ForeignFile file(external_bytes);
    auto* const words = static_cast<std::uint32_t*>(file.address);
    words[25] = 6;
    const int descriptor = file.duplicate();
    {
        auto memory = require(ExternalMemory::import(device, descriptor, external_bytes, true));
        CHECK_FALSE(is_open(descriptor));
        CHECK(memory.size_bytes() == external_bytes);
        const auto part = require(memory.span<std::uint32_t>(100, 32));
        const auto stream = require(device.create_stream());
        require(load_add_one(device).launch(stream, cover(32, 32), part, 32U));
        require(stream.sync());
        CHECK(words[25] == 7);
        CHECK(words[56] == 1);
        CHECK(words[57] == 0);

        CHECK(require(memory.span<char>(0, external_bytes)).size() == external_bytes);
        CHECK(says(failure_of(memory.span<std::uint32_t>(100, 2476)),
                   "2476 elements of 4 bytes from byte 100 on exceed the 10000 bytes"));
        CHECK(failure_of(memory.span<std::uint32_t>(20'000, 0)).code == Errc::invalid_argument);
        CHECK(failure_of(memory.span<std::uint32_t>(2, 1)).code == Errc::invalid_argument);
        auto moved = std::move(memory);
        CHECK_FALSE(memory);
        CHECK(failure_of(memory.span<char>(0, 1)).code == Errc::invalid_argument);
        CHECK(moved);
        moved = {};
        CHECK(live(LODE_EMULATOR_EXTERNAL_OBJECTS) == 0);
        CHECK(live(LODE_EMULATOR_IMPORTS) == 0);
    }
    CHECK(words[25] == 7);
}

TEST_CASE("external memory: an access past its end is an error that names it") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const ForeignFile file(external_bytes);
    auto memory = require(ExternalMemory::import(device, file.duplicate(), external_bytes));
    const auto stream = require(device.create_stream());
    const auto end = require(memory.span<std::uint32_t>(9984, 4));
    require(load_add_one(device).launch(stream, cover(5, 32), end, 5U));
    const auto error = failure_of(stream.sync());
    CHECK(error.code == Errc::device_lost);
    CHECK(says(error, "10000 bytes of imported device memory"));
}

TEST_CASE("external memory: wrong descriptors are refused and stay the caller's") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const ForeignFile file(external_bytes);
    const auto refused = [&](int descriptor, std::size_t bytes) {
        const bool before = is_open(descriptor);
        const Error error = failure_of(ExternalMemory::import(device, descriptor, bytes));
        CHECK(error.code == Errc::invalid_argument);
        CHECK(is_open(descriptor) == before);
        return error;
    };
    refused(file.descriptor, 0);
    refused(file.descriptor, external_bytes + 1);
    CHECK(says(refused(-1, 10), "-1 isn't an open file descriptor"));
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    refused(pipe[0], 10);
    CHECK(failure_of(ExternalSemaphore::import(device, pipe[0])).code == Errc::invalid_argument);
    ::close(pipe[0]);
    ::close(pipe[1]);
    const int read_only = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    refused(read_only, 10);
    ::close(read_only);
    const auto own = require(SharedBuffer<int>::create(device, 100));
    const int of_device = require(own.export_descriptor());
    refused(of_device, 10);
    ::close(of_device);
    const ForeignFile too_short(4);
    CHECK(failure_of(ExternalSemaphore::import(device, too_short.descriptor)).code ==
          Errc::invalid_argument);
    CHECK(is_open(too_short.descriptor));
}

TEST_CASE("external semaphore: two processes take turns on a timeline") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const ForeignFile memory_file(external_bytes);
    const ForeignFile semaphore_file(8);
    auto memory = require(ExternalMemory::import(device, memory_file.duplicate(), external_bytes));
    const auto semaphore = require(ExternalSemaphore::import(device, semaphore_file.duplicate()));
    pass_on(external_variable,
            ExternalDescriptors{memory_file.descriptor, semaphore_file.descriptor});
    SecondProcess other("external semaphore: the other side");

    const auto stream = require(device.create_stream());
    const auto part = require(memory.span<std::uint32_t>(0, 32));
    require(part.fill_async(stream, 10U));
    require(semaphore.signal_async(stream, 1));
    require(semaphore.wait_async(stream, 2));
    require(load_add_one(device).launch(stream, cover(32, 32), part, 32U));
    require(stream.sync());
    CHECK(other.wait() == 0);
    CHECK(static_cast<std::uint32_t*>(memory_file.address)[31] == 12);
    CHECK(*static_cast<std::uint64_t*>(semaphore_file.address) == 2);
}

TEST_CASE("external semaphore: the other side" * doctest::skip()) {
    const auto descriptors = passed_on<ExternalDescriptors>(external_variable);
    if (!descriptors) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    auto memory = require(ExternalMemory::import(device, descriptors->memory, external_bytes));
    const auto semaphore = require(ExternalSemaphore::import(device, descriptors->semaphore));
    const auto stream = require(device.create_stream());
    require(semaphore.wait_async(stream, 1));
    require(load_add_one(device).launch(stream, cover(32, 32),
                                        require(memory.span<std::uint32_t>(0, 32)), 32U));
    require(semaphore.signal_async(stream, 2));
    require(stream.sync());
}

TEST_CASE("external semaphore: a binary one passes one wait, and a program's own signal counts") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto other = require(device.create_stream());
    const ForeignFile file(8);
    const auto semaphore =
        require(ExternalSemaphore::import(device, file.duplicate(), ExternalSemaphoreKind::binary));
    require(semaphore.wait_async(other));
    require(semaphore.signal_async(stream));
    require(other.sync());
    require(stream.sync());
    CHECK(*static_cast<std::uint64_t*>(file.address) == 0);
    require(semaphore.wait_async(stream));
    CHECK_FALSE(require(stream.is_idle()));
    static_cast<std::atomic<std::uint64_t>*>(file.address)->store(1);
    require(stream.sync());

    const auto elsewhere = require(machine.device(1).create_stream());
    CHECK(says(failure_of(semaphore.wait_async(elsewhere)), "belongs to device 0, but the stream"));
    CHECK(failure_of(semaphore.signal_async(Stream(), 1)).code == Errc::invalid_argument);
    CHECK(failure_of(ExternalSemaphore().wait_async(stream)).code == Errc::invalid_argument);
}

TEST_CASE("shared pool: another process works on a buffer") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto pool = require(MemoryPool::create(device, {.shareable = true}));
    auto buffer = require(pool.allocate<std::uint32_t>(stream, 1000));
    require(buffer.span().fill_async(stream, 5U));
    auto soon_freed = require(pool.allocate<std::uint32_t>(stream, 10));
    PoolMessage message{require(pool.export_descriptor()), require(pool.export_buffer(buffer)),
                        require(pool.export_buffer(soon_freed))};
    soon_freed = {};
    require(stream.sync());
    REQUIRE(::fcntl(message.descriptor, F_SETFD, 0) == 0);
    pass_on(pool_variable, message);
    CHECK(SecondProcess("shared pool: the other process").wait() == 0);
    CHECK(::close(message.descriptor) == 0);
    const auto values = require(buffer.span().to_vector());
    CHECK(values[31] == 6);
    CHECK(values[32] == 5);

    const auto alone = require(MemoryPool::create(device));
    CHECK(says(failure_of(alone.export_descriptor()), ".shareable = true"));
    auto theirs = require(alone.allocate<int>(stream, 4));
    CHECK(says(failure_of(alone.export_buffer(theirs)), ".shareable = true"));
    CHECK(failure_of(pool.export_buffer(AsyncBuffer<int>())).code == Errc::invalid_argument);
    CHECK(failure_of(MemoryPool().export_descriptor()).code == Errc::invalid_argument);
    CHECK(says(failure_of(MemoryPool::import(device, -1)), "isn't an open file descriptor"));
    CHECK(failure_of(MemoryPool::import(device, STDERR_FILENO)).code == Errc::invalid_argument);
}

TEST_CASE("shared pool: the other process" * doctest::skip()) {
    const auto message = passed_on<PoolMessage>(pool_variable);
    if (!message) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto pool = require(MemoryPool::import(device, message->descriptor));
    {
        auto buffer = require(pool.import_buffer<std::uint32_t>(stream, message->buffer));
        CHECK(buffer.size() == 1000);
        CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(1000, 5));
        require(load_add_one(device).launch(stream, cover(32, 32), buffer.span(), 32U));
    }
    require(stream.sync());
    CHECK(failure_of(pool.import_buffer<int>(stream, message->freed)).code ==
          Errc::invalid_argument);
    CHECK(failure_of(pool.import_buffer<int>(stream, {})).code == Errc::invalid_argument);
    CHECK(failure_of(pool.import_buffer<int>(Stream(), message->buffer)).code ==
          Errc::invalid_argument);
    CHECK_FALSE(pool.allocate<int>(stream, 4));
    CHECK_FALSE(pool.make_current());
    CHECK_FALSE(pool.export_descriptor());
    const auto own = require(MemoryPool::create(device, {.shareable = true}));
    CHECK_FALSE(own.import_buffer<int>(stream, message->buffer));
}
