// Completions and man pages, judged by the shells and by groff.
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace lode::test;

namespace {

bool is_installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

/// What bash offers for the last word of a line.
std::string offered(const std::filesystem::path& script, const std::string& words, int last) {
    const auto out = script.parent_path() / "offered";
    const auto test =
        put(script.parent_path() / "complete.sh",
            "set -u\nsource '" + script.string() + "'\nCOMP_WORDS=(" + words +
                ")\nCOMP_CWORD=" + std::to_string(last) + "\n_lode\necho \"${COMPREPLY[*]:-}\"\n");
    REQUIRE(std::system(("bash '" + test.string() + "' >'" + out.string() + "' 2>&1").c_str()) ==
            0);
    return lode::read_text(out).value();
}

}  // namespace

TEST_CASE("completion: bash offers commands, options, values and files") {
    const auto folder = make_scratch();
    const auto printed = lode::test::lode({"completion", "bash"});
    REQUIRE(printed.exit_code == 0);
    const auto script = put(folder.path() / "lode.bash", printed.out);
    CHECK(offered(script, "lode comp", 1) == "compile completion\n");
    CHECK(offered(script, "lode compile --ar", 2) == "--arch\n");
    CHECK(offered(script, "lode compile --arch sm_90", 3) == "sm_90 sm_90a\n");
    CHECK(offered(script, "lode compile --arch sm_80,sm_90", 3) == "sm_80,sm_90 sm_80,sm_90a\n");
    CHECK(offered(script, "lode compile --math = f", 4) == "fast\n");
    CHECK(offered(script, "lode cache ver", 2) == "verify\n");
    CHECK(offered(script, "lode cache verify --tr", 3) == "--trust\n");
    CHECK(offered(script, "lode cache verify --fol", 3) == "--folder\n");
    CHECK(offered(script, "lode completion z", 2) == "zsh\n");
    put(folder.path() / "one two.cu", "");
    const std::string file = (folder.path() / "one two.cu").string();
    CHECK(offered(script, "lode compile '" + (folder.path() / "one").string() + "'", 2) ==
          file + "\n");
    CHECK(offered(script, "lode emulate -- '" + (folder.path() / "one").string() + "'", 3) ==
          file + "\n");
    const auto wrong = lode::test::lode({"completion", "bsh"});
    CHECK(wrong.exit_code == 2);
    CHECK(wrong.complains("Did you mean 'bash'?"));
}

TEST_CASE("completion: each shell accepts its script") {
    const auto folder = make_scratch();
    for (const std::string shell : {"bash", "zsh", "fish"}) {
        const auto printed = lode::test::lode({"completion", shell});
        CHECK(printed.exit_code == 0);
        CHECK(printed.says("--max-registers") != (shell == "fish"));
        if (!is_installed(shell)) continue;
        const auto script = put(folder.path() / shell, printed.out).string();
        CHECK(std::system((shell + " -n '" + script + "'").c_str()) == 0);
    }
}

TEST_CASE("man pages: groff finds nothing wrong, and every option is there") {
    const auto folder = make_scratch();
    for (const std::string name :
         {"", "info", "init", "compile", "link", "run", "variants", "cache", "warm", "doctor",
          "emulate", "debug", "bench", "completion"}) {
        CAPTURE(name);
        std::vector<std::string> words = {"help", "--man"};
        if (!name.empty()) words.push_back(name);
        const auto page = lode::test::lode(words);
        REQUIRE_MESSAGE(page.exit_code == 0, page.err);
        CHECK(page.out.starts_with(".TH LODE"));
        if (name == "compile") {
            CHECK_CONTAINS(page.out, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR");
            CHECK_CONTAINS(page.out, "\\fB\\-\\-max\\-registers\\fR");
        }
        if (!is_installed("groff")) continue;
        const auto file = put(folder.path() / "page.1", page.out).string();
        const auto log = (folder.path() / "log").string();
        CHECK(std::system(("groff -man -ww -z '" + file + "' >'" + log + "' 2>&1").c_str()) == 0);
        CHECK(lode::read_text(log).value() == "");
    }
    CHECK(lode::test::lode({"help", "--man", "nothing"}).exit_code == 2);
}
