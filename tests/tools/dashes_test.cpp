// What follows "--" on the command line.
#include "tests/tools/process.hpp"

#include <doctest/doctest.h>

namespace {

using namespace lode::test;

constexpr const char* words[] = {"--help",   "--version", "-h",    "--json", "--",
                                 "--grid=1", "-I/tmp",    "stats", "info",   "\x1f--help"};

}  // namespace

TEST_CASE("dashes: everything after -- is an argument of the kernel") {
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "a.cu", "").string();
    for (const char* word : words) {
        CAPTURE(word);
        const auto outcome =
            lode::test::lode({"run", file, "k", "--grid", "1", "--", "1", word}, no_driver);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        // A control character is shown by its number.
        const std::string shown = word[0] == '\x1f' ? "\\x1f--help" : word;
        CHECK_MESSAGE(outcome.complains("Argument 2 ('" + shown + "')"), outcome.err);
    }
}

TEST_CASE("dashes: everything after -- is an argument in every command") {
    const std::vector<std::string> none[] = {{"info", "/dev/null"}, {"cache", "stats"}, {"cache"}};
    for (auto command : none) {
        for (const char* word : words) {
            CAPTURE(command.front());
            CAPTURE(word);
            auto arguments = command;
            arguments.insert(arguments.end(), {"--", word});
            const auto outcome = lode::test::lode(arguments, no_driver);
            CHECK(outcome.exit_code == 2);
            CHECK(outcome.out.empty());
            CHECK(outcome.err.starts_with("lode: "));
        }
    }
}

TEST_CASE("dashes: a file whose name looks like an option can be named after --") {
    const auto compile =
        lode::test::lode({"compile", "--arch", "sm_90", "--", "--help"}, no_driver);
    CHECK(compile.exit_code == 1);
    CHECK_MESSAGE(compile.complains("File '--help' doesn't exist."), compile.err);
    const auto why =
        lode::test::lode({"cache", "why", "--arch", "sm_90", "--", "--version"}, no_driver);
    CHECK(why.exit_code == 1);
    CHECK_MESSAGE(why.complains("File '--version' doesn't exist."), why.err);
    const auto info = lode::test::lode({"info", "--", "--help"}, no_driver);
    CHECK(info.exit_code == 1);
    CHECK_MESSAGE(info.complains("File '--help' doesn't exist."), info.err);
    const auto variants = lode::test::lode({"variants", "--", "--help"}, no_driver);
    CHECK(variants.exit_code == 2);
    CHECK_MESSAGE(variants.complains("There is no kernel family '--help'."), variants.err);
}
