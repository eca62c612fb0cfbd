// Page-locked host memory, allocated and registered, and what the driver knows about addresses.
#include "tests/gpu/support.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* double_all = R"(
extern "C" __global__ void k(int* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
})";
constexpr int count = 1000;

/// Has a kernel double the elements, through their device address.
void check_doubled(const Device& device, std::span<int> host, DeviceSpan<int> mapped) {
    REQUIRE(mapped.size() == host.size());
    std::iota(host.begin(), host.end(), 1);
    const auto kernel = load<void(int*, int)>(device, double_all);
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, cover(count), mapped, count));
    require(stream.sync());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < host.size(); ++i)
        wrong += host[i] == 2 * (static_cast<int>(i) + 1) ? 0 : 1;
    CHECK(wrong == 0);
}

/// Counts one by one, together with the host, until the host says stop or enough is counted.
constexpr const char* count_with_host = R"(
extern "C" __global__ void k(unsigned* shared, unsigned* counted, unsigned most) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned n = 0;
    while (n < most && (n == 0 || atomicAdd_system(&shared[1], 0u) == 0u)) {
        atomicAdd_system(&shared[0], 1u);
        unsigned seen = atomicAdd_system(&shared[2], 0u);
        while (true) {  // Any other operation by compare-and-swap: here x * 3 + 1.
            const unsigned before = atomicCAS_system(&shared[2], seen, seen * 3u + 1u);
            if (before == seen) break;
            seen = before;
        }
        ++n;
    }
    counted[i] = n;
    atomicMax_system(&shared[3], 1000u + i);
})";

/// Has the host and a kernel update the same four numbers at the same time; none may get lost.
void check_counted_together(const Device& device, std::span<unsigned> host,
                            DeviceSpan<unsigned> mapped) {
    constexpr unsigned blocks = 2;
    constexpr unsigned threads = 32;
    constexpr unsigned most = 100'000;
    constexpr unsigned host_counts = 300;
    REQUIRE(host.size() == 4);
    std::ranges::fill(host, 0U);
    const auto kernel = load<void(unsigned*, unsigned*, unsigned)>(device, count_with_host);
    require(kernel.untyped().preload());
    auto counted = require(device.alloc<unsigned>(blocks * threads));
    const auto stream = require(device.create_stream());
    const std::atomic_ref<unsigned> sum(host[0]);
    const std::atomic_ref<unsigned> stop(host[1]);
    const std::atomic_ref<unsigned> steps(host[2]);
    const std::atomic_ref<unsigned> greatest(host[3]);
    require(kernel.launch(stream, {.grid = {blocks}, .block = {threads}}, mapped, counted, most));
    while (sum.load() == 0 && !require(stream.is_idle())) {
    }
    for (unsigned n = 0; n < host_counts; ++n) {
        sum.fetch_add(1);
        unsigned seen = steps.load();
        while (!steps.compare_exchange_weak(seen, seen * 3 + 1)) {
        }
    }
    const unsigned when_stopped = sum.load();
    stop.store(1);
    require(stream.sync());
    const auto of_threads = require(counted.to_vector());
    const unsigned on_device = std::accumulate(of_threads.begin(), of_threads.end(), 0U);
    MESSAGE("the host counted " << host_counts << " and the device " << on_device << ", "
                                << when_stopped << " in all when the host stopped");
    CHECK(sum.load() == host_counts + on_device);
    unsigned expected = 0;
    for (unsigned n = 0; n < host_counts + on_device; ++n)
        expected = expected * 3 + 1;
    CHECK(steps.load() == expected);
    CHECK(greatest.load() == 1000 + blocks * threads - 1);
}

bool is_emulated() {
    return machine()->driver().is_emulator();
}

}  // namespace

TEST_CASE("host memory: kernels access pinned memory of every kind") {
    LODE_NEEDS_DEVICE(device, 0);
    for (const PinnedOptions options :
         {PinnedOptions{}, PinnedOptions{.portable = false}, PinnedOptions{.write_combined = true},
          PinnedOptions{.portable = false, .write_combined = true}}) {
        const auto buffer = require(PinnedBuffer<int>::allocate(device, count, options));
        check_doubled(device, buffer.span(), require(buffer.device_span()));
    }
    const auto plain = require(device.alloc_pinned<int>(count));
    check_doubled(device, plain.span(), require(plain.device_span()));
}

TEST_CASE("host memory: a mapped span is copied like device memory") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto pinned = require(PinnedBuffer<int>::allocate(device, 3));
    const auto mapped = require(pinned.device_span());
    require(mapped.copy_from(std::vector{1, 2, 3}));
    CHECK(std::ranges::equal(pinned, std::vector{1, 2, 3}));
    auto buffer = require(device.alloc<int>(3));
    require(buffer.copy_from(mapped));
    CHECK(require(buffer.to_vector()) == std::vector{1, 2, 3});
}

TEST_CASE("host memory: system-scope atomics of a kernel and the host's count together") {
    LODE_NEEDS_DEVICE(device, 0);
    // Without native atomics across the link, those of a kernel on page-locked memory aren't atomic
    // for the host (Programming Guide 3.2.4.3).
    LODE_NEEDS(
        require(device_attribute(device, DeviceAttribute::host_native_atomic_supported)) != 0,
        "the device has no native atomics on the host's memory");
    const auto pinned = require(device.alloc_pinned<unsigned>(4));
    check_counted_together(device, pinned.span(), require(pinned.device_span()));
    std::vector<unsigned> values(4);
    const auto registered = require(RegisteredMemory<unsigned>::create(device, values));
    check_counted_together(device, registered.span(), require(registered.device_span()));
}

TEST_CASE("host memory: system-scope atomics on managed memory count together with the host's") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().managed_memory && require(has_concurrent_managed_access(device)),
               "the device has no concurrent managed access");
    auto managed = require(ManagedBuffer<unsigned>::allocate(device, 4));
    check_counted_together(device, managed.host(), managed.span());
}

TEST_CASE("host memory: buffers of zero elements and without a device") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto none = require(PinnedBuffer<int>::allocate(device, 0));
    CHECK(require(none.device_span()).empty());
    const Error error = require_error(PinnedBuffer<int>().device_span());
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "The host memory is empty");
    CHECK(require_error(PinnedBuffer<int>::allocate(device, SIZE_MAX / 2)).code ==
          Errc::out_of_memory);
}

TEST_CASE("host memory: registered memory is copied and mapped until it is unregistered") {
    LODE_NEEDS_DEVICE(device, 0);
    std::vector<int> values(count);
    auto registered = require(RegisteredMemory<int>::create(device, values));
    CHECK(registered);
    CHECK(registered.span().data() == values.data());
    check_doubled(device, values, require(registered.device_span()));
    const auto stream = require(device.create_stream());
    auto buffer = require(device.alloc<int>(count));
    require(buffer.copy_from_async(stream, registered.span()));
    require(stream.sync());
    CHECK(require(buffer.to_vector()) == values);
    CHECK(require(inspect_pointer(device, values.data())).kind == MemoryKind::host);

    RegisteredMemory<int> moved = std::move(registered);
    CHECK_FALSE(registered);  // NOLINT(bugprone-use-after-move): it is empty.
    require(moved.unregister());
    CHECK_FALSE(moved);
    CHECK(require(inspect_pointer(device, values.data())).kind == MemoryKind::unknown);
    { const auto again = require(RegisteredMemory<int>::create(device, values)); }
    CHECK(require(inspect_pointer(device, values.data())).kind == MemoryKind::unknown);
}

TEST_CASE("host memory: wrong registrations are explained") {
    LODE_NEEDS_DEVICE(device, 0);
    std::vector<int> values(count);
    auto registered = require(RegisteredMemory<int>::create(device, values));
    const Error twice = require_error(RegisteredMemory<int>::create(device, values));
    CHECK(twice.code == Errc::invalid_argument);
    CHECK_CONTAINS(twice.message, "The host memory of 4000 bytes at 0x");
    CHECK_CONTAINS(twice.message, "is already registered");

    // Something else unregisters it.
    const auto unregister = raw<PFN_cuMemHostUnregister_v4000>("cuMemHostUnregister");
    auto scope = require(ContextScope::enter(device));
    REQUIRE(unregister(values.data()) == CUDA_SUCCESS);
    const Error gone = require_error(registered.unregister());
    CHECK(gone.code == Errc::invalid_argument);
    CHECK_CONTAINS(gone.message, "isn't registered any more");
    CHECK(require_error(registered.unregister()).code == Errc::invalid_argument);
    CHECK(require_error(RegisteredMemory<int>().device_span()).code == Errc::invalid_argument);
    const auto none = require(RegisteredMemory<int>::create(device, {}));
    CHECK(require(none.device_span()).empty());
}

TEST_CASE("host memory: read-only pages are registered read-only") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    const std::unique_ptr<void, void (*)(void*)> owner(
        pages, [](void* at) { ::munmap(at, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))); });
    std::memset(pages, 7, bytes);
    REQUIRE(::mprotect(pages, bytes, PROT_READ) == 0);
    const std::span<const char> text(static_cast<const char*>(pages), bytes);
    const auto registered = RegisteredMemory<const char>::create(device, text, {.read_only = true});
    LODE_NEEDS(registered || registered.error().code != Errc::not_supported,
               "the device has no read-only registration");
    REQUIRE(registered);
    const DeviceSpan<const char> mapped = require(registered->device_span());
    CHECK(require(mapped.to_vector()) == std::vector<char>(bytes, 7));
}

TEST_CASE("host memory: memory that a process doesn't have isn't registered") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(is_emulated(), "a driver may accept any range");
    const std::span<int> nowhere(reinterpret_cast<int*>(std::uintptr_t{4096}), 4);
    const Error error = require_error(RegisteredMemory<int>::create(device, nowhere));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, "isn't memory of this process");
}

TEST_CASE("pointer info: every kind of address is told apart") {
    LODE_NEEDS_DEVICE(device, 0);
    auto buffer = require(device.alloc<int>(10));
    const auto of_device = require(inspect_pointer(device, buffer.native() + 8));
    CHECK(of_device.kind == MemoryKind::device);
    CHECK(of_device.device_ordinal == 0);
    CHECK(of_device.base == buffer.native());
    CHECK(of_device.size >= buffer.size_bytes());
    CHECK(of_device.device_address == buffer.native() + 8);
    CHECK(of_device.host_address == nullptr);

    const auto pinned = require(device.alloc_pinned<int>(10));
    const auto of_host = require(inspect_pointer(device, pinned.data()));
    CHECK(of_host.kind == MemoryKind::host);
    CHECK(of_host.host_address == pinned.data());
    CHECK(of_host.device_address == require(pinned.device_span()).native());

    const int local = 0;
    const auto unknown = require(inspect_pointer(device, &local));
    CHECK(unknown.kind == MemoryKind::unknown);
    CHECK(unknown.device_ordinal == -1);
    CHECK(std::string(to_string(unknown.kind)) == "unknown");
    CHECK(std::string(to_string(of_host.kind)) == "host");
    CHECK(std::string(to_string(of_device.kind)) == "device");

    LODE_NEEDS(device.properties().managed_memory, "the device has no managed memory");
    const auto allocate = raw<PFN_cuMemAllocManaged_v6000>("cuMemAllocManaged");
    const auto free = raw<PFN_cuMemFree_v3020>("cuMemFree_v2");
    auto scope = require(ContextScope::enter(device));
    CUdeviceptr managed = 0;
    REQUIRE(allocate(&managed, 64, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
    const auto of_managed = require(inspect_pointer(device, managed));
    CHECK(of_managed.kind == MemoryKind::managed);
    CHECK(std::string(to_string(of_managed.kind)) == "managed");
    CHECK(free(managed) == CUDA_SUCCESS);
}
