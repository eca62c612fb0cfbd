#include "emulator/memory/memory.hpp"

#include "tests/support/child.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

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

TEST_CASE("memory: large allocations begin at large pages") {
    constexpr std::size_t mib = std::size_t{1} << 20;
    Memory memory(std::size_t{1} << 32);
    CHECK(Memory::alignment_of(mib) == 512);
    CHECK(Memory::alignment_of(mib + 1) == 2 * mib);
    for (int round = 0; round < 3; ++round) {
        const auto small = memory.allocate(1000, MemoryKind::device, "small");
        const auto large = memory.allocate(3 * mib, MemoryKind::managed, "large");
        REQUIRE(large != 0);
        CHECK(large % (2 * mib) == 0);
        // The addresses before it aren't lost.
        const auto next = memory.allocate(1000, MemoryKind::device, "next");
        CHECK(next < large);
        CHECK(memory.free(large) == FreeOutcome::freed);
        CHECK(memory.free(small) == FreeOutcome::freed);
    }
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

TEST_CASE("memory: reusing a large freed range leaves its neighbours alone") {
    Memory memory(std::size_t{1} << 28, 0);
    std::vector<std::uint64_t> freed;
    std::vector<std::uint64_t> kept;
    for (std::size_t k = 0; k < 64; ++k) {  // Ranges that begin and end anywhere in a page.
        freed.push_back(memory.allocate(65'000 + 512 * k, MemoryKind::device, "freed"));
        kept.push_back(memory.allocate(512, MemoryKind::device, "kept"));
        std::memset(reinterpret_cast<void*>(kept.back()), 0x55, 512);
        std::memset(reinterpret_cast<void*>(freed.back()), 0x66, 65'000 + 512 * k);
    }
    for (const auto address : freed)
        REQUIRE(memory.free(address) == FreeOutcome::freed);
    for (const auto address : kept) {
        for (std::size_t byte = 0; byte < 512; ++byte)
            REQUIRE(*reinterpret_cast<const unsigned char*>(address + byte) == 0x55);
    }
    const auto again = memory.allocate(65'000, MemoryKind::device, "again");
    for (std::size_t byte = 0; byte < 65'000; ++byte)
        REQUIRE(*reinterpret_cast<const unsigned char*>(again + byte) == 0);
}

TEST_CASE("memory: part of a file has an address of its own, and is found when it is used later") {
    Memory memory(std::size_t{1} << 28);
    Memory other(std::size_t{1} << 28);
    REQUIRE(other.file() >= 0);
    const auto theirs = other.allocate(10'000, MemoryKind::device, "theirs");
    std::memset(reinterpret_cast<void*>(theirs), 0x11, 10'000);
    const auto mine =
        memory.import(other.file(), other.file_offset(theirs) + 5000, 5000, "import", 2);
    REQUIRE(mine != 0);
    CHECK(*reinterpret_cast<const char*>(mine + 4999) == 0x11);
    *reinterpret_cast<char*>(mine) = 0x22;
    CHECK(*reinterpret_cast<const char*>(theirs + 5000) == 0x22);
    CHECK(memory.bounds(mine + 5) == std::array<std::uint64_t, 2>{mine, mine + 5000});
    CHECK_FALSE(memory.find(mine + 5000));
    CHECK(memory.used(2) == 5000);
    CHECK(memory.free(mine) == FreeOutcome::wrong_kind);
    CHECK_FALSE(memory.remove_import(mine + 1));
    const auto epoch = memory.epoch();
    CHECK(memory.remove_import(mine));
    CHECK(memory.epoch() > epoch);
    CHECK_FALSE(memory.remove_import(mine));
    CHECK_FALSE(memory.find(mine));
    CHECK(memory.locate(mine + 4999).inside->freed);
    CHECK(memory.used(2) == 0);
    CHECK(*reinterpret_cast<const char*>(theirs + 5000) == 0x22);
    CHECK(memory.import(-1, 0, 100, "none") == 0);
    CHECK(memory.import(other.file(), 0, 0, "none") == 0);
}

TEST_CASE("memory: core dumps leave the arena out, also where memory was mapped and unmapped") {
    Memory memory(std::size_t{1} << 32);
    REQUIRE(memory.file() >= 0);
    const std::size_t bytes = std::size_t{1} << 20;
    const auto at = memory.reserve(bytes, bytes);
    REQUIRE(memory.map(at, bytes, memory.file(), 0, "mapped"));
    REQUIRE(memory.unmap(at));
    std::ifstream maps("/proc/self/smaps");
    int mappings = 0;
    int dumped = 0;
    bool is_arena = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("memfd:lode_emulator_memory") != std::string::npos) {
            is_arena = true;
            ++mappings;
        } else if (is_arena && line.starts_with("VmFlags:")) {
            is_arena = false;
            dumped += line.find(" dd") == std::string::npos ? 1 : 0;
        }
    }
    CHECK(mappings > 0);
    CHECK(dumped == 0);
}

TEST_CASE("memory: where long files aren't allowed, memory works but can't be shared") {
    const int result = test::in_child([] {
        const rlimit short_files{1 << 20, 1 << 20};
        if (::setrlimit(RLIMIT_FSIZE, &short_files) != 0) return 1;
        Memory memory(std::size_t{1} << 28, 0);
        if (memory.file() >= 0) return 2;
        const auto first = memory.allocate(1 << 20, MemoryKind::device, "first");
        if (first == 0) return 3;
        std::memset(reinterpret_cast<void*>(first), 1, 1 << 20);
        if (memory.free(first) != FreeOutcome::freed) return 4;
        const auto second = memory.allocate(1 << 20, MemoryKind::device, "second");
        return *reinterpret_cast<const char*>(second + 4096) == 0 ? 0 : 5;
    });
    CHECK(result == 0);
}

}  // namespace lode::emulator
