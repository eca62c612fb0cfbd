// Compares which PTX the software device accepts with which ptxas accepts, both ways. README.md
// describes how to regenerate the files.
#include "differences.hpp"
#include "report.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace {

using namespace lode::ptx_acceptance;

const std::string folder = std::string(LODE_SOURCE_DIR) + "/tests/ptx_acceptance";

// First words of all instructions in PTX ISA 9.5, chapter 9.
constexpr std::string_view opcodes[] = {"abs",
                                        "activemask",
                                        "add",
                                        "addc",
                                        "alloca",
                                        "and",
                                        "applypriority",
                                        "atom",
                                        "bar",
                                        "barrier",
                                        "bfe",
                                        "bfi",
                                        "bfind",
                                        "bmsk",
                                        "bra",
                                        "brev",
                                        "brkpt",
                                        "brx",
                                        "call",
                                        "clmad",
                                        "clusterlaunchcontrol",
                                        "clz",
                                        "cnot",
                                        "copysign",
                                        "cos",
                                        "cp",
                                        "createpolicy",
                                        "cvt",
                                        "cvta",
                                        "discard",
                                        "div",
                                        "dp2a",
                                        "dp4a",
                                        "elect",
                                        "ex2",
                                        "exit",
                                        "fabric",
                                        "fence",
                                        "fma",
                                        "fns",
                                        "getctarank",
                                        "griddepcontrol",
                                        "isspacep",
                                        "istypep",
                                        "ld",
                                        "ldmatrix",
                                        "ldu",
                                        "lg2",
                                        "lop3",
                                        "mad",
                                        "mad24",
                                        "madc",
                                        "mapa",
                                        "match",
                                        "max",
                                        "mbarrier",
                                        "membar",
                                        "min",
                                        "mma",
                                        "mov",
                                        "movmatrix",
                                        "mul",
                                        "mul24",
                                        "multimem",
                                        "nanosleep",
                                        "neg",
                                        "not",
                                        "or",
                                        "pmevent",
                                        "popc",
                                        "prefetch",
                                        "prefetchu",
                                        "prmt",
                                        "rcp",
                                        "red",
                                        "redux",
                                        "rem",
                                        "ret",
                                        "rsqrt",
                                        "sad",
                                        "selp",
                                        "set",
                                        "setmaxnreg",
                                        "setp",
                                        "shf",
                                        "shfl",
                                        "shl",
                                        "shr",
                                        "sin",
                                        "slct",
                                        "spcompress",
                                        "sqrt",
                                        "st",
                                        "stackrestore",
                                        "stacksave",
                                        "stmatrix",
                                        "sub",
                                        "subc",
                                        "suld",
                                        "suq",
                                        "sured",
                                        "sust",
                                        "szext",
                                        "tanh",
                                        "tcgen05",
                                        "tensormap",
                                        "testp",
                                        "tex",
                                        "tld4",
                                        "trace",
                                        "trap",
                                        "txq",
                                        "vabsdiff",
                                        "vabsdiff2",
                                        "vabsdiff4",
                                        "vadd",
                                        "vadd2",
                                        "vadd4",
                                        "vavrg2",
                                        "vavrg4",
                                        "vmad",
                                        "vmax",
                                        "vmax2",
                                        "vmax4",
                                        "vmin",
                                        "vmin2",
                                        "vmin4",
                                        "vote",
                                        "vset",
                                        "vset2",
                                        "vset4",
                                        "vshl",
                                        "vshr",
                                        "vsub",
                                        "vsub2",
                                        "vsub4",
                                        "wgmma",
                                        "wmma",
                                        "xor"};

struct Judged {
    std::vector<Program> programs;
    VerdictFile file;

    Judged() {
        Tables tables;
        std::string error;
        REQUIRE_MESSAGE(Tables::read(folder + "/opcodes", tables, error), error);
        programs = tables.programs(seed);
        REQUIRE_MESSAGE(read_verdicts(folder + "/verdicts.txt", file, error), error);
    }
};

std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream in(path);
    REQUIRE_MESSAGE(in, path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        if (!line.empty() && line[0] != '#') lines.push_back(line);
    return lines;
}

TEST_CASE("ptx acceptance: the generator reproduces the programs that ptxas judged") {
    const Judged judged;
    CHECK(judged.file.seed == seed);
    CHECK(judged.file.verdicts.size() == judged.programs.size());
    CHECK(judged.file.digest == digest_of(judged.programs));
    CHECK(judged.file.judge.starts_with("release 13."));
}

TEST_CASE(
    "ptx acceptance: 20,000 distinct programs, 20 per opcode, 25 % accepted and 30 % refused") {
    const Judged judged;
    std::map<std::string, std::size_t> of;
    std::set<std::string> texts;
    for (const Program& program : judged.programs) {
        ++of[program.family.substr(0, program.family.find('.'))];
        texts.insert(program.text());
    }
    CHECK(texts.size() == judged.programs.size());
    CHECK(judged.programs.size() >= 20000);
    for (const std::string_view opcode : opcodes)
        CHECK_MESSAGE(of[std::string(opcode)] >= 20, opcode);
    const auto accepted =
        static_cast<std::size_t>(std::ranges::count_if(judged.file.verdicts, &Verdict::accepted));
    CHECK(4 * accepted >= judged.programs.size());
    CHECK(10 * accepted <= 7 * judged.programs.size());
}

TEST_CASE(
    "ptx acceptance: the software device agrees with ptxas except for the listed differences") {
    const Judged judged;
    REQUIRE(judged.file.verdicts.size() == judged.programs.size());
    std::vector<Explained> explained;
    std::string error;
    REQUIRE_MESSAGE(read_explained(folder + "/differences.txt", explained, error), error);
    const std::vector<DeviceAnswer> answers = ask_device(judged.programs);
    REQUIRE(answers.size() == judged.programs.size());
    const std::vector<Difference> differences =
        compare(judged.programs, judged.file.verdicts, answers);
    const Table table =
        count(judged.programs, judged.file.verdicts, answers, differences, explained);
    for (const Explained& entry : explained)
        CHECK_MESSAGE(entry.used > 0,
                      "differences.txt explains what no longer occurs: ", entry.text);
    const std::vector<std::string> found = open_lines(table);
    const std::vector<std::string> listed = lines_of(folder + "/open.txt");
    for (const std::string& line : found)
        CHECK_MESSAGE(std::ranges::find(listed, line) != listed.end(),
                      "found but not listed: ", line,
                      "; `lode_ptx_judge compare` shows the programs");
    for (const std::string& line : listed)
        CHECK_MESSAGE(std::ranges::find(found, line) != found.end(),
                      "listed but no longer found: ", line);
}

TEST_CASE("ptx acceptance: no program crashes or hangs the software device") {
    const Judged judged;
    const std::vector<DeviceAnswer> answers = ask_device(judged.programs);
    for (std::size_t k = 0; k < answers.size(); ++k)
        CHECK_MESSAGE(answers[k].answer != Answer::crashed, line_of(judged.programs[k]));
}

Program program_of(std::string instruction) {
    Program made;
    made.family = "add";
    made.target = "sm_75";
    made.version = 63;
    made.instruction = std::move(instruction);
    return made;
}

TEST_CASE("ptx acceptance: both kinds of difference are detected") {
    const std::vector<Program> programs{program_of("add.u32 %u32_1, %u32_2, 1"),
                                        program_of("add.u32 %u32_1, %u32_2, 1"),
                                        program_of("no.such %u32_1"), program_of("no.such %u32_1")};
    const std::vector<Verdict> verdicts{
        {true, false, ""}, {false, false, "refused"}, {true, false, ""}, {false, false, "refused"}};
    const std::vector<DeviceAnswer> answers = ask_device(programs);
    REQUIRE(answers.size() == 4);
    CHECK(compare(programs, verdicts, answers) ==
          std::vector{Difference::none, Difference::taken, Difference::refused, Difference::none});
    std::vector<Explained> entries;
    const auto differences = compare(programs, verdicts, answers);
    Table table = count(programs, verdicts, answers, differences, entries);
    CHECK(open_lines(table).size() == 2);
    entries.push_back({Difference::taken, "add", "*add.u32*, 1", "ref*", "", 0});
    table = count(programs, verdicts, answers, differences, entries);
    CHECK(entries[0].used == 1);
    CHECK(open_lines(table).size() == 1);
}

TEST_CASE("ptx acceptance: a pattern matches only what it describes") {
    CHECK(matches("*", ""));
    CHECK(matches("a*c", "abbc"));
    CHECK(matches("a*b*c", "axbyc"));
    CHECK_FALSE(matches("a*c", "abcd"));
    CHECK_FALSE(matches("abc", "ab"));
    CHECK(without_names("Unknown modifier '.anyy'") == "Unknown modifier '*'");
    CHECK(without_names("requires PTX ISA .version 8.3 or later") ==
          "requires PTX ISA .version #.# or later");
}

}  // namespace
