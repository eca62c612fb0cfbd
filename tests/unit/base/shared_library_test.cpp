#include "base/shared_library.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

#include <doctest/doctest.h>
#include <fmt/format.h>

using lode::Errc;
using lode::open_first;
using lode::SharedLibrary;
using lode::test::contains;

extern "C" {
/// As <lode/base/package.h> defines it.
__attribute__((visibility("hidden"))) const char* lode_package = nullptr;
}

TEST_CASE("shared library: opens a bare name and says which file was opened") {
    const auto library = SharedLibrary::open("libm.so.6");
    REQUIRE(library);
    CHECK(*library);
    CHECK(library->path().is_absolute());
    CHECK(std::filesystem::exists(library->path()));
    CHECK(library->symbol("cos") != nullptr);
    CHECK(library->symbol("no_such_function_anywhere") == nullptr);

    const auto by_path = SharedLibrary::open(library->path());
    REQUIRE(by_path);
    CHECK(by_path->symbol("cos") == library->symbol("cos"));
}

TEST_CASE("shared library: an empty library has no symbols") {
    const SharedLibrary none;
    CHECK_FALSE(none);
    CHECK(none.symbol("cos") == nullptr);
}

TEST_CASE("shared library: a missing library is not_found, with the loader's message") {
    const auto library = SharedLibrary::open("liblode_no_such_library.so.9");
    REQUIRE_FALSE(library);
    CHECK(library.error().code == Errc::not_found);
    CHECK(contains(library.error().message, "liblode_no_such_library.so.9"));
}

TEST_CASE("library search: opens the first place that works and reports the places before it") {
    const auto scratch = lode::test::make_scratch();
    const auto broken = lode::test::put(scratch.path() / "libbroken.so", "this is no library");
    const auto missing = scratch.path() / "libmissing.so";
    const auto search = open_first({{"LODE_NVRTC", missing},
                                    {"CUDA_HOME", broken},
                                    {"CUDA_PATH", scratch.path()},
                                    {"the loader's path", "libm.so.6"},
                                    {"never reached", "libm.so.6"}});
    REQUIRE(search.library);
    CHECK(search.library.symbol("cos") != nullptr);
    REQUIRE(search.attempts.size() == 4);
    CHECK(search.attempts[0].outcome == "no such file");
    CHECK(search.attempts[1].outcome.starts_with("not loadable: "));
    CHECK(search.attempts[2].outcome.starts_with("not loadable: "));
    CHECK(search.attempts[3].outcome == "opened");
    CHECK(search.describe() == "  " + missing.string() + " (LODE_NVRTC): no such file\n  " +
                                   broken.string() + " (CUDA_HOME): " + search.attempts[1].outcome +
                                   "\n  " + scratch.path().string() +
                                   " (CUDA_PATH): " + search.attempts[2].outcome +
                                   "\n  libm.so.6 (the loader's path): opened");
}

TEST_CASE("library search: a search without success returns an empty library and all attempts") {
    const auto search = open_first({{"a", "/no/such/folder/liba.so"}, {"b", "libno_such_b.so"}});
    CHECK_FALSE(search.library);
    CHECK(search.attempts.size() == 2);
    CHECK(open_first({}).describe().empty());
}

TEST_CASE("library search: distinguishes a place that can't be examined from a missing one") {
    const std::string endless(5000, 'x');  // Longer than any valid path.
    const auto search = open_first({{"a", "/" + endless + "/liba.so"}});
    REQUIRE(search.attempts.size() == 1);
    CHECK(search.attempts[0].outcome ==
          std::make_error_code(std::errc::filename_too_long).message());
}

TEST_CASE("executable folder: holds the running program") {
    CHECK(std::filesystem::exists(lode::executable_folder() / "lode_unit_base"));
}

TEST_CASE("this code's folder: is the program's") {
    CHECK(lode::folder_of_this_code() == lode::executable_folder());
}

TEST_CASE("this code's folder: doesn't depend on the name by which the program runs") {
    const auto command = fmt::format(
        R"(cd / && exec bash -c 'exec -a elsewhere "$0" -tc="this code*is the program*"' '{}')",
        (lode::executable_folder() / "lode_unit_base").string());
    CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("package: its folder of programs is known by the path of its header") {
    lode_package = "/opt/somewhere/include/lode/base/package.h";
    CHECK(lode::package_programs_folder() == "/opt/somewhere/bin");
    lode_package = "/opt/here/lib/pkgconfig/../../include/lode/base/package.h";
    CHECK(lode::package_programs_folder() == "/opt/here/bin");
    // Relative to the folder of a compiler that has ended long ago.
    lode_package = "../include/lode/base/package.h";
    CHECK(lode::package_programs_folder().empty());
}
