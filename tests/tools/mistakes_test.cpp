// Wrong words for help, info, doctor, completion and emulate: what each message says.
#include "tests/support/scratch.hpp"
#include "tests/tools/process.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace lode::test;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct WrongWords {
    Words words;
    int exit_code;
    std::string sentence;
    Environment environment = {};
};

void check_words(const WrongWords& mistake) {
    std::string line;
    for (const auto& word : mistake.words)
        line += " " + word;
    CAPTURE(line);
    auto environment = mistake.environment;
    environment.insert({{"LODE_DRIVER", ""}, {"LODE_EMULATOR_DEVICES", ""}});
    const auto outcome = lode::test::lode(mistake.words, environment);
    CHECK_MESSAGE(outcome.exit_code == mistake.exit_code, outcome.err);
    CHECK_MESSAGE(outcome.complains(mistake.sentence), outcome.err);
    CHECK(outcome.out.empty());
}

}  // namespace

TEST_CASE("mistakes: words that no command knows") {
    for (const WrongWords& mistake : {
             WrongWords{
                 {"help", "nosuch"}, 2, "There is no command 'nosuch'. The commands are run, "},
             {{"help", "emulat"}, 2, "There is no command 'emulat'. Did you mean 'emulate'?"},
             {{"help", "cache", "stat"},
              2,
              "`lode cache` has no command 'stat'. Did you mean 'stats'?"},
             {{"help", "run", "compile"},
              2,
              "`lode run` has no command 'compile'; `lode help` takes one command."},
             {{"help", "cache", "stats", "x"}, 2, "`lode cache stats` has no command 'x'"},
             {{"help", "nosuch", "run"}, 2, "There is no command 'nosuch'."},
             {{"completion"}, 2, "SHELL is required."},
             {{"completion", "fishh"}, 2, "but for bash, zsh and fish. Did you mean 'fish'?"},
             {{"info", "--al"}, 2, "`lode info` has no option '--al'. Did you mean '--all'?"},
             {{"info", "--color=alwys"},
              2,
              "must be one of auto, always, never. Did you mean 'always'?"},
             {{"compile", "-o", "--report"}, 2, "-o needs a value (FILE), but '--report' follows."},
         })
        check_words(mistake);
}

TEST_CASE("mistakes: files that can't be read or written") {
    const auto folder = make_scratch();
    const auto in = [&](const char* name) { return (folder.path() / name).string(); };
    const auto source = put(folder.path() / "k.cu", "int main() {}\n").string();
    fs::create_directory(folder.path() / "folder");
    fs::create_symlink(source, folder.path() / "link");
    for (const WrongWords& mistake : {
             WrongWords{{"info", in("missing")}, 1, "'" + in("missing") + "' doesn't exist."},
             {{"info", source}, 1, "'k.cu' (14 bytes) is neither PTX nor a cubin"},
             {{"info", source}, 1, "`lode info --kernels` shows what"},
             {{"info", source, "--json=" + in("link")},
              2,
              "--json is '" + in("link") + "', which is an input too. Name another file."},
         })
        check_words(mistake);
    CHECK(lode::read_text(source).value() == "int main() {}\n");
}

TEST_CASE("mistakes: variables with words that lode doesn't know, also of the software device") {
    const auto with = [](const char* name, const char* value, const char* sentence) {
        WrongWords mistake{{"info"}, 2, sentence, {{name, value}}};
        if (std::string(name).starts_with("LODE_EMULATOR"))
            mistake.environment.insert({"LODE_DRIVER", "emulator"});
        return mistake;
    };
    for (const WrongWords& mistake : {
             with("LODE_CACHE", "of",
                  "LODE_CACHE is 'of'; it must be one of on, read-only, off. Did you mean 'off'?"),
             with("LODE_DRIVER", "emulater",
                  "LODE_DRIVER is 'emulater'; it must be a driver's library, or emulator. Did you "
                  "mean 'emulator'?"),
#ifdef LODE_EMULATE_CLIENT
             with("LODE_EMULATOR_CHECK", "races",
                  "LODE_EMULATOR_CHECK contains 'races'; the possible values are memory, race, "
                  "init, sync, streams, all and none. Did you mean 'race'?"),
             with("LODE_EMULATOR_CHECK", "none,race",
                  "LODE_EMULATOR_CHECK contains 'none' beside other checks."),
             with("LODE_EMULATOR_DEVICES", "9.0",
                  "LODE_EMULATOR_DEVICES contains '9.0'; the possible values are sm_75, "),
             with("LODE_EMULATOR_DEVICES", "9.0", "sm_121 and none. Did you mean 'sm_90'?"),
             with("LODE_EMULATOR_FINDINGS", "fial", "Did you mean 'fail'?"),
             with("LODE_EMULATOR_TIMEOUT", "1x",
                  "LODE_EMULATOR_TIMEOUT is '1x'; it must be a time, such as 10s, or a number of "
                  "milliseconds."),
             with("LODE_EMULATOR_LOG", "stdout",
                  "LODE_EMULATOR_LOG is 'stdout'; it must be one of stderr, summary."),
#endif
         }) {
        check_words(mistake);
        auto doctor = lode::test::lode({"doctor"}, mistake.environment);
        CHECK(doctor.exit_code == 1);
        CHECK_MESSAGE(doctor.says(mistake.sentence), doctor.out);
    }
}

#ifdef LODE_EMULATE_CLIENT
TEST_CASE("mistakes: what `lode emulate` can't start or write") {
    const auto folder = make_scratch();
    const auto in = [&](const char* name) { return (folder.path() / name).string(); };
    const auto text = put(folder.path() / "text", "text").string();
    const auto script = put(folder.path() / "script", "#!/nonexistent/sh\n").string();
    fs::permissions(script, fs::perms::owner_all);
    for (const WrongWords& mistake : {
             WrongWords{{"emulate"}, 2, "COMMAND is required."},
             {{"emulate", "ls", "-la"},
              2,
              "has no option '-la'; a program and its arguments follow `--`."},
             {{"emulate", "--", "nosuch"},
              127,
              "'nosuch' can't be started: no folder of PATH has it."},
             {{"emulate", "--", in("nosuch")}, 127, "can't be started: No such file or directory."},
             {{"emulate", "--", script}, 127, "the interpreter that it names doesn't exist."},
             {{"emulate", "--", text}, 126, "it isn't executable, which `chmod +x` mends."},
             {{"emulate", "--", folder.path().string()}, 126, "it is a folder."},
             {{"emulate", "--devices", "0", "--", "true"},
              2,
              "--devices contains '0'; the possible values are sm_75, "},
             {{"emulate", "--devices", "1000", "--", "true"}, 2, "--devices contains '1000'; "},
             {{"emulate", "--devices", "sm90", "--", "true"}, 2, "Did you mean 'sm_90'?"},
             {{"emulate", "--devices", "sm_90,none", "--", "true"},
              2,
              "--devices contains 'none' beside other devices."},
             {{"emulate", "--check", "races", "--", "true"},
              2,
              "--check contains 'races'; the possible values are"},
             {{"emulate", "--check", "", "--", "true"},
              2,
              "--check is empty; it needs a value (CHECK,...)."},
             {{"emulate", "--check", "--", "true"},
              2,
              "--check needs a value (CHECK,...), but '--' follows."},
             {{"emulate", "--findings", "--", "true"},
              2,
              "--findings needs a value (FILE), but '--' follows."},
             {{"emulate", "--findings", "--devices", "--", "true"},
              2,
              "--findings needs a value (FILE), but '--devices' follows."},
             {{"emulate", "--findings", "-x", "--", "true"},
              2,
              "--findings needs a value (FILE), but '-x' follows."},
             {{"emulate", "--findings", text + "/x", "--", "touch", in("ran")},
              2,
              "--findings is '" + text + "/x', but '" + text + "' isn't a folder."},
             {{"emulate", "--json=" + text + "/x", "--", "touch", in("ran")}, 2, "--json is '"},
             {{"emulate", "--timeout", "5", "--", "true"},
              2,
              "`lode emulate` has no option '--timeout'; a program and"},
             {{"emulate", "env", "X=1", "--", "true"},
              2,
              "`lode emulate` doesn't expect 'env' before `--`."},
         })
        check_words(mistake);
    CHECK_FALSE(fs::exists(in("ran")));
    const auto json = lode::test::lode({"emulate", "--json", in("x.json"), "--", "true"});
    CHECK(json.exit_code == 2);
    CHECK(json.complains("A file for the report follows an equals sign: --json=" + in("x.json")));
    CHECK(json.json()["error"]["code"] == "bad_usage");
    const auto run =
        lode::test::lode({"run", "--json", in("x.json"), text, "k", "--grid", "1", "--", "4"});
    CHECK(
        run.complains("`lode run` doesn't expect 'k' before `--`. A file for the report follows "
                      "an equals sign: --json=" +
                      in("x.json")));
    CHECK_FALSE(fs::exists("--"));
}
#endif
