#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

/// A source file and its own cache.
class CachedProject {
public:
    CachedProject() : file_(put(folder_.path() / "saxpy.cu", saxpy_source)) {
        environment_["LODE_CACHE"] = "on";
        environment_["LODE_CACHE_DIR"] = (folder_.path() / "cache").string();
        // The cache doesn't trust headers that were written a moment ago.
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    [[nodiscard]] Outcome run(const std::vector<std::string>& arguments) const {
        return ::lode::test::lode(arguments, environment_);
    }
    [[nodiscard]] Outcome compile(const std::string& more = "--ptx") const {
        return run({"compile", file_.string(), "-o", (folder_.path() / "out").string(), "--arch",
                    "sm_90", "--json", more});
    }
    [[nodiscard]] std::string file() const { return file_.string(); }
    [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

private:
    lode::ScratchFolder folder_ = make_scratch();
    std::filesystem::path file_;
    Environment environment_ = no_driver;
};

}  // namespace

TEST_CASE("lode cache: the second compilation is a hit, and the commands say so") {
    const CachedProject project;
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "compiler");
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "disk");

    const auto stats = project.run({"cache", "stats", "--json"}).json();
    CHECK(stats["kinds"]["entries"]["count"] == 1);
    CHECK(stats["damaged"] == 0);
    const auto list = project.run({"cache", "list", "--json"}).json();
    REQUIRE(list["entries"].size() == 1);
    CHECK(list["entries"][0]["arch"] == "sm_90");
    const std::string key = list["entries"][0]["key"];
    const auto show = project.run({"cache", "show", key.substr(0, 10)});
    CHECK(show.exit_code == 0);
    CHECK(show.says("source.sha256"));
    CHECK(project.run({"cache", "show", "zz"}).exit_code == 1);
}

TEST_CASE("lode cache: why names the fields that differ from the nearest entry") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const auto hit = project.run({"cache", "why", project.file(), "--arch", "sm_90", "--json"});
    CHECK(hit.json()["hit"] == true);
    const auto miss =
        project.run({"cache", "why", project.file(), "--arch", "sm_80", "-DA=1", "--json"}).json();
    CHECK(miss["hit"] == false);
    REQUIRE(miss["differences"].size() == 2);
    CHECK(miss["differences"][0]["field"] == "arch");
    CHECK(miss["differences"][0]["wanted"] == "sm_80");
    CHECK(miss["differences"][0]["nearest"] == "sm_90");
    CHECK(miss["differences"][1]["field"] == "flag");
}

TEST_CASE("lode cache: verify finds a damaged record, repairs it on request") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    CHECK(project.run({"cache", "verify"}).exit_code == 0);
    for (const auto& item : std::filesystem::recursive_directory_iterator(
             project.folder() / "cache" / "v5" / "entries")) {
        if (item.is_regular_file()) std::filesystem::resize_file(item.path(), 100);
    }
    const auto found = project.run({"cache", "verify"});
    CHECK(found.exit_code == 1);
    CHECK(found.complains("damaged"));
    CHECK(project.run({"cache", "verify", "--repair"}).exit_code == 0);
    CHECK(project.run({"cache", "verify"}).exit_code == 0);
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "compiler");
}

TEST_CASE("lode cache: a pack carries entries to another cache") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const std::string pack = (project.folder() / "all.pack").string();
    CHECK(project.run({"cache", "pack", pack}).exit_code == 0);
    CHECK(project.run({"cache", "clear"}).exit_code == 0);
    CHECK(project.run({"cache", "stats", "--json"}).json()["bytes"] == 0);
    const auto unpacked = project.run({"cache", "unpack", pack, "--json"}).json();
    CHECK(unpacked["entries"] == 1);
    CHECK(project.compile().json()["images"][0]["code"]["from"] == "disk");
}

TEST_CASE("lode cache: gc keeps to a size limit, and bad usage is reported") {
    const CachedProject project;
    CHECK(project.compile().exit_code == 0);
    const auto swept = project.run({"cache", "gc", "--max-bytes", "0", "--json"}).json();
    CHECK(swept["removed_records"] == swept["records"]);
    CHECK(project.run({"cache"}).exit_code == 2);
    CHECK(project.run({"cache", "why", project.file()}).exit_code == 2);
}
