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
    const auto scratch = make_scratch();
    const auto file = put(scratch.path() / "a.cu", "").string();
    const std::pair<Words, const char*> mistakes[] = {
        {{"compil"}, "There is no command 'compil'. Did you mean 'compile'?"},
        {{"--verison"}, "`lode` has no option '--verison'. Did you mean '--version'?"},
        {{"compile", "a.cu", "--arhc", "sm_90"},
         "`lode compile` has no option '--arhc'. Did you mean '--arch'?"},
        {{"compile", file, "--arch", "sm80"}, "Did you mean 'sm_80'?"},
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

TEST_CASE("command line: a file that is missing is said before other mistakes") {
    for (const Words& words :
         {Words{"compile", "no.cu", "--jobs", "x"}, Words{"compile", "no.cu", "-o"},
          Words{"compile", "no.cu", "--std", "98"}, Words{"run", "no.cu"},
          Words{"run", "no.cu", "k"}, Words{"run", "no.cu", "--grid", "0", "--", "2.5f"},
          Words{"link", "no.cu"}, Words{"warm", "no.cu", "--jobs", "0"},
          Words{"cache", "unpack", "no.cu", "more"}, Words{"cache", "merge", "no.cu"},
          Words{"cache", "diff", "no.cu"}, Words{"cache", "why", "no.cu", "--arch", "x"},
          Words{"bench", "--compare", "no.cu", "--limit", "0"}}) {
        CAPTURE(words.size());
        auto json = words;
        json.insert(json.begin(), "--json");
        const auto outcome = lode::test::lode(words, no_driver);
        CHECK(outcome.exit_code == 1);
        CHECK_MESSAGE(outcome.err == "lode: File 'no.cu' doesn't exist.\n", outcome.err);
        if (words.front() != "bench")
            CHECK(lode::test::lode(json, no_driver).json()["error"]["code"] == "not_found");
    }
    // What follows an unknown option may be its value.
    CHECK(lode::test::lode({"compile", "--arhc", "sm_90"}, no_driver).complains("Did you mean"));
}

TEST_CASE("command line: numbers that are negative, too large or none are named, never wrapped") {
    const auto folder = make_scratch();
    const std::string pack = (folder.path() / "x.pack").string();
    const std::string file = put(folder.path() / "k.cu", "").string();
    const struct {
        std::vector<std::string> words;
        std::string complaint;
    } lines[] = {
        {{"cache", "gc", "--max-bytes", "-1"}, "--max-bytes is '-1'; it must be a number of bytes"},
        {{"cache", "pack", "-o", pack, "--max-size", "-1"}, "--max-size is '-1'"},
        {{"cache", "gc", "--max-bytes", "1x"}, "--max-bytes is '1x'; it must be a number of bytes"},
        {{"cache", "gc", "--max-bytes", "16E"}, "--max-bytes is '16E'"},
        {{"cache", "gc", "--max-bytes", "99999999999999999999"},
         "--max-bytes is '99999999999999999999'; it must be at most 18446744073709551615 bytes"},
        {{"run", file, "k", "--cover", "4", "--shared", "4GiB"},
         "it must be at most 4294967295 by"},
        {{"warm", file, "--jobs", "99999999999999999999"},
         "--jobs is '99999999999999999999'; it must be a whole number from 1 to 1024"},
        {{"run", file, "k", "--cover", "-4"}, "--cover is '-4'; it must be a whole number"},
        {{"run", file, "k", "--cover", "0"}, "it must be a whole number from 1"},
    };
    for (const auto& [words, complaint] : lines) {
        const auto outcome = lode::test::lode(words, no_driver);
        CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
        CHECK_MESSAGE(outcome.complains(complaint), outcome.err);
    }
}

TEST_CASE("command line: --json=FILE writes the object beside the text") {
    const auto folder = make_scratch();
    const auto file = folder.path() / "answer.json";
    const auto outcome = lode::test::lode({"--json=" + file.string(), "cache", "stats"}, no_driver);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.says("Cache"));
    CHECK(nlohmann::json::parse(lode::read_text(file).value())["command"] == "cache");
    const auto failed = lode::test::lode({"info", "/nonexistent/x", "--json=" + file.string()});
    CHECK(failed.exit_code == 1);
    CHECK(failed.out.empty());
    CHECK(nlohmann::json::parse(lode::read_text(file).value())["error"]["code"] == "not_found");
}
