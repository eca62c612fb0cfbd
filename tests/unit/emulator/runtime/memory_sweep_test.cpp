#include "base/try.hpp"
#include "tests/unit/emulator/runtime/emulator_library.hpp"

#include <lode/lode.hpp>

#include <cstdlib>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace lode;
using namespace lode::emulator_test;

namespace {

/// A file in memory that is closed at the end, unless something has taken it.
struct SweepFile {
    explicit SweepFile(int its_descriptor) : descriptor(its_descriptor) {}
    SweepFile() : SweepFile(::memfd_create("sweep", MFD_CLOEXEC)) {
        REQUIRE(::ftruncate(descriptor, 4096) == 0);
    }
    ~SweepFile() {
        if (descriptor >= 0) ::close(descriptor);
    }
    SweepFile(const SweepFile&) = delete;
    SweepFile& operator=(const SweepFile&) = delete;

    int descriptor;
};

/// Names memory and events for other processes, and imports what needs no other process.
Status share_with_others(const Device& device, StreamRef stream) {
    LODE_TRY_ASSIGN(auto plain, device.alloc<int>(100));
    LODE_TRY(IpcMemoryHandle::of(plain));
    LODE_TRY_ASSIGN(const auto event, device.create_event({.timing = false, .interprocess = true}));
    LODE_TRY(IpcEventHandle::of(event));

    LODE_TRY_ASSIGN(const auto lender, MemoryPool::create(device, {.shareable = true}));
    LODE_TRY_ASSIGN(auto lent, lender.allocate<int>(stream, 100));
    SweepFile pool_file(-1);
    LODE_TRY_ASSIGN(pool_file.descriptor, lender.export_descriptor());
    LODE_TRY_ASSIGN(const auto borrower, MemoryPool::import(device, pool_file.descriptor));
    LODE_TRY_ASSIGN(const auto handle, lender.export_buffer(lent));
    LODE_TRY_ASSIGN(auto borrowed, borrower.import_buffer<int>(stream, handle));
    LODE_TRY(borrowed.span().fill_async(stream, 1));

    SweepFile file;
    LODE_TRY_ASSIGN(auto external, ExternalMemory::import(device, file.descriptor, 4096));
    file.descriptor = -1;
    LODE_TRY(external.span<int>(0, 10));
    SweepFile counter;
    LODE_TRY_ASSIGN(const auto semaphore, ExternalSemaphore::import(device, counter.descriptor));
    counter.descriptor = -1;
    LODE_TRY(semaphore.signal_async(stream, 1));
    LODE_TRY(semaphore.wait_async(stream, 1));
    return stream.sync();
}

/// Uses every kind of memory once, with the two devices of one machine.
Status use_every_memory() {
    LODE_TRY_ASSIGN(const auto runtime,
                    Runtime::open({.driver = {.library = LODE_EMULATOR_LIBRARY}}));
    LODE_TRY_ASSIGN(const auto device, runtime.device(0));
    LODE_TRY_ASSIGN(const auto peer, runtime.device(1));
    LODE_TRY_ASSIGN(const auto stream, device.create_stream());

    LODE_TRY_ASSIGN(const auto pool,
                    MemoryPool::create(device, {.release_threshold_bytes = 1 << 20}));
    LODE_TRY(pool.set_access(peer, true));
    LODE_TRY(pool.is_accessible_from(peer));
    LODE_TRY_ASSIGN(auto ordered, pool.allocate<int>(stream, 100));
    LODE_TRY(ordered.span().fill_async(stream, 1));
    LODE_TRY(pool.make_current());
    LODE_TRY_ASSIGN(auto current, AsyncBuffer<int>::allocate(device, stream, 100));
    LODE_TRY(pool.statistics());
    LODE_TRY(pool.reset_high_marks());
    LODE_TRY(pool.trim());
    LODE_TRY(MemoryPool::default_of(device));

    LODE_TRY_ASSIGN(auto managed, ManagedBuffer<int>::allocate(device, 100));
    LODE_TRY(managed.prefetch_async(stream));
    LODE_TRY(managed.advise(ManagedAdvice::accessed_by, ManagedLocation::of(peer)));
    LODE_TRY(managed.last_prefetch());
    LODE_TRY(managed.attach_async(stream, ManagedAttachment::everywhere));

    LODE_TRY_ASSIGN(auto growing, GrowableBuffer<int>::reserve(device, 1 << 22));
    LODE_TRY(growing.resize(100));
    LODE_TRY(growing.set_access(peer, true));
    LODE_TRY(growing.resize(1 << 21));
    LODE_TRY(growing.resize(100));

    LODE_TRY_ASSIGN(auto shared, SharedBuffer<int>::create(device, 100));
    LODE_TRY_ASSIGN(const int descriptor, shared.export_descriptor());
    auto imported = SharedBuffer<int>::import(device, descriptor, 100);
    ::close(descriptor);
    LODE_TRY(std::move(imported));

    LODE_TRY(share_with_others(device, stream));
    LODE_TRY(peer_properties(device, peer));
    LODE_TRY(enable_peer_access(device, peer));
    LODE_TRY(disable_peer_access(device, peer));
    return device.sync();
}

}  // namespace

TEST_CASE("memory features: whatever call fails, the error names it and nothing stays alive") {
    ::setenv("LODE_EMULATOR_DEVICES", "sm_90,sm_90", 1);
    const auto fail_call = control<decltype(lode_emulator_fail_call)>("lode_emulator_fail_call");
    const auto failed_call =
        control<decltype(lode_emulator_failed_call)>("lode_emulator_failed_call");
    bool ended = false;
    int failures = 0;
    for (unsigned long n = 1; n < 1000 && !ended; ++n) {
        CAPTURE(n);
        reset();
        fail_call(n, 999);  // CUDA_ERROR_UNKNOWN
        const Status result = use_every_memory();
        const char* const hit = failed_call();
        const std::string call = hit == nullptr ? "no call" : hit;
        CAPTURE(call);
        ended = hit == nullptr;
        if (ended) require(result);
        if (!result) {
            ++failures;
            CAPTURE(result.error().message);
            CHECK(result.error().message.find(call) != std::string::npos);
        }
        // Without its context an object can't be released. Addresses and physical memory belong to
        // no context and stay.
        const bool may_leak = call == "cuCtxPushCurrent";
        for (int kind = 0; kind < LODE_EMULATOR_KINDS && !may_leak; ++kind) {
            CAPTURE(kind);
            CHECK(live(kind) == 0);
        }
    }
    CHECK(ended);
    CHECK(failures > 40);
    ::unsetenv("LODE_EMULATOR_DEVICES");
}
