// Header sets large enough to be checked by several threads.
#include "jit/headers/header_store.hpp"

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <lode/base/unwrap.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;
using namespace lode::cache;

namespace {

constexpr std::size_t headers = 2000;

std::string text_of(std::size_t i) {
    return fmt::format("// header {}\n", i);
}

/// A folder of headers and the set that records them.
struct StoredProject {
    ScratchFolder scratch = ScratchFolder::create("lode-headers").value();
    SearchFolders folders{{}, {scratch.path()}, {}, {}, {}, {}};
    HeaderSet set;
    HeaderStore store;

    StoredProject() {
        for (std::size_t i = 0; i < headers; ++i) {
            const HeaderPath path{HeaderPath::Root::include, 0, fmt::format("{:04}.h", i)};
            unwrap(write_atomic(file(i), std::string_view(text_of(i))));
            set.headers.push_back(
                {path, stamp_of(file(i).string()).value(), true, sha256(text_of(i))});
        }
    }
    [[nodiscard]] std::filesystem::path file(std::size_t i) const {
        return scratch.path() / fmt::format("{:04}.h", i);
    }
    [[nodiscard]] HeaderCheck check() { return check_headers(set, folders, store); }
    void write(std::size_t i, const std::string& text) const {
        unwrap(write_atomic(file(i), std::string_view(text)));
    }
    /// Sets the file's modification time back by an hour, so that it differs from the set's.
    void age(std::size_t i) const {
        const auto time = std::filesystem::last_write_time(file(i));
        std::filesystem::last_write_time(file(i), time - std::chrono::hours(1));
    }
};

}  // namespace

TEST_CASE("header store: an unchanged large set has no mismatch") {
    StoredProject project;
    const HeaderCheck check = project.check();
    CHECK(check.mismatch.empty());
    CHECK(check.renewed.empty());
}

TEST_CASE("header store: an edit anywhere in a large set is found, and the first is named") {
    for (const std::size_t changed : {std::size_t{0}, headers / 3, headers / 2, headers - 1}) {
        StoredProject project;
        project.write(changed, "// edited\n");
        project.write(headers - 1, "// edited\n");
        CHECK(project.check().mismatch ==
              fmt::format("header include 0 {:04}.h has changed", changed));
        std::filesystem::remove(project.file(changed));
        CHECK(project.check().mismatch == fmt::format("header include 0 {:04}.h is gone", changed));
    }
}

TEST_CASE("header store: a file that appears before a large set's headers is found") {
    StoredProject project;
    project.set.probes.push_back(
        {{HeaderPath::Root::include, 0, "new.h"}, HeaderProbe::Kind::absent});
    CHECK(project.check().mismatch.empty());
    unwrap(write_atomic(project.scratch.path() / "new.h", std::string_view()));
    CHECK(project.check().mismatch == "include 0 new.h has appeared");
}

TEST_CASE("header store: reports every header of a large set whose time alone has changed") {
    StoredProject project;
    for (const std::size_t aged : {std::size_t{3}, headers / 2, headers - 1})
        project.age(aged);
    // Times within the current tick aren't adopted: an edit in the same tick would go unnoticed.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const HeaderCheck check = project.check();
    CHECK(check.mismatch.empty());
    REQUIRE(check.renewed.size() == 3);
    CHECK(check.renewed[0].index == 3);
    CHECK(check.renewed[1].index == headers / 2);
    CHECK(check.renewed[2].index == headers - 1);
    for (const auto& [index, stamp, settled] : check.renewed)
        CHECK(stamp == stamp_of(project.file(index).string()).value());
}
