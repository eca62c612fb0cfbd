#include "base/file.hpp"

#include "tests/support/child.hpp"
#include "tests/support/scratch.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using lode::Errc;
using lode::Native;
using lode::read_bytes;
using lode::read_text;
using lode::write_atomic;
using lode::write_result;
using lode::test::count_entries;
using lode::test::in_child;
using lode::test::make_scratch;
using lode::test::put;

namespace {

constexpr uid_t nobody = 65534;

bool names(const lode::Error& error, const std::filesystem::path& path) {
    return error.message.find("'" + path.string() + "'") != std::string::npos;
}

/// Mounts a 16 KiB file system that only this process sees. Without root privileges, it first
/// enters a user namespace in which it is root. Returns false where neither is permitted.
bool mount_tiny_disk(const std::filesystem::path& folder) {
    if (::geteuid() != 0) {
        const auto uid_map = "0 " + std::to_string(::geteuid()) + " 1";
        const auto gid_map = "0 " + std::to_string(::getegid()) + " 1";
        if (::unshare(CLONE_NEWUSER) != 0) return false;
        put("/proc/self/setgroups", "deny");
        put("/proc/self/uid_map", uid_map);
        put("/proc/self/gid_map", gid_map);
    }
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", folder.c_str(), "tmpfs", 0, "size=16k") == 0;
}

unsigned mode_of(const std::filesystem::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("file: reads back what was written, byte by byte") {
    const auto scratch = make_scratch();
    for (const std::size_t size : {0, 1, 4095, 4096, 4097, 100'000}) {
        CAPTURE(size);
        std::string text(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            text[i] = static_cast<char>(i * 7);
        const auto path = scratch.path() / "file";
        REQUIRE(write_atomic(path, text));
        CHECK(read_text(path).value() == text);
        const auto bytes = read_bytes(path).value();
        CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == text);
        CHECK(count_entries(scratch.path()) == 1);
    }
}

TEST_CASE("file: reads files whose size the system doesn't report") {
    CHECK(read_text("/proc/self/status").value().starts_with("Name:"));
}

TEST_CASE("file: a missing file is not_found and named in the error") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "file", "text");
    for (const auto& path : {scratch.path() / "no" / "such", scratch.path() / "no", file / "in"}) {
        CAPTURE(path);
        const auto read = read_text(path);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == Errc::not_found);
        CHECK(read.error().native.origin == Native::Origin::system);
        CHECK(names(read.error(), path));
    }
    CHECK(read_text(scratch.path() / "no").error().native.name == "ENOENT");
    CHECK(read_text(file / "in").error().native.name == "ENOTDIR");
}

TEST_CASE("file: reading a folder is file_failed") {
    const auto scratch = make_scratch();
    const auto read = read_bytes(scratch.path());
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Errc::file_failed);
    CHECK(read.error().native == Native{Native::Origin::system, EISDIR, "EISDIR"});
    CHECK(names(read.error(), scratch.path()));
}

TEST_CASE("file: an unreadable file is file_failed, not not_found") {
    const auto scratch = make_scratch();
    const auto path = put(scratch.path() / "secret", "text");
    std::filesystem::permissions(path, std::filesystem::perms::none);
    const int code = in_child([&] {
        if (::geteuid() == 0 && ::setuid(nobody) != 0) return 0;
        const auto read = read_text(path);
        return !read && read.error().native.name == "EACCES" ? static_cast<int>(read.error().code)
                                                             : 0;
    });
    CHECK(code == static_cast<int>(Errc::file_failed));
}

TEST_CASE("atomic write: readers see the old file or the new one, whole") {
    const auto scratch = make_scratch();
    const auto path = scratch.path() / "file";
    constexpr std::size_t size = 50'000;
    constexpr int rounds = 100;
    REQUIRE(write_atomic(path, std::string(size, 'a')));
    std::atomic<bool> done{false};
    std::atomic<int> reads{0};
    std::atomic<int> torn{0};
    const auto read = [&] {
        while (!done || reads == 0) {
            const auto text = read_text(path);
            ++reads;
            if (!text || text->size() != size ||
                text->find_first_not_of(text->front()) != std::string::npos) {
                ++torn;
            }
        }
    };
    const auto write = [&](char first) {
        for (int i = 0; i < rounds; ++i) {
            if (!write_atomic(path, std::string(size, static_cast<char>(first + i % 10)))) ++torn;
        }
    };
    std::thread reader(read);
    std::thread other_writer(write, 'A');
    write('a');
    other_writer.join();
    done = true;
    reader.join();
    CHECK(torn == 0);
    CHECK(reads > 0);
    CHECK(count_entries(scratch.path()) == 1);
}

TEST_CASE("atomic write: the umask applies to the mode and stays as it is") {
    const auto scratch = make_scratch();
    const mode_t before = ::umask(027);
    const bool both = write_atomic(scratch.path() / "usual", "x").has_value() &&
                      write_atomic(scratch.path() / "open", "x", 0777).has_value();
    const mode_t during = ::umask(before);
    REQUIRE(both);
    CHECK(during == 027);
    CHECK(mode_of(scratch.path() / "usual") == 0640);
    CHECK(mode_of(scratch.path() / "open") == 0750);
}

TEST_CASE("atomic write: replaces a link, leaves its target") {
    const auto scratch = make_scratch();
    const auto target = put(scratch.path() / "target", "old");
    const auto link = scratch.path() / "link";
    std::filesystem::create_symlink(target, link);
    REQUIRE(write_atomic(link, "new"));
    CHECK(read_text(target).value() == "old");
    CHECK(read_text(link).value() == "new");
    CHECK_FALSE(std::filesystem::is_symlink(link));
}

TEST_CASE("result: makes folders, follows links and keeps the former file if it fails") {
    const auto scratch = make_scratch();
    const auto file = scratch.path() / "new" / "folder" / "file";
    REQUIRE(write_result(file, "one"));
    const auto link = scratch.path() / "link";
    const auto second = scratch.path() / "second";
    std::filesystem::create_symlink("new/folder/file", link);
    std::filesystem::create_symlink("link", second);
    REQUIRE(write_result(second, "two"));
    CHECK(read_text(file).value() == "two");
    CHECK(std::filesystem::is_symlink(link));
    CHECK(count_entries(scratch.path() / "new/folder") == 1);

    const auto dangling = scratch.path() / "dangling";
    std::filesystem::create_symlink("other/file", dangling);
    REQUIRE(write_result(dangling, "three"));
    CHECK(read_text(scratch.path() / "other/file").value() == "three");
    CHECK(std::filesystem::is_symlink(dangling));

    const auto circle = scratch.path() / "circle";
    std::filesystem::create_symlink("circle", circle);
    CHECK(write_result(circle, "x").error().native.name == "ELOOP");
    CHECK(write_result(scratch.path(), "x").error().native.name == "EISDIR");
    CHECK(write_result(file / "below", "x").error().code == lode::Errc::file_failed);
    CHECK(write_result("/dev/full", "x").error().native.name == "ENOSPC");
    CHECK(read_text(file).value() == "two");
}

TEST_CASE("result: a pipe gets all bytes, however slow its reader is") {
    const auto scratch = make_scratch();
    const auto pipe = scratch.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const std::string text(1'000'000, 'p');  // More than a pipe holds.
    bool is_written = false;
    std::thread writer([&] { is_written = write_result(pipe, text).has_value(); });
    std::string got;
    {
        std::ifstream in(pipe);
        got.assign(std::istreambuf_iterator<char>(in), {});
    }
    writer.join();
    CHECK(is_written);
    CHECK(got == text);
}

TEST_CASE("atomic write: accepts the longest name of the file system and a name without a folder") {
    const auto scratch = make_scratch();
    const auto path = scratch.path() / std::string(255, 'n');
    REQUIRE(write_atomic(path, "x"));
    CHECK(read_text(path).value() == "x");

    const int written = in_child([&] {
        return ::chdir(scratch.path().c_str()) == 0 && write_atomic("bare", "here").has_value();
    });
    CHECK(written == 1);
    CHECK(read_text(scratch.path() / "bare").value() == "here");
}

TEST_CASE("atomic write: leftover temporary files don't get in the way") {
    const auto scratch = make_scratch();
    for (int i = 0; i < 50; ++i) {
        put(scratch.path() / ("." + std::to_string(::getpid()) + "." + std::to_string(i) + ".tmp"),
            "left behind");
    }
    REQUIRE(write_atomic(scratch.path() / "file", "x"));
    CHECK(read_text(scratch.path() / "file").value() == "x");
    CHECK(count_entries(scratch.path()) == 51);
}

TEST_CASE("atomic write: a failure is file_failed and leaves nothing behind") {
    const auto scratch = make_scratch();
    const auto into_missing = write_atomic(scratch.path() / "no" / "file", "x");
    REQUIRE_FALSE(into_missing);
    CHECK(into_missing.error().code == Errc::file_failed);
    CHECK(into_missing.error().native.name == "ENOENT");
    CHECK(names(into_missing.error(), scratch.path() / "no" / "file"));

    std::filesystem::create_directory(scratch.path() / "folder");
    const auto over_folder = write_atomic(scratch.path() / "folder", "x");
    REQUIRE_FALSE(over_folder);
    CHECK(over_folder.error().native.name == "EISDIR");
    CHECK(count_entries(scratch.path()) == 1);
}

TEST_CASE("atomic write: a file past the size limit fails and the old one stays") {
    const auto scratch = make_scratch();
    const auto path = put(scratch.path() / "file", "old");
    const int code = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 0;
        const auto written = write_atomic(path, std::string(10'000, 'x'));
        return written ? 0 : written.error().native.code;
    });
    CHECK(code == EFBIG);
    CHECK(read_text(path).value() == "old");
    CHECK(count_entries(scratch.path()) == 1);
}

TEST_CASE("atomic write: a full disk is ENOSPC and the old file stays") {
    constexpr int no_mount = 255;
    const auto scratch = make_scratch();
    const int code = in_child([&] {
        if (!mount_tiny_disk(scratch.path())) return no_mount;
        const auto path = put(scratch.path() / "file", "old");
        const auto written = write_atomic(path, std::string(100'000, 'x'));
        const bool intact =
            read_text(path).value_or("") == "old" && count_entries(scratch.path()) == 1;
        return !written && intact ? written.error().native.code : 0;
    });
    if (code == no_mount) {
        MESSAGE("skipped: this machine lets no user mount a tmpfs of its own");
        return;
    }
    CHECK(code == ENOSPC);
}

TEST_CASE("file: anything but a regular file is refused at once, not read") {
    ::alarm(20);  // Opening a pipe or reading /dev/zero would never end.
    const auto scratch = make_scratch();
    const auto fifo = scratch.path() / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const auto link = scratch.path() / "link";
    std::filesystem::create_symlink(fifo, link);
    struct Row {
        std::filesystem::path path;
        const char* kind;
    };
    for (const auto& row : {Row{fifo, "a pipe"}, Row{link, "a pipe"}, Row{"/dev/zero", "a device"},
                            Row{"/dev/null", "a device"}}) {
        CAPTURE(row.path);
        for (const auto& error : {read_text(row.path).error(), read_bytes(row.path).error()}) {
            CHECK(error.code == Errc::file_failed);
            CHECK(names(error, row.path));
            CHECK_MESSAGE(error.message.find(row.kind) != std::string::npos, error.message);
        }
    }
    ::alarm(0);
}

TEST_CASE("file: a limit holds before anything is read") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "four", "1234");
    CHECK(read_text(file, 4).value() == "1234");
    const auto refused = read_text(file, 3);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::file_failed);
    CHECK(refused.error().message.find("more than 3 bytes") != std::string::npos);
    // A sparse file larger than any memory, and a file whose size the system doesn't report.
    std::filesystem::resize_file(file, std::uintmax_t{1} << 42);
    CHECK(read_bytes(file).error().code == Errc::file_failed);
    CHECK(read_text("/proc/self/status", 10).error().code == Errc::file_failed);
    CHECK(read_text("/proc/self/status").value().size() > 10);
}

TEST_CASE("file: missing folders are made for this user alone, and existing ones stay") {
    const auto scratch = make_scratch();
    std::filesystem::create_directory(scratch.path() / "there");
    ::chmod((scratch.path() / "there").c_str(), 0755);
    const auto folder = scratch.path() / "there/a/b";
    CHECK(lode::make_folders(folder) == 0);
    CHECK(lode::make_folders(folder) == 0);
    CHECK(mode_of(folder) == 0700);
    CHECK(mode_of(folder.parent_path()) == 0700);
    CHECK(mode_of(scratch.path() / "there") == 0755);
    const auto file = put(scratch.path() / "file", "");
    CHECK(lode::make_folders(file / "below" / "it") == ENOTDIR);
    std::filesystem::create_symlink("nowhere", scratch.path() / "dangling");
    CHECK(lode::make_folders(scratch.path() / "dangling" / "below") == ENOENT);
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "nowhere"));
}
