// Kills writers at random points while readers run.
#include "jit/store/disk_tier.hpp"
#include "tests/cache_torture/records.hpp"
#include "tests/cache_torture/spawn.hpp"
#include "tests/support/scratch.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
using lode::test::Worker;

namespace {

/// Puts records until the process is killed.
[[noreturn]] void write_for_ever(const std::string& folder, const std::vector<Bytes>& records,
                                 const std::vector<RecordKey>& keys, unsigned seed) {
    const auto tier = DiskTier::open(folder, true, world_bytes);
    std::minstd_rand random(seed);
    while (tier) {
        const std::size_t i = random() % records.size();
        if (!(*tier)->put(keys[i], records[i])) break;
    }
    ::_exit(1);
}

}  // namespace

TEST_CASE("cache: writers killed at random points never make a reader wrong or stuck") {
    const auto scratch = lode::test::make_scratch();
    const std::string folder = (scratch.path() / "cache").string();
    // Set LODE_TORTURE_KILLS=10000 for a long run.
    const char* asked = std::getenv("LODE_TORTURE_KILLS");
    const int kills = asked != nullptr ? std::atoi(asked) : 2000;
    std::vector<Bytes> records;
    std::vector<RecordKey> keys;
    for (int i = 0; i < world_size; ++i) {
        const Entry entry = world_entry(i);
        records.push_back(format_entry(entry));
        keys.push_back({RecordKind::entry, key_of(entry).digest});
    }
    REQUIRE(DiskTier::open(folder, true, world_bytes));
    // Exits before the kill only if it sees a wrong record.
    Worker reader_one({"read", folder, "3600"});
    std::minstd_rand random(20240607);
    std::uniform_int_distribution<int> microseconds(0, 4000);
    for (int i = 0; i < kills; ++i) {
        const pid_t writer = ::fork();
        REQUIRE(writer >= 0);
        if (writer == 0) write_for_ever(folder, records, keys, static_cast<unsigned>(i));
        std::this_thread::sleep_for(std::chrono::microseconds(microseconds(random)));
        ::kill(writer, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(writer, &status, 0) == writer);
        REQUIRE(WIFSIGNALED(status));
        if (i % 500 == 499) {
            Worker reader({"read", folder, "0.05"});
            CHECK(reader.wait() == 0);
        }
    }
    reader_one.kill();
    CHECK(reader_one.wait() == -1);  // Ended by the signal, so no record was wrong.

    // Every remaining record verifies, and files left by killed writers are swept once they are
    // old.
    auto tier = DiskTier::open(folder, true, world_bytes);
    REQUIRE(tier);
    int entries = 0;
    int damaged = 0;
    REQUIRE((*tier)->for_each(RecordKind::entry, [&](const RecordKey& key, const FileIdentity&) {
        const auto record = (*tier)->get(key);
        if (!record || !*record) return;
        ++entries;
        damaged += parse_entry((*record)->bytes) ? 0 : 1;
    }));
    CHECK(entries > 0);
    CHECK(damaged == 0);
    const auto temporaries = scratch.path() / "cache" / temporary_folder;
    for (const auto& item : std::filesystem::directory_iterator(temporaries)) {
        std::filesystem::last_write_time(
            item.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    }
    REQUIRE((*tier)->sweep(world_bytes));
    CHECK(std::filesystem::is_empty(temporaries));
}
