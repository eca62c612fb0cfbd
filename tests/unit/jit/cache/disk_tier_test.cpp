#include "jit/store/disk_tier.hpp"

#include "base/file.hpp"
#include "jit/store/key_lock.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <thread>

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace lode;
using namespace lode::cache;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t roomy = std::uint64_t{1} << 30;

std::unique_ptr<DiskTier> open_tier(const fs::path& folder, bool writable = true,
                                    std::uint64_t max_bytes = roomy) {
    auto tier = DiskTier::open(folder, writable, max_bytes);
    REQUIRE_MESSAGE(tier, (tier ? "" : tier.error().message));
    return *std::move(tier);
}

RecordKey entry(int number) {
    return {RecordKind::entry, lode::sha256(std::to_string(number))};
}

Bytes content(int number, std::size_t size = 100) {
    return Bytes(size, static_cast<std::byte>(number));
}

bool has(DiskTier& tier, const RecordKey& key) {
    const auto got = tier.get(key);
    REQUIRE(got);
    return got->has_value();
}

std::size_t files_in(const fs::path& folder) {
    std::size_t files = 0;
    std::error_code problem;
    for (const auto& item : fs::recursive_directory_iterator(folder, problem))
        files += item.is_regular_file() ? 1 : 0;
    return files;
}

void set_age(const fs::path& file, std::chrono::seconds age) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("disk tier: a record is kept, replaced and removed") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    CHECK_FALSE(has(*tier, entry(1)));
    REQUIRE(tier->put(entry(1), content(1)));
    CHECK((*tier->get(entry(1)))->bytes == content(1));
    REQUIRE(tier->put(entry(1), content(2)));
    CHECK((*tier->get(entry(1)))->bytes == content(2));
    CHECK_FALSE(has(*tier, {RecordKind::manifest, entry(1).digest}));
    REQUIRE(tier->remove(entry(1), nullptr));
    CHECK_FALSE(has(*tier, entry(1)));
    CHECK(tier->remove(entry(1), nullptr));
}

TEST_CASE("disk tier: all of a version's files lie in its own folder") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    REQUIRE(tier->sweep(0));
    const fs::path own = *fs::path(record_path(entry(1))).begin();
    for (const auto& item : fs::directory_iterator(scratch / "cache")) {
        const auto name = item.path().filename();
        CHECK_MESSAGE((name == own || name == "CACHEDIR.TAG"), name.string());
    }
    CHECK(*fs::path(temporary_folder).begin() == own);
    CHECK(*fs::path(lock_file).begin() == own);
}

TEST_CASE("disk tier: folders are 0700 and files 0600 whatever the umask") {
    const Scratch scratch;
    const auto old_mask = ::umask(0);
    const auto tier = open_tier(scratch / "a" / "b" / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    ::umask(old_mask);
    for (const auto& item : fs::recursive_directory_iterator(scratch / "a" / "b" / "cache")) {
        CAPTURE(item.path().string());
        const auto mode = static_cast<unsigned>(item.status().permissions());
        CHECK(mode == (item.is_directory() ? 0700U : 0600U));
    }
    CHECK(static_cast<unsigned>(fs::status(scratch / "a" / "b" / "cache").permissions()) == 0700U);
    CHECK(fs::exists(scratch / "a" / "b" / "cache" / "CACHEDIR.TAG"));
}

TEST_CASE("disk tier: a folder that others may write to is refused") {
    const Scratch scratch;
    fs::create_directory(scratch / "cache");
    ::chmod((scratch / "cache").c_str(), 0777);
    const auto tier = DiskTier::open(scratch / "cache", true, roomy);
    REQUIRE_FALSE(tier);
    CHECK(tier.error().message.find("777") != std::string::npos);
    CHECK(tier.error().message.find("LODE_CACHE_DIR") != std::string::npos);
}

TEST_CASE("disk tier: a folder of another user is refused") {
    if (::geteuid() != 0) return;  // Only root can change a folder's owner.
    const Scratch scratch;
    fs::create_directory(scratch / "cache");
    REQUIRE(::chown((scratch / "cache").c_str(), 12345, 12345) == 0);
    const auto tier = DiskTier::open(scratch / "cache", true, roomy);
    REQUIRE_FALSE(tier);
    CHECK(tier.error().message.find("12345") != std::string::npos);
    CHECK_FALSE(DiskTier::open(scratch / "cache", false, roomy));
}

TEST_CASE("disk tier: a folder that is a symbolic link is refused") {
    const Scratch scratch;
    fs::create_directory(scratch / "real");
    fs::create_directory_symlink(scratch / "real", scratch / "link");
    CHECK_FALSE(DiskTier::open(scratch / "link", true, roomy));
}

TEST_CASE("disk tier: a link, a foreign file and a writable file are misses and are removed") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    const auto plant = [&](auto how) {
        REQUIRE(tier->put(entry(1), content(1)));
        const fs::path file = scratch / "cache" / record_path(entry(1));
        how(file);
        CHECK_FALSE(has(*tier, entry(1)));
        CHECK_FALSE(fs::exists(fs::symlink_status(file)));
    };
    plant([&](const fs::path& file) {
        fs::rename(file, scratch / "elsewhere");
        fs::create_symlink(scratch / "elsewhere", file);
    });
    plant([](const fs::path& file) { ::chmod(file.c_str(), 0666); });
    plant([](const fs::path& file) {
        fs::remove(file);
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    });
    if (::geteuid() == 0) {
        plant([](const fs::path& file) { REQUIRE(::chown(file.c_str(), 12345, 12345) == 0); });
    }
}

TEST_CASE("disk tier: a fan-out folder that is a symbolic link isn't followed") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    const fs::path fan = (scratch / "cache" / record_path(entry(1))).parent_path();
    fs::rename(fan, scratch / "moved");
    fs::create_directory_symlink(scratch / "moved", fan);
    CHECK_FALSE(has(*tier, entry(1)));
    CHECK(files_in(scratch / "moved") == 1);  // The link isn't followed.
}

TEST_CASE("disk tier: the next put replaces a link in a folder's place, and then it hits") {
    for (const int levels : {1, 2, 3}) {  // Fan-out folder, record kind's folder, top folder.
        CAPTURE(levels);
        const Scratch scratch;
        const auto tier = open_tier(scratch / "cache");
        REQUIRE(tier->put(entry(1), content(1)));
        fs::path folder = scratch / "cache" / record_path(entry(1));
        for (int i = 0; i < levels; ++i)
            folder = folder.parent_path();
        const auto files = files_in(folder);
        fs::rename(folder, scratch / "moved");
        fs::create_directory_symlink(scratch / "moved", folder);
        CHECK_FALSE(has(*tier, entry(1)));
        REQUIRE(tier->put(entry(1), content(2)));
        CHECK((*tier->get(entry(1)))->bytes == content(2));
        CHECK_FALSE(fs::is_symlink(fs::symlink_status(folder)));
        CHECK(files_in(scratch / "moved") == files);  // The link isn't followed.
        const auto known = *tier->get(entry(1));
        REQUIRE(known);
        fs::rename(folder, scratch / "again");
        fs::create_directory_symlink(scratch / "again", folder);
        CHECK(tier->remove(entry(1), nullptr));
        CHECK(tier->remove(entry(1), &known->identity));
        CHECK(files_in(scratch / "again") == files);
    }
}

TEST_CASE("disk tier: a folder in a record's place is a miss, and an error of the put") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    fs::create_directories(scratch / "cache" / record_path(entry(1)));
    CHECK_FALSE(has(*tier, entry(1)));
    const auto put = tier->put(entry(1), content(1));
    REQUIRE_FALSE(put);
    CHECK_MESSAGE(put.error().message.find(record_path(entry(1))) != std::string::npos,
                  put.error().message);
    CHECK(tier->put(entry(2), content(2)));
    CHECK(files_in(scratch / "cache" / temporary_folder) == 0);
}

TEST_CASE("disk tier: removing a record that was read keeps one that has replaced it") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    const auto old = *tier->get(entry(1));
    REQUIRE(old);
    REQUIRE(tier->put(entry(1), content(2)));
    REQUIRE(tier->remove(entry(1), &old->identity));
    CHECK(has(*tier, entry(1)));
    const auto now = *tier->get(entry(1));
    REQUIRE(tier->remove(entry(1), &now->identity));
    CHECK_FALSE(has(*tier, entry(1)));
}

TEST_CASE("disk tier: a read-only tier writes nothing and needs a folder") {
    const Scratch scratch;
    CHECK_FALSE(DiskTier::open(scratch / "cache", false, roomy));
    REQUIRE(open_tier(scratch / "cache")->put(entry(1), content(1)));
    const auto before = files_in(scratch / "cache");
    const auto tier = open_tier(scratch / "cache", false);
    CHECK(has(*tier, entry(1)));
    CHECK(tier->put(entry(2), content(2)));
    CHECK(tier->remove(entry(1), nullptr));
    CHECK(has(*tier, entry(1)));
    CHECK_FALSE(has(*tier, entry(2)));
    CHECK(files_in(scratch / "cache") == before);
}

TEST_CASE("disk tier: the size limit holds and the least recently used records go first") {
    const Scratch scratch;
    constexpr std::uint64_t bound = 400 * 1024;
    const auto tier = open_tier(scratch / "cache", true, bound);
    REQUIRE(tier->put(entry(0), content(0, 8000)));
    for (int i = 1; i < 200; ++i) {
        REQUIRE(tier->put(entry(i), content(i, 8000)));
        // Entry 0 is used in every round, with a stamp of its last use that looks two hours old.
        set_age(scratch / "cache" / record_path(entry(0)), std::chrono::hours(2));
        REQUIRE(has(*tier, entry(0)));
        set_age(scratch / "cache" / record_path(entry(i)), std::chrono::seconds(1000 - i));
        std::uint64_t bytes = 0;
        REQUIRE(tier->for_each(RecordKind::entry,
                               [&](const auto&, const auto& file) { bytes += file.size; }));
        CHECK(bytes <= bound);
    }
    CHECK(has(*tier, entry(0)));
    CHECK(has(*tier, entry(199)));
    CHECK_FALSE(has(*tier, entry(1)));
}

TEST_CASE("disk tier: a hit renews an old stamp and one from the future, not a fresh one") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    const fs::path file = scratch / "cache" / record_path(entry(1));
    using std::chrono::minutes;
    for (const auto age : {minutes(120), minutes(-120), minutes(10)}) {
        CAPTURE(age.count());
        set_age(file, age);
        const auto before = fs::last_write_time(file);
        REQUIRE(has(*tier, entry(1)));
        CHECK((fs::last_write_time(file) != before) == (age != minutes(10)));
    }
}

TEST_CASE("disk tier: after the clock was set back nothing lives for ever") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    for (int i = 0; i < 3; ++i)
        REQUIRE(tier->put(entry(i), content(i, 4096)));
    set_age(scratch / "cache" / record_path(entry(0)), std::chrono::hours(-24 * 365));
    set_age(scratch / "cache" / record_path(entry(1)), std::chrono::hours(5));
    const auto report = tier->sweep(2 * 4096);
    REQUIRE(report);
    REQUIRE(*report);
    CHECK((*report)->removed_records == 1);
    CHECK_FALSE(has(*tier, entry(0)));
    CHECK(has(*tier, entry(1)));
}

TEST_CASE("disk tier: stale temporary files are swept, fresh ones are kept") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    REQUIRE(tier->put(entry(1), content(1)));
    const fs::path folder = scratch / "cache" / temporary_folder;
    for (const char* name : {"old.tmp", "future.tmp", "fresh.tmp"})
        REQUIRE(lode::write_atomic(folder / name, std::string_view("x"), 0600));
    set_age(folder / "old.tmp", std::chrono::hours(2));
    set_age(folder / "future.tmp", std::chrono::hours(-2));
    const auto report = tier->sweep(roomy);
    REQUIRE(*report);
    CHECK((*report)->removed_temporaries == 2);
    CHECK(fs::exists(folder / "fresh.tmp"));
    CHECK(has(*tier, entry(1)));
}

TEST_CASE("disk tier: clear removes every record and nothing else") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    for (int i = 0; i < 20; ++i)
        REQUIRE(tier->put({record_kinds[i % 3], entry(i).digest}, content(i)));
    REQUIRE(lode::write_atomic(scratch / "cache" / "notes.txt", std::string_view("mine"), 0600));
    REQUIRE(tier->clear());
    for (int i = 0; i < 20; ++i)
        CHECK_FALSE(has(*tier, {record_kinds[i % 3], entry(i).digest}));
    CHECK(fs::exists(scratch / "cache" / "notes.txt"));
}

TEST_CASE("disk tier: on a full disk put fails and leaves no temporary file") {
    const Scratch scratch;
    const fs::path folder = scratch / "small";
    fs::create_directory(folder);
    if (::mount("none", folder.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) {
        MESSAGE("skipped: mounting a tmpfs needs root");
        return;
    }
    {
        const auto tier = open_tier(folder);
        CHECK(tier->put(entry(1), content(1)));
        const auto full = tier->put(entry(2), content(2, 1'000'000));
        CHECK_FALSE(full);
        CHECK(full.error().code == lode::Errc::file_failed);
        CHECK(has(*tier, entry(1)));
        CHECK_FALSE(has(*tier, entry(2)));
        CHECK(fs::is_empty(folder / temporary_folder));
    }
    CHECK(::umount2(folder.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("disk tier: readers see only whole records while others write and sweep") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    std::atomic<bool> done{false};
    std::atomic<int> torn{0};
    std::vector<std::thread> threads;
    for (int reader = 0; reader < 2; ++reader) {
        threads.emplace_back([&] {
            while (!done) {
                for (int i = 0; i < 4; ++i) {
                    const auto got = tier->get(entry(i));
                    if (!got || !*got) continue;
                    const Bytes& bytes = (*got)->bytes;
                    if (bytes.size() != 5000 || bytes != content(int(bytes[0]), 5000)) ++torn;
                }
            }
        });
    }
    threads.emplace_back([&] {
        while (!done)
            (void)tier->sweep(2 * 8192);
    });
    for (int round = 0; round < 300; ++round)
        CHECK(tier->put(entry(round % 4), content(round % 250, 5000)));
    done = true;
    for (auto& thread : threads)
        thread.join();
    CHECK(torn == 0);
}

TEST_CASE("key lock: one holder per key, and keys don't disturb each other") {
    const Scratch scratch;
    const auto tier = open_tier(scratch / "cache");
    KeyLock other(tier->folder(), entry(2).digest);
    KeyLock again(tier->folder(), entry(1).digest);
    {
        KeyLock first(tier->folder(), entry(1).digest);
        CHECK(first.attempt() == KeyLock::Outcome::taken);
        CHECK(again.attempt() == KeyLock::Outcome::busy);
        CHECK(other.attempt() == KeyLock::Outcome::taken);
    }
    CHECK(again.attempt() == KeyLock::Outcome::taken);
}

TEST_CASE("key lock: the outcome is failed in a folder that can't hold a lock file") {
    const Scratch scratch;
    fs::create_directories(scratch / "cache" / lock_file);
    fs::permissions(scratch / "cache", fs::perms::owner_all);
    const auto tier = open_tier(scratch / "cache");
    KeyLock lock(tier->folder(), entry(1).digest);
    CHECK(lock.attempt() == KeyLock::Outcome::failed);
}
