#include "tools/lode/doctor.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using lode::test::contains;
using lode::tool::Effect;
using lode::tool::FileSystem;
using lode::tool::Findings;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

/// The only finding about a file system; "" if there is none.
std::string judged(const FileSystem& system) {
    Findings findings;
    lode::tool::check_file_system("/cache", system, findings);
    CHECK(findings.size() <= 1);
    if (findings.empty()) return {};
    CHECK(findings[0].effect == Effect::slow);
    CHECK(findings[0].cure.find("LODE_CACHE_DIR") != std::string::npos);
    return findings[0].message;
}

}  // namespace

TEST_CASE("doctor: a cache on a network file system, in memory or on a full disk is slow") {
    CHECK(judged({.type = 0xEF53, .free_bytes = gibibyte}).empty());
    CHECK(judged({.type = 0x794C7630, .free_bytes = gibibyte}).empty());
    CHECK(judged({.type = 0x6969, .free_bytes = gibibyte}) ==
          "The cache in /cache is on NFS: each hit reads and compares every header, and processes "
          "may compile the same kernel twice.");
    CHECK(contains(judged({.type = 0x65735546, .free_bytes = gibibyte}), "is on FUSE:"));
    CHECK(judged({.type = 0x01021994, .free_bytes = gibibyte}) ==
          "The cache in /cache is in memory (tmpfs): after a restart of the machine every kernel "
          "is compiled again.");
    CHECK(judged({.type = 0xEF53, .free_bytes = 1 << 20}) ==
          "The disk of the cache in /cache is full: 1.0 MiB are left, 64.0 MiB are needed for "
          "sure.");
    CHECK(judged({.type = 0xEF53, .free_bytes = gibibyte, .has_files_left = false}) ==
          "The file system of the cache in /cache takes no more files.");
}

TEST_CASE("doctor: headers of the toolkit are found in any folder, and missing ones are named") {
    const auto scratch = lode::test::make_scratch();
    const auto one = scratch.path() / "one";
    const auto two = scratch.path() / "two";
    std::filesystem::create_directories(one / "cuda/std");
    std::filesystem::create_directories(two / "cub");
    lode::test::put(one / "cuda/std/type_traits", "");
    lode::test::put(two / "cub/cub.cuh", "");
    const std::filesystem::path folders[] = {one, two};
    Findings findings;
    lode::tool::check_toolkit_headers(folders, findings);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].effect == Effect::may_fail);
    CHECK(findings[0].message ==
          "The toolkit's headers are missing or incomplete: kernels that include cuda_fp16.h don't "
          "compile.");
    lode::test::put(two / "cuda_fp16.h", "");
    findings.clear();
    lode::tool::check_toolkit_headers(folders, findings);
    CHECK(findings.empty());
    lode::tool::check_toolkit_headers({}, findings);
    REQUIRE(findings.size() == 1);
    CHECK(contains(findings[0].message, "cuda_fp16.h, cuda/std/type_traits, cub/cub.cuh"));
}

TEST_CASE("doctor: variables of the driver matter for PTX only where it compiles PTX") {
    ::setenv("CUDA_CACHE_DISABLE", "1", 1);
    ::setenv("CUDA_DISABLE_PTX_JIT", "1", 1);
    Findings findings;
    lode::tool::check_driver_variables(false, findings);
    CHECK(findings.empty());
    lode::tool::check_driver_variables(true, findings);
    REQUIRE(findings.size() == 2);
    CHECK(findings[0].check == "CUDA_CACHE_DISABLE");
    CHECK(findings[0].effect == Effect::slow);
    CHECK(findings[1].check == "CUDA_DISABLE_PTX_JIT");
    CHECK(findings[1].effect == Effect::fails);
    ::unsetenv("CUDA_CACHE_DISABLE");
    ::unsetenv("CUDA_DISABLE_PTX_JIT");
}

TEST_CASE("doctor: the words for effects are those of the documentation") {
    CHECK(to_string(Effect::fails) == "fails");
    CHECK(to_string(Effect::may_fail) == "may fail");
    CHECK(to_string(Effect::slow) == "slow");
}
