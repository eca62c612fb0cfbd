#include "base/try.hpp"

#include <lode/base/error.hpp>
#include <lode/base/unwrap.hpp>

#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

using lode::Errc;
using lode::Error;
using lode::Native;
using lode::Result;
using lode::Status;

namespace {

constexpr int last_code = static_cast<int>(Errc::cancelled);

Result<int> half_of(int number) {
    if (number % 2 != 0) return lode::fail(Errc::invalid_argument, "The number is odd.");
    return number / 2;
}

Result<std::string> quarter_of(int number) {
    LODE_TRY_ASSIGN(const int half, half_of(number));
    int quarter = 0;
    LODE_TRY_ASSIGN(quarter, half_of(half));
    return std::to_string(quarter);
}

Status require_even(int number) {
    LODE_TRY(half_of(number));
    return {};
}

}  // namespace

TEST_CASE("error: every code has its own spelling") {
    std::set<std::string_view> names;
    for (int code = 1; code <= last_code; ++code) {
        names.insert(lode::to_string(static_cast<Errc>(code)));
    }
    CHECK(names.size() == last_code);
    CHECK_FALSE(names.contains("unknown"));
    CHECK(lode::to_string(static_cast<Errc>(0)) == "unknown");
    CHECK(lode::to_string(static_cast<Errc>(last_code + 1)) == "unknown");
}

TEST_CASE("error: each layer adds a line") {
    Error error{Errc::not_found, "Kernel 'reduce' doesn't exist."};
    error.in("loading reduce").in("opening the application");
    CHECK(error.message ==
          "Kernel 'reduce' doesn't exist.\n  while loading reduce\n  while opening the "
          "application");

    const Error moved = Error{Errc::not_found, "It isn't there."}.in("looking");
    CHECK(moved.message == "It isn't there.\n  while looking");
}

TEST_CASE("error: describe gives code, message, native code and log") {
    Error error{Errc::compile_failed, "saxpy.cu:3: error: no."};
    CHECK(error.describe() == "compile_failed: saxpy.cu:3: error: no.");

    error.native = {Native::Origin::nvrtc, 6, "NVRTC_ERROR_COMPILATION"};
    error.log = "the whole log";
    CHECK(error.describe() ==
          "compile_failed: saxpy.cu:3: error: no.\n"
          "  native code: NVRTC_ERROR_COMPILATION (6)\n"
          "the whole log");
}

TEST_CASE("error: fail makes the error side of any result") {
    const Result<std::unique_ptr<int>> result = lode::fail(
        Errc::out_of_memory, "Nothing is left.", {Native::Origin::system, 12, "ENOMEM"}, "a log");
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::out_of_memory);
    CHECK(result.error().native == Native{Native::Origin::system, 12, "ENOMEM"});
    CHECK(result.error().log == "a log");
}

TEST_CASE("try: execution continues with a value and returns with an error") {
    CHECK(quarter_of(12).value() == "3");
    REQUIRE_FALSE(quarter_of(6));
    CHECK(quarter_of(6).error().message == "The number is odd.");
    CHECK(require_even(2));
    REQUIRE_FALSE(require_even(3));
    CHECK(require_even(3).error().code == Errc::invalid_argument);
}

TEST_CASE("unwrap: moves the value out") {
    auto value = lode::unwrap(Result<std::unique_ptr<int>>(std::make_unique<int>(7)));
    REQUIRE(value);
    CHECK(*value == 7);
    CHECK_NOTHROW(lode::unwrap(Status{}));
}

TEST_CASE("unwrap: throws an exception that carries the error") {
    const auto code_thrown = [](auto&& attempt) {
        try {
            attempt();
        } catch (const lode::Exception& exception) {
            CHECK(std::string(exception.what()) == exception.error().describe());
            return exception.error().code;
        }
        return Errc{};
    };
    CHECK(code_thrown([] { lode::unwrap(half_of(3)); }) == Errc::invalid_argument);
    CHECK(code_thrown([] { lode::unwrap(Status(lode::fail(Errc::not_ready, "Not yet."))); }) ==
          Errc::not_ready);
}
