// Pools, managed, growing and shared memory, and peers.
#include "tests/gpu/support.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

using AddOne = void(std::uint32_t*, std::uint32_t);

Kernel<AddOne> add_one_on(const Device& device) {
    return load<AddOne>(device, R"(
extern "C" __global__ void k(unsigned* to, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] += 1;
}
)");
}

/// The attribute that says whether memory can be mapped, or shared by descriptors.
bool has_attribute(const Device& device, CUdevice_attribute attribute) {
    const auto get = raw<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
    int value = 0;
    REQUIRE(get(&value, attribute, device.native()) == CUDA_SUCCESS);
    return value != 0;
}

constexpr std::uint32_t elements = 100'000;
constexpr const char* inherited_descriptor = "LODE_TEST_DESCRIPTOR";

}  // namespace

TEST_CASE("memory kinds: a pool's buffers live in the order of their stream") {
    LODE_NEEDS_DEVICE(device, 0);
    if (!device.properties().memory_pools) return;
    const auto stream = require(device.create_stream());
    const auto add_one = add_one_on(device);
    const auto pool = require(MemoryPool::create(device, {.release_threshold_bytes = 1 << 30}));
    for (std::uint32_t round = 0; round < 20; ++round) {
        auto buffer = require(pool.allocate<std::uint32_t>(stream, elements));
        require(buffer.span().fill_async(stream, round));
        require(add_one.launch(stream, cover(elements, 256), buffer.span(), elements));
        std::vector<std::uint32_t> last(1);
        require(require(buffer.span().last(1)).copy_to_async(stream, last));
        require(stream.sync());
        CHECK(last[0] == round + 1);
    }
    require(stream.sync());
    const auto now = require(pool.statistics());
    CHECK(now.used == 0);
    CHECK(now.used_high >= elements * sizeof(std::uint32_t));
    CHECK(now.reserved_high >= now.used_high);
    require(pool.trim());
    CHECK(require(pool.statistics()).reserved == 0);
    CHECK(require(pool.is_accessible_from(device)));
    const auto standard = require(MemoryPool::default_of(device));
    CHECK(require(standard.allocate<int>(stream, 3)).size() == 3);
}

TEST_CASE("memory kinds: managed memory is used by the host and the device") {
    LODE_NEEDS_DEVICE(device, 0);
    if (!device.properties().managed_memory) return;
    const auto stream = require(device.create_stream());
    const auto add_one = add_one_on(device);
    auto buffer = require(ManagedBuffer<std::uint32_t>::allocate(device, elements));
    for (std::uint32_t i = 0; i < elements; ++i)
        buffer[i] = i;
    const bool concurrent = require(has_concurrent_managed_access(device));
    if (concurrent) {
        require(buffer.advise(ManagedAdvice::preferred_location, ManagedLocation::of(device)));
        CHECK(require(buffer.preferred_location()) == ManagedLocation::of(device));
        require(buffer.prefetch_async(stream));
        CHECK(require(buffer.last_prefetch()) == ManagedLocation::of(device));
    }
    require(add_one.launch(stream, cover(elements, 256), buffer.span(), elements));
    if (concurrent) require(buffer.prefetch_to_host_async(stream));
    require(stream.sync());
    CHECK(buffer[0] == 1);
    CHECK(buffer[elements - 1] == elements);
    require(buffer.advise(ManagedAdvice::read_mostly, ManagedLocation::host()));
    CHECK(require(buffer.is_read_mostly()));
}

TEST_CASE("memory kinds: a growable buffer grows in place") {
    LODE_NEEDS_DEVICE(device, 0);
    if (!has_attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) return;
    const auto stream = require(device.create_stream());
    const auto add_one = add_one_on(device);
    auto buffer = require(GrowableBuffer<std::uint32_t>::reserve(device, std::size_t{1} << 28));
    require(buffer.resize(elements));
    const auto* const address = buffer.data();
    require(buffer.span().fill(1U));
    require(buffer.resize(100 * elements));
    CHECK(buffer.data() == address);
    require(add_one.launch(stream, cover(elements, 256), buffer.span(), elements));
    require(require(buffer.span().last(1)).fill_async(stream, 5U));
    require(stream.sync());
    CHECK(require(require(buffer.span().first(elements)).to_vector()) ==
          std::vector<std::uint32_t>(elements, 2));
    require(buffer.resize(elements));
    CHECK(require(require(buffer.span().last(1)).to_vector()).front() == 2);
}

TEST_CASE("memory kinds: a launch accepts a peer's memory once access is enabled") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS_DEVICE(peer, 1);
    if (!require(can_access_peer(device, peer))) return;
    CHECK(require(peer_properties(device, peer)).access);
    const auto stream = require(device.create_stream());
    const auto add_one = add_one_on(device);
    auto theirs = require(peer.upload({1U, 2U, 3U}));
    CHECK_FALSE(add_one.launch(stream, cover(3, 32), theirs, 3U));
    require(enable_peer_access(device, peer));
    require(enable_peer_access(device, peer));
    require(add_one.launch(stream, cover(3, 32), theirs, 3U));
    require(stream.sync());
    CHECK(require(theirs.to_vector()) == std::vector<std::uint32_t>{2, 3, 4});
    require(disable_peer_access(device, peer));
    CHECK_FALSE(add_one.launch(stream, cover(3, 32), theirs, 3U));
}

TEST_CASE("memory kinds: two processes share a buffer") {
    LODE_NEEDS_DEVICE(device, 0);
    if (!has_attribute(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED))
        return;
    auto buffer = require(SharedBuffer<std::uint32_t>::create(device, elements));
    require(buffer.span().fill(5U));
    const int descriptor = require(buffer.export_descriptor());
    REQUIRE(::fcntl(descriptor, F_SETFD, 0) == 0);
    ::setenv(inherited_descriptor, std::to_string(descriptor).c_str(), 1);
    const char* arguments[] = {"test", "--test-case=memory kinds: the second process", "--no-skip",
                               nullptr};
    const pid_t child = ::fork();
    if (child == 0) {
        ::execv("/proc/self/exe", const_cast<char* const*>(arguments));
        ::_exit(127);
    }
    ::unsetenv(inherited_descriptor);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(::close(descriptor) == 0);
    CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(elements, 6));
}

TEST_CASE("memory kinds: the second process" * doctest::skip()) {
    const char* const descriptor = std::getenv(inherited_descriptor);
    if (descriptor == nullptr) return;
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer =
        require(SharedBuffer<std::uint32_t>::import(device, std::atoi(descriptor), elements));
    CHECK(require(buffer.span().to_vector()) == std::vector<std::uint32_t>(elements, 5));
    const auto stream = require(device.create_stream());
    require(add_one_on(device).launch(stream, cover(elements, 256), buffer.span(), elements));
    require(stream.sync());
}
