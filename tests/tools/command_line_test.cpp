// How the command reads its words: suggestions, help, and --json anywhere.
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/tools/process.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("command line: mistyped names get a suggestion") {
    const std::pair<Words, const char*> mistakes[] = {
        {{"compil"}, "There is no command 'compil'. Did you mean 'compile'?"},
        {{"--verison"}, "`lode` has no option '--verison'. Did you mean '--version'?"},
        {{"compile", "a.cu", "--arhc", "sm_90"},
         "`lode compile` has no option '--arhc'. Did you mean '--arch'?"},
        {{"compile", "a.cu", "--arch", "sm80"}, "Did you mean 'sm_80'?"},
        {{"warm", "a.json", "--josb=3"},
         "`lode warm` has no option '--josb'. Did you mean '--jobs'?"},
        {{"cache", "stat"}, "`lode cache` has no command 'stat'. Did you mean 'stats'?"},
        {{"cache", "stats", "--jsn"},
         "`lode cache stats` has no option '--jsn'. Did you mean '--json'?"},
        {{"emulate", "ls", "-la"},
         "`lode emulate` has no option '-la'; a program and its arguments follow `--`."}};
    for (const auto& [words, sentence] : mistakes) {
        const auto outcome = lode::test::lode(words, no_driver);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out.empty());
        CHECK_MESSAGE(outcome.complains(sentence), outcome.err);
    }
}

TEST_CASE("command line: what is far from every name gets none") {
    for (const Words& words : {Words{"deploy"}, Words{"compile", "a.cu", "--speed"},
                               Words{"cache", "x"}, Words{"help", "nothing"}}) {
        const auto outcome = lode::test::lode(words, no_driver);
        CHECK(outcome.exit_code == 2);
        CHECK_FALSE(outcome.complains("Did you mean"));
        CHECK_MESSAGE(outcome.complains("--help` "), outcome.err);
    }
}

TEST_CASE("command line: help and version in the usual spellings") {
    const auto help = lode::test::lode({"compile", "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.says("Usage: lode compile"));
    CHECK(lode::test::lode({"help", "compile"}).out == help.out);
    CHECK(lode::test::lode({"help", "cache", "stats"}).says("Usage: lode cache stats"));
    CHECK(lode::test::lode({"help"}).out == lode::test::lode({"--help"}).out);
    const auto version = lode::test::lode({"-V"});
    CHECK(version.exit_code == 0);
    CHECK(version.out == lode::test::lode({"--version"}).out);
}

TEST_CASE("command line: --json may stand anywhere") {
    for (const Words& words : {Words{"--json", "cache", "stats"}, Words{"cache", "--json", "stats"},
                               Words{"cache", "stats", "--json"}})
        CHECK(lode::test::lode(words).json()["command"] == "cache");
    CHECK(lode::test::lode({"--json", "compil"}).json()["error"]["code"] == "bad_usage");
}

TEST_CASE("command line: a failed compilation shows three errors, and all with --log") {
    const auto scratch = make_scratch();
    std::string code;
    for (int i = 0; i < 20; ++i)
        code += "__global__ void k" + std::to_string(i) + "(int* x) { *x = missing; }\n";
    const auto file = put(scratch.path() / "broken.cu", code).string();
    const auto first = lode::test::lode({"compile", file, "--arch", "sm_90"}, no_driver);
    CHECK(first.exit_code == 1);
    CHECK(first.complains("identifier \"missing\" is undefined\n"));
    CHECK(first.complains(" ^\n"));
    CHECK(first.complains("3 of 20 errors are shown; --log prints the whole log.\n"));
    CHECK(lines_of(first.err) < 20);
    const auto whole = lode::test::lode({"compile", file, "--arch", "sm_90", "--log"}, no_driver);
    CHECK(whole.exit_code == 1);
    CHECK(lines_of(whole.err) > 60);
    CHECK_FALSE(whole.complains("--log"));
    const auto json =
        lode::test::lode({"compile", file, "--arch", "sm_90", "--json"}, no_driver).json();
    CHECK(lines_of(json["error"]["log"].get<std::string>()) > 60);
}

TEST_CASE("command line: numbers that are negative, too large or none are named, never wrapped") {
    const auto folder = make_scratch();
    const std::string pack = (folder.path() / "x.pack").string();
    const struct {
        std::vector<std::string> words;
        std::string complaint;
    } lines[] = {
        {{"cache", "gc", "--max-bytes", "-1"}, "--max-bytes: It is -1"},
        {{"cache", "pack", pack, "--max-size", "-1"}, "--max-size: It is -1"},
        {{"cache", "gc", "--max-bytes", "1x"}, "--max-bytes: It is 1x, and must be a number"},
        {{"run", "k.cu", "k", "--cover", "4", "--shared", "1x"}, "--shared: It is 1x"},
        {{"warm", "m.json", "--jobs", "99999999999999999999"}, "--jobs is '99999999999999999999'"},
        {{"run", "k.cu", "k", "--cover", "-4"}, "--cover: It is -4"},
        {{"run", "k.cu", "k", "--cover", "0"}, "--cover is 0"},
    };
    for (const auto& [words, complaint] : lines) {
        const auto outcome = lode::test::lode(words, no_driver);
        CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
        CHECK_MESSAGE(outcome.complains(complaint), outcome.err);
    }
}
