// The record of a precompiled header: its format, and its conditions.
#include "jit/pch/record.hpp"

#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::test;
using pch::Conditions;

namespace {

void write_text(const std::filesystem::path& path, std::string_view text) {
    std::ofstream(path) << text;
}

/// What a compilation that reads a.h, looks at b.h and misses c.h has asked.
FileAccesses asked(const std::filesystem::path& folder) {
    FileAccesses accesses;
    accesses.ask((folder / "a.h").native(), true).consumed = true;
    (void)accesses.ask((folder / "b.h").native(), false);
    (void)accesses.ask((folder / "c.h").native(), false);
    (void)accesses.ask(folder.native(), false);
    (void)accesses.ask((folder / "source.cu").native(), true);
    accesses.note_variable("LODE_TEST_PCH", std::getenv("LODE_TEST_PCH"));
    return accesses;
}

}  // namespace

TEST_CASE("pch record: it comes out as it went in, and no damage gets through") {
    auto folder = make_scratch();
    write_text(folder.path() / "a.h", "a");
    write_text(folder.path() / "b.h", "b");
    pch::PchRecord record;
    record.key_text = "key";
    record.size = 171;
    record.content = sha256("content");
    record.verified = {{1, 2, 3, 4, 5}, "boot"};
    record.conditions = require(Conditions::of(asked(folder.path()), "source.cu"));
    const Bytes bytes = pch::format_record(record);
    CHECK(require(pch::parse_record(bytes)) == record);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        CHECK_FALSE(pch::parse_record(std::span(bytes).first(at)).has_value());
        Bytes changed = bytes;
        changed[at] ^= std::byte{1};
        CHECK_FALSE(pch::parse_record(changed).has_value());
    }
}

TEST_CASE("pch conditions: they hold until an answer changes, and repeat every question") {
    auto folder = make_scratch();
    const auto& path = folder.path();
    write_text(path / "a.h", "one");
    write_text(path / "b.h", "b");
    write_text(path / "source.cu", "source");
    const auto first = asked(path);
    const auto conditions = require(Conditions::of(first, (path / "source.cu").native()));
    const auto hold = [&] {
        FileAccesses again;
        return conditions.hold(again);
    };
    FileAccesses again;
    REQUIRE(conditions.hold(again));
    CHECK(again.variables() == first.variables());
    for (const auto& [name, answer] : first.answers()) {
        if (name == (path / "source.cu").native()) continue;
        CAPTURE(name);
        REQUIRE(again.answers().contains(name));
        const auto& repeated = again.answers().at(name);
        CHECK(repeated.kind == answer.kind);
        CHECK(repeated.consumed == answer.consumed);
        CHECK((repeated.content != nullptr) == (answer.content != nullptr));
    }
    CHECK_FALSE(again.answers().contains((path / "source.cu").native()));

    SUBCASE("the source itself isn't a condition") {
        write_text(path / "source.cu", "another");
        CHECK(hold());
    }
    SUBCASE("a header with the same content is the same") {
        write_text(path / "a.h", "one");
        CHECK(hold());
    }
    SUBCASE("a header of the same size with another content") {
        write_text(path / "a.h", "two");
        CHECK_FALSE(hold());
    }
    SUBCASE("a header vanishes") {
        std::filesystem::remove(path / "a.h");
        CHECK_FALSE(hold());
    }
    SUBCASE("a file that was only looked at is another one") {
        std::filesystem::rename(path / "a.h", path / "b.h");
        write_text(path / "a.h", "one");
        CHECK_FALSE(hold());
    }
    SUBCASE("a file appears") {
        write_text(path / "c.h", "");
        CHECK_FALSE(hold());
    }
    SUBCASE("a variable changes") {
        ::setenv("LODE_TEST_PCH", "1", 1);
        CHECK_FALSE(hold());
        ::unsetenv("LODE_TEST_PCH");
        CHECK(hold());
    }
}

TEST_CASE("pch conditions: what can't be asked again is refused") {
    FileAccesses accesses;
    accesses.note_unforeseen("listing '/x'");
    CHECK(require_error(Conditions::of(accesses, "")).code == Errc::not_supported);
    FileAccesses device;
    (void)device.ask("/dev/null", true);
    CHECK(require_error(Conditions::of(device, "")).code == Errc::not_supported);
}
