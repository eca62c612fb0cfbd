// The help screens: grouped, with examples that work, and as wide as the terminal.
#include "tests/support/result.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/text.hpp"
#include "tests/tools/kernels.hpp"
#include "tests/tools/process.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

using namespace lode::test;

namespace {

using Words = std::vector<std::string>;

/// The words of every command, from the names under the headings of its help.
std::vector<Words> all_commands(const Words& around = {}) {
    std::vector<Words> all{around};
    auto words = around;
    words.emplace_back("--help");
    std::istringstream help(lode::test::lode(words).out);
    if (help.str().find(" COMMAND\n") == std::string::npos) return all;
    for (std::string line; std::getline(help, line);) {
        if (line == "Common options:" || line.starts_with("Options")) break;
        if (!line.starts_with("  ") || line.starts_with("   ")) continue;
        auto inner = around;
        inner.push_back(line.substr(2, line.find(' ', 2) - 2));
        for (auto& one : all_commands(inner))
            all.push_back(std::move(one));
    }
    return all;
}

std::string help_of(Words words, const Environment& environment = {}) {
    words.emplace_back("--help");
    return lode::test::lode(words, environment).out;
}

/// The lines under "Examples:".
Words examples_of(const std::string& help) {
    const auto at = help.find("\nExample");
    if (at == std::string::npos) return {};
    std::istringstream rest(help.substr(help.find('\n', at + 1) + 1));
    Words lines;
    for (std::string line; std::getline(rest, line);)
        lines.push_back(line.substr(2));
    return lines;
}

}  // namespace

TEST_CASE("help: the commands have headings, and the first screen says where to read on") {
    const auto help = help_of({});
    for (const char* title :
         {"Run and compile:\n  run ", "Cache:\n  cache ", "Check and measure:\n  emulate ",
          "This machine and its shell:\n  info ", "Common options:\n  -h, --help ",
          "\nDocuments: ", "\nExample:\n  lode run saxpy.cu saxpy "})
        CHECK_CONTAINS(help, title);
    CHECK(all_commands().size() == 28);
    CHECK_CONTAINS(help_of({"cache", "gc"}), "Options of lode cache:\n  --folder DIR ");
    for (const Words& words : {Words{"help", "cache", "gc"}, {"--json", "help", "cache", "gc"}})
        CHECK(lode::test::lode(words).out == help_of({"cache", "gc"}));
    CHECK_CONTAINS(help_of({"compile"}), "\nCompilation:\n  -D, --define NAME[=VALUE]...");
}

TEST_CASE("help: no line is longer than the terminal is wide") {
    for (const auto& command : all_commands()) {
        for (const std::size_t columns : {80UL, 160UL}) {
            const auto help = help_of(command, {{"COLUMNS", std::to_string(columns)}});
            CHECK_MESSAGE(widest_line(help) <= columns, help);
        }
        CHECK(widest_line(help_of(command)) <= 80);  // Not a terminal.
    }
    const auto narrow = help_of({"emulate"}, {{"COLUMNS", "60"}});
    CHECK(narrow.find("The program and its arguments, after\n") != std::string::npos);
    CHECK(widest_line(narrow.substr(0, narrow.find("Examples:"))) <= 60);
    CHECK(widest_line(help_of({"emulate"}, {{"COLUMNS", "160"}})) > 80);
    CHECK(widest_line(help_of({"emulate"}, {{"COLUMNS", "500"}})) <= 100);
    CHECK(widest_line(help_of({"emulate"}, {{"COLUMNS", "wide"}})) <= 80);
    const auto shown = on_terminal({"emulate", "--help"}, {}, STDOUT_FILENO, 60);
    CHECK(widest_line(shown.substr(0, shown.find("Examples:"))) <= 61);  // With \r.
    CHECK(shown.find("The program and its arguments, after\r\n") != std::string::npos);
}

#ifdef LODE_EMULATE_CLIENT
TEST_CASE("help: an error and the software device's findings keep to the width too") {
    const auto folder = make_scratch();
    const auto file =
        put(folder.path() / "out.cu",
            "extern \"C\" __global__ void outside(int* x) { x[threadIdx.x + 99] = 1; }\n")
            .string();
    for (const std::size_t columns : {80UL, 160UL}) {
        const Environment environment = {{"LODE_DRIVER", "emulator"},
                                         {"COLUMNS", std::to_string(columns)}};
        const auto fault = lode::test::lode(
            {"run", file, "outside", "--grid", "1", "--block", "32", "--", "i32[32]"}, environment);
        CHECK(fault.exit_code == 1);
        CHECK_MESSAGE(widest_line(fault.err) <= columns, fault.err);
        const auto usage =
            lode::test::lode({"emulate", "--devices", "sm_91", "--", "x"}, environment);
        CHECK(usage.exit_code == 2);
        CHECK_MESSAGE(widest_line(usage.err) <= columns, usage.err);
        CHECK(widest_line(usage.err) > columns / 2);
    }
}

TEST_CASE("help: each command has an example, and the examples work") {
    const auto folder = make_scratch();
    const auto in = [&](const std::string& line) {
        const auto log = folder.path() / "log";
        const auto bin = std::filesystem::path(LODE_COMMAND).parent_path().string();
        const auto script =
            "cd '" + folder.path().string() + "' && export PATH='" + bin +
            "':\"$PATH\" LODE_DRIVER=emulator LODE_CACHE=on LODE_CACHE_DIR=\"$PWD/cache\"\n" + line;
        const auto file = put(folder.path() / "line.sh", script).string();
        const int status =
            std::system(("bash '" + file + "' >'" + log.string() + "' 2>&1").c_str());
        return status == 0 ? std::string() : lode::read_text(log).value_or("") + "(failed)";
    };
    put(folder.path() / "saxpy.cu", saxpy_source);
    put(folder.path() / "scale.cu",
        "template <class T> __global__ void scale(T* x) { x[threadIdx.x] *= 2; }\n");
    put(folder.path() / "main.cu",
        "__device__ int twice(int); extern \"C\" __global__ void k(int* x) { *x = twice(*x); }\n");
    put(folder.path() / "twice.cu", "__device__ int twice(int x) { return 2 * x; }\n");
    std::filesystem::create_symlink(LODE_EMULATE_CLIENT, folder.path() / "app");
    REQUIRE(in("lode compile main.cu --arch sm_90 --relocatable && "
               "lode compile twice.cu --arch sm_90 --relocatable && "
               "LODE_RECORD=app.jsonl lode run saxpy.cu saxpy --cover 4 -- 2f f32[4] f32[4] 4 && "
               "lode cache pack -o app.pack && lode cache unpack app.pack --folder old-cache && "
               "for name in one two old new; do cp app.pack $name.pack; done") == "");
    for (const auto& command : all_commands()) {
        const auto examples = examples_of(help_of(command));
        CHECK_MESSAGE(!examples.empty(), command.back());
        if (!command.empty() && command.front() == "bench") continue;  // It takes minutes.
        for (const std::string& example : examples) {
            if (example.find("4b5f6d4d") != std::string::npos) continue;  // No key here begins so.
            CHECK_MESSAGE(in(example) == "", example);
        }
    }
}
#endif
