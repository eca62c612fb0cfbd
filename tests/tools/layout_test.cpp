#include "tools/lode/layout.hpp"

#include "tools/lode/report.hpp"

#include <doctest/doctest.h>

using namespace lode::tool;

TEST_CASE("layout: lines are broken at spaces, and what goes on is indented") {
    CHECK(wrapped("one two three", 9, 2) == "one two\n  three");
    CHECK(wrapped("  one two three", 9, 2) == "  one two\n    three");
    CHECK(wrapped("one two\nthree four", 7, 0) == "one two\nthree\nfour");
    CHECK(wrapped("a  b   c", 80, 0) == "a  b   c");  // Columns stay.
    CHECK(wrapped("one /a/long/path/that/stays two", 8, 1) ==
          "one\n /a/long/path/that/stays\n two");
    CHECK(wrapped("äö äö äö", 5, 0) == "äö äö\näö");  // Columns count, not bytes.
    CHECK(wrapped("one two", any_width, 2) == "one two");
    CHECK(wrapped("\none \n", 80, 2) == "\none\n");
    CHECK(wrapped("", 80, 2).empty());
}

TEST_CASE("layout: a section's values go on under each other") {
    Section section("Title");
    section.row("a", "one two three");
    section.row("label", "four\n  five six");
    CHECK(section.to_string() ==
          "Title\n  a      one two three\n  label  four\n           five six\n");
    CHECK(section.to_string(17) ==
          "Title\n  a      one two\n         three\n  label  four\n           five\n           "
          "six\n");
}

TEST_CASE("layout: an error's message is broken, and the compiler's log isn't") {
    const lode::Error error{lode::Errc::compile_failed,
                            "It fails here.\n  in one place",
                            {},
                            "a.cu(1): error: x\n    ^\n"};
    CHECK(error_text(error, CompilerLog::whole, {}, 14) ==
          "lode: It fails\n      here.\n  in one place\na.cu(1): error: x\n    ^\n");
}

TEST_CASE("layout: the log of a wrong name is left out unless it is asked for") {
    const lode::Error error{lode::Errc::not_found, "'x' isn't there.", {}, "__nv_name_map(2): x\n"};
    CHECK(error_text(error, CompilerLog::first_errors) == "lode: 'x' isn't there.\n");
    CHECK(error_text(error, CompilerLog::whole) == "lode: 'x' isn't there.\n__nv_name_map(2): x\n");
}

TEST_CASE("layout: the findings after the first are broken too, below a blank line") {
    const lode::Error error{lode::Errc::device_lost,
                            "a.cu:1: k reads\n  thread: 0\nThere are more.",
                            {},
                            "a.cu:1: k reads\n  thread: 0\na.cu:2: k writes past\n  thread: 1\n"};
    CHECK(error_text(error, CompilerLog::whole, {}, 21) ==
          "lode: a.cu:1: k reads\n  thread: 0\nThere are more.\n\n"
          "a.cu:2: k writes past\n  thread: 1\n");
    CHECK(error_text(error, CompilerLog::whole, {}, 20)
              .ends_with("\n\na.cu:2: k writes\n      past\n  thread: 1\n"));
}
