// Pools, managed memory, growing memory, peers and shared memory, on the software device.
#include "tests/unit/emulator/runtime/memory_machine.hpp"

#include <lode/lode.hpp>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::emulator_test;

TEST_CASE("memory pool: buffers are allocated, used and freed in the order of a stream") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto add_one = load_add_one(device);
    const auto pool = require(MemoryPool::create(device, {.release_threshold_bytes = 1 << 20}));
    CHECK(require(pool.release_threshold()) == 1 << 20);
    {
        auto buffer = require(pool.allocate<std::uint32_t>(stream, 100));
        CHECK(buffer.size_bytes() == 400);
        require(buffer.span().fill_async(stream, 7U));
        require(add_one.launch(stream, cover(100, 128), buffer.span(), 100U));
        CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(100, 8));
        const auto now = require(pool.statistics());
        CHECK(now.used >= 400);
        CHECK(now.reserved >= now.used);
        auto moved = std::move(buffer);
        CHECK_FALSE(buffer);
        CHECK(moved);
        require(moved.free_on(device.default_stream()));
    }
    require(device.sync());
    CHECK(require(pool.statistics()).used == 0);
    CHECK(require(pool.statistics()).used_high >= 400);
    require(pool.reset_high_marks());
    CHECK(require(pool.statistics()).used_high == 0);
    require(pool.trim());
    CHECK(require(pool.statistics()).reserved == 0);

    require(pool.make_current());
    auto from_current = require(AsyncBuffer<float>::allocate(device, stream, 10));
    CHECK(require(pool.statistics()).used >= 40);
    CHECK(require(AsyncBuffer<float>::allocate(device, stream, 0)).empty());
}

TEST_CASE("memory pool: wrong streams, sizes and empty objects are refused") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device();
    const auto elsewhere = require(machine.device(1).create_stream());
    const auto stream = require(device.create_stream());
    const auto error = failure_of(AsyncBuffer<int>::allocate(device, elsewhere, 10));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(says(error, "belongs to device 0, but the stream belongs to device 1"));
    CHECK(failure_of(AsyncBuffer<int>::allocate(device, stream, std::size_t{1} << 62)).code ==
          Errc::out_of_memory);
    CHECK(failure_of(AsyncBuffer<int>::allocate(device, stream, std::size_t{1} << 40)).code ==
          Errc::out_of_memory);
    CHECK(failure_of(AsyncBuffer<int>::allocate(device, Stream(), 10)).code ==
          Errc::invalid_argument);
    AsyncBuffer<int> empty;
    CHECK(failure_of(empty.free_on(stream)).code == Errc::invalid_argument);
    CHECK(failure_of(empty.span().zero()).code == Errc::invalid_argument);
    const MemoryPool none;
    CHECK(failure_of(none.allocate<int>(stream, 1)).code == Errc::invalid_argument);
    CHECK(failure_of(none.trim()).code == Errc::invalid_argument);
    CHECK(failure_of(none.statistics()).code == Errc::invalid_argument);

    const auto pool = require(MemoryPool::create(device));
    const Device peer = machine.device(1);
    CHECK(require(pool.is_accessible_from(device)));
    CHECK_FALSE(require(pool.is_accessible_from(peer)));
    require(pool.set_access(peer, true));
    CHECK(require(pool.is_accessible_from(peer)));
    require(pool.set_access(peer, false));
    CHECK_FALSE(require(pool.is_accessible_from(peer)));
    CHECK(failure_of(pool.set_access(device, false)).code == Errc::invalid_argument);
}

TEST_CASE("memory pool: a limited pool runs out, and the default pool outlives its view") {
    const MemoryMachine machine;
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto small = require(MemoryPool::create(device, {.max_bytes = 1 << 20}));
    auto half = require(small.allocate<char>(stream, 1 << 19));
    CHECK(failure_of(small.allocate<char>(stream, 1 << 20)).code == Errc::out_of_memory);
    require(MemoryPool::default_of(device));
    const auto standard = require(MemoryPool::default_of(device));
    CHECK(require(standard.allocate<int>(stream, 5)).size() == 5);
}

TEST_CASE("managed memory: host and device use the same addresses") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    const auto add_one = load_add_one(device);
    auto buffer = require(ManagedBuffer<std::uint32_t>::allocate(device, 64));
    for (std::uint32_t i = 0; i < 64; ++i)
        buffer[i] = i;
    CHECK(require(has_concurrent_managed_access(device)));
    CHECK_FALSE(require(buffer.last_prefetch()));
    require(buffer.prefetch_async(stream));
    CHECK(require(buffer.last_prefetch()) == ManagedLocation::of(device));
    require(add_one.launch(stream, cover(64, 64), buffer.span(), 64U));
    require(stream.sync());
    CHECK(buffer.host()[63] == 64);
    require(buffer.prefetch_to_host_async(stream));
    CHECK(require(buffer.last_prefetch()) == ManagedLocation::host());

    CHECK_FALSE(require(buffer.is_read_mostly()));
    require(buffer.advise(ManagedAdvice::read_mostly, ManagedLocation::host()));
    CHECK(require(buffer.is_read_mostly()));
    require(buffer.advise(ManagedAdvice::read_mostly, ManagedLocation::host(), false));
    CHECK_FALSE(require(buffer.is_read_mostly()));
    CHECK_FALSE(require(buffer.preferred_location()));
    require(buffer.advise(ManagedAdvice::preferred_location, ManagedLocation{1}));
    CHECK(require(buffer.preferred_location()) == ManagedLocation{1});
    require(buffer.advise(ManagedAdvice::preferred_location, ManagedLocation{1}, false));
    CHECK_FALSE(require(buffer.preferred_location()));
    require(buffer.advise(ManagedAdvice::accessed_by, ManagedLocation{1}));
    CHECK(failure_of(buffer.advise(ManagedAdvice::accessed_by, ManagedLocation{9})).message != "");
    require(buffer.attach_async(stream, ManagedAttachment::stream));
}

TEST_CASE("managed memory: wrong arguments and empty buffers are refused") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device();
    const auto stream = require(device.create_stream());
    CHECK(failure_of(ManagedBuffer<int>::allocate(device, 1, ManagedAttachment::stream)).code ==
          Errc::invalid_argument);
    CHECK(failure_of(ManagedBuffer<int>::allocate(device, std::size_t{1} << 40)).code ==
          Errc::out_of_memory);
    ManagedBuffer<int> none;
    CHECK(failure_of(none.prefetch_async(stream)).code == Errc::invalid_argument);
    CHECK(failure_of(none.is_read_mostly()).code == Errc::invalid_argument);
    CHECK(failure_of(none.attach_async(stream, ManagedAttachment::host)).code ==
          Errc::invalid_argument);
    const auto zero = require(ManagedBuffer<int>::allocate(device, 0));
    CHECK(zero);
    CHECK(zero.empty());
    CHECK(zero.prefetch_async(stream));
    const auto some = require(ManagedBuffer<int>::allocate(device, 4));
    CHECK(failure_of(some.prefetch_async(Stream())).code == Errc::invalid_argument);
    const auto elsewhere = require(machine.device(1).create_stream());
    CHECK(failure_of(some.attach_async(elsewhere, ManagedAttachment::host)).code ==
          Errc::invalid_argument);
    CHECK(some.prefetch_async(elsewhere));
}

TEST_CASE("growable buffer: it grows in place and keeps its elements") {
    constexpr std::size_t unit = (std::size_t{2} << 20) / sizeof(std::uint32_t);
    const MemoryMachine machine;
    const Device device = machine.device();
    auto buffer = require(GrowableBuffer<std::uint32_t>::reserve(device, 10 * unit));
    CHECK(buffer.max_size() == 10 * unit);
    CHECK(buffer.empty());
    CHECK(buffer.capacity() == 0);
    const auto* const address = buffer.data();
    require(buffer.resize(100));
    CHECK(buffer.capacity() == unit);
    require(buffer.span().fill(5U));
    require(buffer.resize(3 * unit));
    CHECK(buffer.data() == address);
    CHECK(require(require(buffer.span().first(100)).to_vector()) ==
          std::vector<std::uint32_t>(100, 5));
    require(buffer.span().fill(6U));  // One fill across two chunks.
    const auto stream = require(device.create_stream());
    require(
        load_add_one(device).launch(stream, cover(32, 32), require(buffer.span().last(32)), 32U));
    CHECK(require(require(buffer.span().last(1)).to_vector()).front() == 7);

    const auto error = failure_of(buffer.resize(10 * unit + 1));
    CHECK(error.code == Errc::invalid_argument);
    CHECK(says(error, "of reserved addresses"));
    CHECK(failure_of(buffer.resize(~std::size_t{0})).code == Errc::invalid_argument);
    CHECK(buffer.size() == 3 * unit);
    require(buffer.resize(unit - 1));
    CHECK(buffer.capacity() == unit);
    CHECK(require(require(buffer.span().first(1)).to_vector()).front() == 6);
    require(buffer.resize(0));
    CHECK(buffer.capacity() == 0);
    require(buffer.resize(1));

    GrowableBuffer<std::uint32_t> none;
    CHECK(failure_of(none.resize(1)).code == Errc::invalid_argument);
    CHECK(failure_of(GrowableBuffer<int>::reserve(device, 0)).code == Errc::invalid_argument);
    CHECK(failure_of(GrowableBuffer<int>::reserve(device, std::size_t{1} << 50)).code ==
          Errc::out_of_memory);
}

TEST_CASE("growable buffer: a device without room refuses to grow, and the rest stays usable") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device();
    auto buffer = require(GrowableBuffer<char>::reserve(device, std::size_t{64} << 30));
    require(buffer.resize(1000));
    CHECK(failure_of(buffer.resize(std::size_t{40} << 30)).code == Errc::out_of_memory);
    CHECK(buffer.size() == 1000);
    require(buffer.span().zero());
    const Device peer = machine.device(1);
    require(buffer.set_access(peer, true));
    require(buffer.resize(std::size_t{4} << 20));
    require(buffer.set_access(peer, false));
    CHECK(failure_of(buffer.set_access(device, false)).code == Errc::invalid_argument);
}

TEST_CASE("peer access: a launch accepts a peer's memory once access is enabled") {
    const MemoryMachine machine("sm_80,sm_90");
    const Device device = machine.device(0);
    const Device peer = machine.device(1);
    CHECK(require(can_access_peer(device, peer)));
    CHECK_FALSE(require(can_access_peer(device, device)));
    CHECK(require(peer_properties(device, peer)).access);
    CHECK(failure_of(peer_properties(device, device)).code == Errc::invalid_argument);
    CHECK(says(failure_of(enable_peer_access(device, device)), "needs no peer access to itself"));

    const auto add_one = load_add_one(device);
    const auto stream = require(device.create_stream());
    auto theirs = require(peer.upload({1U, 2U, 3U}));
    const auto refused = failure_of(add_one.launch(stream, cover(3, 32), theirs, 3U));
    CHECK(refused.code == Errc::invalid_argument);
    CHECK(says(refused, "enable_peer_access"));
    require(enable_peer_access(device, peer));
    require(enable_peer_access(device, peer));
    require(add_one.launch(stream, cover(3, 32), theirs, 3U));
    require(add_one.launch(stream, cover(3, 32), theirs.span(), 3U));
    require(stream.sync());
    CHECK(require(theirs.to_vector()) == std::vector<std::uint32_t>{3, 4, 5});

    // The other direction is access of its own.
    auto ours = require(device.upload({1U}));
    const auto there = load_add_one(peer);
    const auto stream_there = require(peer.create_stream());
    CHECK_FALSE(there.launch(stream_there, cover(1, 32), ours, 1U));

    require(disable_peer_access(device, peer));
    require(disable_peer_access(device, peer));
    CHECK_FALSE(add_one.launch(stream, cover(3, 32), theirs, 3U));
}

TEST_CASE("shared buffer: a descriptor leads to the same memory") {
    const MemoryMachine machine;
    const Device device = machine.device();
    auto mine = require(SharedBuffer<int>::create(device, 1000));
    const int descriptor = require(mine.export_descriptor());
    {
        auto theirs = require(SharedBuffer<int>::import(device, descriptor, 1000));
        CHECK(theirs.data() != mine.data());
        require(mine.span().fill(42));
        CHECK(require(theirs.span().to_vector()) == std::vector<int>(1000, 42));
        mine = {};
        CHECK(require(theirs.span().to_vector()) == std::vector<int>(1000, 42));
    }
    // The descriptor alone keeps the memory.
    const auto again = require(SharedBuffer<int>::import(device, descriptor, 1000));
    CHECK(require(again.span().to_vector()).back() == 42);
    CHECK(failure_of(SharedBuffer<int>::import(device, descriptor, 1 << 20)).code ==
          Errc::invalid_argument);
    CHECK(::close(descriptor) == 0);
    const auto closed = failure_of(SharedBuffer<int>::import(device, descriptor, 1000));
    CHECK(closed.code == Errc::invalid_argument);
    CHECK(says(closed, "isn't an open file descriptor"));
    CHECK_FALSE(SharedBuffer<int>::import(device, STDIN_FILENO, 1000));
    CHECK(failure_of(SharedBuffer<int>().export_descriptor()).code == Errc::invalid_argument);
    CHECK(failure_of(SharedBuffer<int>::create(device, 0)).code == Errc::invalid_argument);
}

namespace {

constexpr const char* descriptor_variable = "LODE_TEST_DESCRIPTOR";
constexpr const char* second_process = "shared buffer: the second process";
constexpr std::size_t shared_count = 1000;

/// Runs one test case of this program in a new process, which inherits the descriptor.
int run_in_second_process(const char* test_case, int descriptor) {
    REQUIRE(::fcntl(descriptor, F_SETFD, 0) == 0);
    const std::string filter = std::string("--test-case=") + test_case;
    ::setenv(descriptor_variable, std::to_string(descriptor).c_str(), 1);
    const char* arguments[] = {"test", filter.c_str(), "--no-skip", nullptr};
    const pid_t child = ::fork();
    if (child == 0) {
        ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
        ::_exit(127);
    }
    ::unsetenv(descriptor_variable);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("shared buffer: two processes use the same memory") {
    const MemoryMachine machine;
    const Device device = machine.device();
    auto buffer = require(SharedBuffer<std::uint32_t>::create(device, shared_count));
    require(buffer.span().fill(5U));
    const int descriptor = require(buffer.export_descriptor());
    CHECK(run_in_second_process(second_process, descriptor) == 0);
    CHECK(::close(descriptor) == 0);
    const auto values = require(buffer.span().to_vector());
    CHECK(values[0] == 6);
    CHECK(values[31] == 6);
    CHECK(values[32] == 5);
}

TEST_CASE("shared buffer: the second process" * doctest::skip()) {
    const char* const descriptor = std::getenv(descriptor_variable);
    if (descriptor == nullptr) return;
    const MemoryMachine machine;
    const Device device = machine.device();
    auto buffer =
        require(SharedBuffer<std::uint32_t>::import(device, std::atoi(descriptor), shared_count));
    CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(shared_count, 5));
    const auto stream = require(device.create_stream());
    require(load_add_one(device).launch(stream, cover(32, 32), buffer.span(), 32U));
    require(stream.sync());
}
