#include "jit/nvrtc/bundled_headers.hpp"

#include "tests/support/scratch.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <doctest/doctest.h>

using lode::BundledHeaders;
using lode::Errc;
namespace fs = std::filesystem;

namespace {

int installations = 0;
unsigned claimed = 2;
bool succeeds = true;

int fake_info(BundledHeaders::Info* info, const char** /*problem*/) {
    *info = {1, 10, 20, 13, 3, claimed};
    return 0;
}

int fake_install(const char* folder, unsigned /*flags*/, const char** problem) {
    ++installations;
    fs::create_directories(fs::path(folder) / "cccl");
    lode::test::put(fs::path(folder) / "cuda_fp16.h", "");
    *problem = "the disk is full";
    if (!succeeds) return 7;
    lode::test::put(fs::path(folder) / "cccl/version", "");
    lode::test::put(fs::path(folder) / ".nvrtc_headers_version", "");
    return 0;
}

constexpr BundledHeaders fake{&fake_install, &fake_info};

}  // namespace

TEST_CASE("bundled headers: installed once, and found from then on") {
    const auto scratch = lode::test::make_scratch();
    ::setenv("LODE_CACHE_DIR", (scratch.path() / "cache").c_str(), 1);
    ::unsetenv("LODE_CACHE");
    const auto library = lode::test::put(scratch.path() / "libnvrtc.so.13", "library");
    CHECK(lode::installed_headers(library).empty());
    REQUIRE(lode::install_headers(library, fake));
    REQUIRE(lode::install_headers(library, fake));
    CHECK(installations == 1);
    const auto folders = lode::installed_headers(library);
    REQUIRE(folders.size() == 2);
    CHECK(fs::exists(folders[0] / "cuda_fp16.h"));
    CHECK(folders[1] == folders[0] / "cccl");

    // Another build has headers of its own.
    lode::test::put(library, "another library");
    CHECK(lode::installed_headers(library).empty());
    REQUIRE(lode::install_headers(library, fake));
    CHECK(lode::installed_headers(library) != folders);

    // A folder that others can write to isn't used.
    const auto own = lode::installed_headers(library);
    fs::permissions(own[0], fs::perms::others_write, fs::perm_options::add);
    CHECK(lode::installed_headers(library).empty());
}

TEST_CASE("bundled headers: an installation that fails or lacks files leaves nothing behind") {
    const auto scratch = lode::test::make_scratch();
    ::setenv("LODE_CACHE_DIR", scratch.path().c_str(), 1);
    ::unsetenv("LODE_CACHE");
    const auto library = lode::test::put(scratch.path() / "libnvrtc.so.13", "library");
    succeeds = false;
    const auto failed = lode::install_headers(library, fake);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == Errc::compiler_failed);
    CHECK(failed.error().message == "NVRTC can't install its headers: the disk is full.");
    succeeds = true;
    claimed = 3;
    const auto incomplete = lode::install_headers(library, fake);
    REQUIRE_FALSE(incomplete);
    CHECK(incomplete.error().message == "NVRTC installed 2 headers of 3.");
    CHECK(lode::installed_headers(library).empty());
    // The lock alone.
    CHECK(lode::test::count_entries(scratch.path() / "nvrtc-headers") == 1);
}

TEST_CASE("bundled headers: nothing is written without a cache, or for an NVRTC without headers") {
    const auto scratch = lode::test::make_scratch();
    ::setenv("LODE_CACHE_DIR", (scratch.path() / "cache").c_str(), 1);
    const auto library = lode::test::put(scratch.path() / "libnvrtc.so.13", "library");
    for (const char* mode : {"off", "read-only"}) {
        ::setenv("LODE_CACHE", mode, 1);
        const auto refused = lode::install_headers(library, fake);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::not_found);
    }
    ::unsetenv("LODE_CACHE");
    CHECK(lode::install_headers(library, {}).error().code == Errc::not_found);
    CHECK_FALSE(fs::exists(scratch.path() / "cache"));
}
