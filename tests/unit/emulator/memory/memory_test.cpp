#include "emulator/memory/memory.hpp"

#include <cstring>

#include <doctest/doctest.h>

namespace lode::emulator {

TEST_CASE("memory: allocations are aligned, zeroed, separate, and found by any of their bytes") {
    Memory memory(std::size_t{1} << 32);
    const auto a = memory.allocate(100, MemoryKind::device, "a", 3);
    const auto b = memory.allocate(100, MemoryKind::pinned, "b");
    REQUIRE(a != 0);
    CHECK(a % Memory::alignment == 0);
    CHECK(b >= a + 100 + 1);
    CHECK(*reinterpret_cast<const char*>(a + 99) == 0);
    CHECK(memory.find(a + 99)->label == "a");
    CHECK_FALSE(memory.find(a + 100));
    CHECK(memory.bounds(b + 5) == std::array<std::uint64_t, 2>{b, b + 100});
    CHECK(memory.used(3) == 100);
    CHECK(memory.living(3).size() == 1);
    CHECK(memory.living().size() == 2);
    CHECK(memory.allocate(0, MemoryKind::device, "none") == 0);
    CHECK(memory.allocate(std::size_t{1} << 40, MemoryKind::device, "huge") == 0);
}

TEST_CASE("memory: free tells double, interior, unknown and foreign frees apart") {
    Memory memory(std::size_t{1} << 32);
    const auto a = memory.allocate(100, MemoryKind::device, "a");
    const auto data = memory.allocate(100, MemoryKind::module_data, "m");
    const auto epoch = memory.epoch();
    CHECK(memory.free(a + 1) == FreeOutcome::interior);
    CHECK(memory.free(a) == FreeOutcome::freed);
    CHECK(memory.epoch() > epoch);
    CHECK(memory.free(a) == FreeOutcome::double_free);
    CHECK(memory.free(12345) == FreeOutcome::unknown);
    CHECK(memory.free(data) == FreeOutcome::wrong_kind);
    CHECK(memory.release(data) == FreeOutcome::freed);
    CHECK(memory.locate(a + 5).inside->freed);
    CHECK_FALSE(memory.find(a));
    int host[4];
    CHECK(memory.register_host(host, sizeof host, "host"));
    CHECK_FALSE(memory.register_host(host + 1, 4, "again"));
    CHECK(memory.free(reinterpret_cast<std::uint64_t>(host)) == FreeOutcome::wrong_kind);
    CHECK_FALSE(memory.unregister_host(host + 1));
    CHECK(memory.unregister_host(host));
}

TEST_CASE("memory: a full quarantine releases addresses, zeroed") {
    Memory memory(std::size_t{1} << 28, std::size_t{1} << 20);
    std::uint64_t first = 0;
    bool reused = false;
    for (int k = 0; k < 200; ++k) {
        const auto at = memory.allocate(100'000, MemoryKind::device, "again");
        REQUIRE(at != 0);
        if (first == 0) first = at;
        reused = reused || (k > 0 && at == first);
        const char* const bytes = reinterpret_cast<const char*>(at);
        REQUIRE(bytes[0] == 0);
        REQUIRE(bytes[99'999] == 0);
        std::memset(reinterpret_cast<void*>(at), 0x77, 100'000);
        REQUIRE(memory.free(at) == FreeOutcome::freed);
    }
    CHECK(reused);
    CHECK(memory.used(0) == 0);
}

}  // namespace lode::emulator
