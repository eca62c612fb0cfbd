// Colours: on a terminal or where they are asked for, and nowhere else.
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace lode::test;

TEST_CASE("colours: a broken source on a terminal, in a file and where they are asked for") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "broken.cu", broken_source).string();
    const std::vector<std::string> words = {"compile", source, "--arch", "sm_90"};
    const auto with = [&](const std::string& option) {
        auto all = words;
        all.push_back(option);
        return all;
    };
    const Environment dumb = {{"LODE_DRIVER", "/nonexistent"}, {"TERM", "dumb"}};
    const Environment none = {{"LODE_DRIVER", "/nonexistent"}, {"NO_COLOR", "1"}};
    const Environment force = {{"LODE_DRIVER", "/nonexistent"}, {"CLICOLOR_FORCE", "1"}};

    const std::string shown = on_terminal(words, no_driver);
    CHECK_CONTAINS(shown, "\033[1;31mlode:\033[0m '");
    CHECK_CONTAINS(shown, "broken.cu(3): \033[0m\033[1;31merror\033[0m: ");
    CHECK_CONTAINS(shown, "^\033[0m");
    for (const auto& plain :
         {on_terminal(words, dumb), on_terminal(words, none),
          on_terminal(with("--color=never"), force), lode::test::lode(words, no_driver).err,
          lode::test::lode(with("--color=auto"), no_driver).err,
          lode::test::lode(with("--color=never"), force).err}) {
        CHECK_CONTAINS(plain, "broken.cu(3): error: ");
        CHECK(plain.find("\033[1") == std::string::npos);
    }
    CHECK(lode::test::lode(words, force).complains("\033[1;31merror"));
    CHECK(lode::test::lode(with("--color=always"), none).complains("\033[1;31merror"));
    auto in_front = words;
    in_front.insert(in_front.begin(), {"--json", "--color=always"});
    const auto both = lode::test::lode(in_front, no_driver);
    CHECK(both.complains("\033[1;31merror"));
    CHECK_FALSE(both.says("\033"));
    CHECK(both.json()["ok"] == false);
    // Also where the command line itself is wrong.
    for (const auto& line : {std::vector<std::string>{"info", "--color", "always", "--no-such"},
                             {"--color=always", "nonsense"}}) {
        CHECK_CONTAINS(lode::test::lode(line, none).err, "\033[1;31mlode:");
    }
    const auto quiet = lode::test::lode({"info", "--no-such", "--color=never"}, force).err;
    CHECK(quiet.find('\033') == std::string::npos);
    const auto wrong = lode::test::lode({"--color", "blue", "info"});
    CHECK(wrong.exit_code == 2);
    CHECK(wrong.complains("--color is 'blue' but must be one of auto, always, never."));
}

TEST_CASE("colours: warnings, and the verdicts of lode doctor") {
    const auto folder = make_scratch();
    const auto source = put(folder.path() / "k.cu", "__global__ void k() { int unused; }").string();
    const std::string shown = on_terminal(
        {"compile", source, "--arch", "sm_90", "--out-dir", folder.path().string()}, no_driver);
    CHECK_CONTAINS(shown, "\033[1;35mwarning\033[0m");
    const Environment off = {{"LODE_CACHE", "off"}, {"LODE_DRIVER", "/nonexistent"}};
    const std::string verdicts = on_terminal({"doctor"}, off, STDOUT_FILENO);
    CHECK_CONTAINS(verdicts, "\033[1;36mslow\033[0m: LODE_CACHE");
    CHECK_CONTAINS(verdicts, "\033[1;31mfails\033[0m: driver");
    CHECK_FALSE(lode::test::lode({"doctor"}, off).says("\033"));
}
