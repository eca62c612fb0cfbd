// Files that options name for results, as a user without rights sees them.
#include "tools/lode/result_file.hpp"

#include "base/file.hpp"
#include "tests/support/child.hpp"
#include "tests/support/scratch.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

namespace {

using namespace lode::test;
using namespace lode::tool;
namespace fs = std::filesystem;

}  // namespace

TEST_CASE("result file: what this user can't write is refused, and missing folders are not") {
    constexpr uid_t nobody = 65534;
    const auto scratch = make_scratch();
    const fs::path root = scratch.path();
    const auto open = fs::perms::all;
    const auto closed = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                        fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec;
    fs::create_directory(root / "mine");
    fs::create_directory(root / "closed");
    put(root / "mine" / "protected", "x");
    fs::create_symlink("../closed/file", root / "mine" / "link");
    fs::permissions(root / "mine" / "protected", fs::perms::owner_read | fs::perms::others_read);
    fs::permissions(root / "mine", open);
    fs::permissions(root / "closed", closed);
    fs::permissions(root, open);
    const auto allows = [&](const char* file) {
        return check_result_file({"--output", root / file}, {}, "Name one in it.").has_value();
    };
    const int answers = in_child([&] {
        if (::geteuid() == 0 && ::setuid(nobody) != 0) return -1;
        return (allows("mine/new") ? 1 : 0) | (allows("mine/a/b/new") ? 2 : 0) |
               (allows("closed/new") ? 4 : 0) | (allows("closed/a/new") ? 8 : 0) |
               (allows("mine/protected") ? 16 : 0) | (allows("mine/link") ? 32 : 0) |
               (check_result_folder(root / "mine" / "a") ? 64 : 0) |
               (check_result_folder(root / "closed" / "a") ? 128 : 0);
    });
    CHECK(answers == (1 | 2 | 64));
    fs::permissions(root / "closed", open);
}

TEST_CASE("result file: a pattern is refused, but not in the name of a folder") {
    const auto scratch = make_scratch();
    const fs::path folder = fs::path(scratch.path()) / "[glob]*";
    fs::create_directory(folder);
    const auto allows = [](const fs::path& file) {
        return check_result_file({"--output", file}, {}, "Name one in it.").has_value();
    };
    CHECK(allows(folder / "out"));
    CHECK_FALSE(allows(folder / "*.pack"));
    put(folder / "what?", "x");
    CHECK(allows(folder / "what?"));
}
