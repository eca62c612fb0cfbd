// `lode init`. tests/consumer builds what it writes.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <doctest/doctest.h>

namespace fs = std::filesystem;

namespace {

using namespace lode::test;

/// The files of a folder, by their names relative to it.
std::set<std::string> files_of(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (!entry.is_directory()) names.insert(fs::relative(entry.path(), folder));
    return names;
}

}  // namespace

TEST_CASE("lode init: writes a project and says what to type next") {
    const auto scratch = make_scratch();
    const auto app = scratch.path() / "new" / "my app";
    const auto made = lode::test::lode({"init", app.string()}, no_driver);
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    CHECK(files_of(app) == std::set<std::string>{".gitignore", "CMakeLists.txt", "README.md",
                                                 "kernels/saxpy.cu", "main.cpp"});
    CHECK_CONTAINS(made.out, "Next:\n\n    cd '" + app.string() + "'\n    cmake -B build");
    CHECK_CONTAINS(made.out, "\n    cmake --build build\n    build/app\n");
    // A build's command has no package beside it.
    CHECK(made.says("CMAKE_PREFIX_PATH"));
}

TEST_CASE("lode init: --c writes a C program, and --json lists files and commands") {
    const auto scratch = make_scratch();
    const auto made = lode::test::lode({"init", "--c", "--json", scratch.path().string()});
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const auto json = made.json();
    CHECK(json["folder"] == scratch.path().string());
    CHECK(json["next"].back() == "build/app");
    CHECK(json["files"].get<std::set<std::string>>() == files_of(scratch.path()));
    CHECK(files_of(scratch.path()).contains("main.c"));
}

TEST_CASE("lode init: overwrites nothing") {
    const auto scratch = make_scratch();
    const auto mine = put(scratch.path() / "main.cpp", "mine").string();
    fs::create_symlink("nowhere", scratch.path() / "README.md");
    const auto before = files_of(scratch.path());
    const auto refused = lode::test::lode({"init", scratch.path().string()});
    CHECK(refused.exit_code == 2);
    CHECK_CONTAINS(refused.err,
                   "already has main.cpp, README.md, and lode init overwrites no file");
    CHECK(files_of(scratch.path()) == before);
    CHECK(lode::read_text(mine).value() == "mine");
}

TEST_CASE("lode init: what fails half-way leaves no file") {
    const auto scratch = make_scratch();
    const auto kernels = put(scratch.path() / "kernels", "mine").string();
    const auto refused = lode::test::lode({"init", scratch.path().string()});
    CHECK(refused.exit_code == 2);
    CHECK_CONTAINS(refused.err, kernels + "' isn't a folder");
    CHECK(files_of(scratch.path()) == std::set<std::string>{"kernels"});

    const auto app = scratch.path() / "app";
    const auto limited = "ulimit -f 1; " LODE_COMMAND " init '" + app.string() + "' 2>/dev/null";
    CHECK(std::system(limited.c_str()) != 0);  // CMakeLists.txt fits, main.cpp doesn't.
    CHECK(files_of(app).empty());
}

TEST_CASE("lode init: refuses what can't be a folder") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "file", "").string();
    for (const std::string& folder : {file, file + "/app", std::string()}) {
        CAPTURE(folder);
        const auto refused = lode::test::lode({"init", folder});
        CHECK(refused.exit_code == 2);
        CHECK_CONTAINS(refused.err, folder.empty() ? "DIR is empty" : file + "' isn't a folder");
    }
    fs::create_symlink("nowhere", scratch.path() / "link");
    const auto link = (scratch.path() / "link").string();
    CHECK_CONTAINS(lode::test::lode({"init", link}).err, link + "' isn't a folder");
    CHECK(lode::test::lode({"init"}).exit_code == 2);
    CHECK(lode::test::lode({"init", "a", "b"}).exit_code == 2);
}
