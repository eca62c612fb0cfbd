// The command's warnings: one line each, printed once, and also in the JSON.
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// How often `part` occurs in `text`.
int count_of(const std::string& text, std::string_view part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace

TEST_CASE("warnings: every command reports once that a cache folder can't be used") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const auto out = folder.path().string();
    const std::vector<std::string> lines[] = {
        {"compile", file, "--arch", "sm_80,sm_90", "--out-dir", out},
        {"compile", file, "--for", "9.0", "--out-dir", out},
        {"compile", file, "--out-dir", out},
        {"run", file, "saxpy", "--arch", "compute_90", "--cover", "4", "--", "2f", "f32[4]",
         "f32[4]", "4"}};
    for (auto line : lines) {
        CAPTURE(line.front());
        const Environment environment = {{"LODE_CACHE", "on"},
                                         {"LODE_CACHE_DIR", "/proc/nonexistent"},
                                         {"LODE_DRIVER", LODE_SCRIPTED_DRIVER}};
        const auto text = lode::test::lode(line, environment);
        CHECK(text.exit_code == 0);
        CHECK_MESSAGE(text.err.starts_with("lode: The cache "), text.err);
        CHECK(text.err.find("Creating the cache folder fails") != std::string::npos);
        CHECK_MESSAGE(count_of(text.err, "/proc/nonexistent") == 1, text.err);
        CHECK(count_of(text.err, "\n") == 1);

        line.insert(line.begin() + 1, "--json");
        const auto outcome = lode::test::lode(line, environment);
        const auto json = outcome.json();
        REQUIRE(json["warnings"].size() == 1);
        const std::string warning = json["warnings"][0];
        CHECK(outcome.err == "lode: " + warning + "\n");
        CHECK(warning.find("/proc/nonexistent") != std::string::npos);
    }
}

TEST_CASE("warnings: a HOME that doesn't exist isn't created, and the cache does without") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const auto home = folder.path() / "missing" / "home";
    Environment environment = no_driver;
    environment["LODE_CACHE"] = "on";
    environment["LODE_CACHE_DIR"] = "";
    environment["XDG_CACHE_HOME"] = "";
    environment["HOME"] = home.string();
    const auto compile = [&] {
        return lode::test::lode(
            {"compile", file, "--arch", "sm_80", "--out-dir", folder.path().string()}, environment);
    };
    auto outcome = compile();
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.err.empty());
    CHECK_FALSE(std::filesystem::exists(home.parent_path()));

    environment["XDG_CACHE_HOME"] = (folder.path() / "xdg").string();
    outcome = compile();
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(std::filesystem::exists(folder.path() / "xdg" / "lode"));
    CHECK_FALSE(std::filesystem::exists(home.parent_path()));
}

TEST_CASE("warnings: anything else in a record's place is reported or removed") {
    const auto folder = make_scratch();
    const auto file =
        put(folder.path() / "a.cu", std::string("#include \"b.h\"\n") + std::string(saxpy_source));
    put(folder.path() / "b.h", "// A header, so that there is a manifest.\n");
    Environment environment = no_driver;
    environment["LODE_CACHE"] = "on";
    environment["LODE_CACHE_DIR"] = (folder.path() / "cache").string();
    const auto compile = [&] {
        return lode::test::lode({"compile", file.string(), "--arch", "sm_90", "--json", "--out-dir",
                                 folder.path().string()},
                                environment)
            .json();
    };
    REQUIRE(compile()["ok"] == true);
    REQUIRE(compile()["images"][0]["code"]["from"] == "disk");
    std::filesystem::path manifest;
    for (const auto& item :
         std::filesystem::recursive_directory_iterator(folder.path() / "cache")) {
        if (item.is_regular_file() && item.path().string().find("/manifests/") != std::string::npos)
            manifest = item.path();
    }
    REQUIRE(!manifest.empty());

    // The cache removes a symbolic link that stands in place of the manifest's folder.
    const auto fan = manifest.parent_path();
    std::filesystem::rename(fan, folder.path() / "moved");
    std::filesystem::create_directory_symlink(folder.path() / "moved", fan);
    CHECK(compile()["images"][0]["code"]["from"] == "compiler");
    CHECK(compile()["images"][0]["code"]["from"] == "disk");

    // A folder in place of the manifest causes a warning every time.
    std::filesystem::remove(manifest);
    std::filesystem::create_directory(manifest);
    for (int run = 0; run < 2; ++run) {
        const auto json = compile();
        CHECK(json["images"][0]["code"]["from"] == "compiler");
        REQUIRE(json["warnings"].size() == 1);
        const std::string warning = json["warnings"][0];
        CHECK_MESSAGE(warning.find(manifest.string()) != std::string::npos, warning);
    }
}

TEST_CASE(
    "warnings: a pack that can't be read is reported, and without warnings the list is empty") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const std::vector<std::string> line = {
        "compile", file, "--arch", "compute_90", "--out-dir", folder.path().string(), "--json"};
    Environment environment = no_driver;
    environment["LODE_CACHE"] = "on";
    environment["LODE_CACHE_DIR"] = (folder.path() / "cache").string();
    CHECK(lode::test::lode(line, environment).json()["warnings"].empty());
    environment["LODE_CACHE_PACKS"] = "/nonexistent/a.pack";
    const auto outcome = lode::test::lode(line, environment);
    CHECK(outcome.exit_code == 0);
    CHECK_MESSAGE(count_of(outcome.err, "/nonexistent/a.pack") == 1, outcome.err);
    CHECK(outcome.json()["warnings"].size() == 1);
}

TEST_CASE("warnings: an NVRTC that can't be opened is reported once") {
    const auto folder = make_scratch();
    const auto file = put(folder.path() / "saxpy.cu", saxpy_source).string();
    const std::vector<std::string> lines[] = {
        {"compile", file, "--arch", "sm_90"},
        {"compile", file},
        {"run", file, "saxpy", "--cover", "4", "--", "2f", "f32[4]", "f32[4]", "4"}};
    for (const char* nvrtc : {"/nonexistent/nvrtc", "/etc/passwd"}) {
        const Environment environment = {{"LODE_NVRTC", nvrtc},
                                         {"LODE_CACHE_DIR", (folder.path() / "cache").string()},
                                         {"LODE_DRIVER", LODE_SCRIPTED_DRIVER}};
        for (const auto& line : lines) {
            CAPTURE(line.front());
            CAPTURE(nvrtc);
            const auto outcome = lode::test::lode(line, environment);
            CHECK(outcome.exit_code == 1);
            CHECK_MESSAGE(count_of(outcome.err, "No usable NVRTC library can be found") == 1,
                          outcome.err);
        }
        const auto info = lode::test::lode({"info"}, environment);
        CHECK(info.exit_code == 0);
        CHECK(info.err.empty());
        CHECK_MESSAGE(count_of(info.out, "No usable NVRTC library can be found") == 1, info.out);
    }
}
