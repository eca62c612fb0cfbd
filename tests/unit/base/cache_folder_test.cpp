#include "base/cache_folder.hpp"

#include "tests/support/scratch.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include <doctest/doctest.h>

using lode::default_cache_folder;
using lode::test::make_scratch;
using lode::test::put;

namespace {

/// Sets the three variables; those that aren't given are unset.
void set(const std::map<std::string, std::string>& values) {
    for (const char* name : {"LODE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
        const auto value = values.find(name);
        if (value == values.end()) {
            ::unsetenv(name);
        } else {
            ::setenv(name, value->second.c_str(), 1);
        }
    }
}

}  // namespace

TEST_CASE("cache folder: the first of three variables that names a usable place") {
    const auto scratch = make_scratch();
    const auto home = scratch.path().string();
    set({{"LODE_CACHE_DIR", "own"}, {"XDG_CACHE_HOME", "/xdg"}, {"HOME", home}});
    CHECK(default_cache_folder() == "own");
    set({{"XDG_CACHE_HOME", "/nonexistent/xdg"}, {"HOME", home}});
    CHECK(default_cache_folder() == "/nonexistent/xdg/lode");
    set({{"XDG_CACHE_HOME", "relative"}, {"HOME", home}});
    CHECK(default_cache_folder() == scratch.path() / ".cache/lode");
    set({{"HOME", home}});
    CHECK(default_cache_folder() == scratch.path() / ".cache/lode");
    set({});
    CHECK(default_cache_folder().empty());
}

TEST_CASE("cache folder: a HOME that isn't an existing folder gives none") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "file", "").string();
    for (const auto& home : {scratch.path().string() + "/missing", std::string("relative"),
                             std::string(), file, std::string("/dev/null")}) {
        CAPTURE(home);
        set({{"HOME", home}});
        CHECK(default_cache_folder().empty());
    }
}
