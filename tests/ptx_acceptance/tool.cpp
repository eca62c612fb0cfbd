// lode_ptx_judge: judges the programs, compares the answers, and compares orders of modifiers.
#include "differences.hpp"
#include "judge.hpp"
#include "orders.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace lode::ptx_acceptance;

constexpr std::string_view usage =
    "lode_ptx_judge list [family]     the programs, one per line\n"
    "lode_ptx_judge show NUMBER       the PTX of one program\n"
    "lode_ptx_judge judge [PTXAS]     asks ptxas again and writes verdicts.txt\n"
    "lode_ptx_judge compare [TSV]     the differences, as text and as a table\n"
    "lode_ptx_judge open              writes open.txt: what isn't explained\n"
    "lode_ptx_judge orders [PTXAS]    compares every accepted order with the table's\n"
    "lode_ptx_judge load ARCH FILE…   loads PTX files and requests every kernel in them\n";

const std::string folder = std::string(LODE_SOURCE_DIR) + "/tests/ptx_acceptance";

int fail(const std::string& message) {
    fmt::print(stderr, "{}\n", message);
    return 1;
}

std::string scratch_folder() {
    std::string made = std::filesystem::temp_directory_path() / "lode-ptx-XXXXXX";
    return mkdtemp(made.data()) != nullptr ? made : std::string();
}

int judge_programs(const std::vector<Program>& programs, const std::string& ptxas) {
    VerdictFile file{version_of(ptxas), seed, digest_of(programs), {}};
    if (file.judge.empty()) return fail(ptxas + " can't be run.");
    const std::string scratch = scratch_folder();
    // ptxas 13.5 takes memory without end for a predicate as a tensor map.
    constexpr rlim_t four_gib = rlim_t{4} << 30;
    const rlimit limit{four_gib, four_gib};
    setrlimit(RLIMIT_AS, &limit);
    file.verdicts = judge_all(ptxas, programs, scratch);
    std::filesystem::remove_all(scratch);
    if (!write_verdicts(folder + "/verdicts.txt", file, programs))
        return fail("verdicts.txt can't be written.");
    fmt::print("{} programs, {} accepted\n", programs.size(),
               std::ranges::count_if(file.verdicts, &Verdict::accepted));
    return 0;
}

/// Lists the files that the device doesn't load, or of which it refuses a kernel, and the reasons.
int load_files(const std::string& target, std::span<const std::string> paths) {
    std::size_t loaded = 0;
    for (const std::string& path : paths) {
        std::ifstream in(path);
        if (!in) return fail(path + " can't be read.");
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const DeviceAnswer made = ask_device(target, text);
        loaded += made.answer == Answer::accepted ? 1 : 0;
        if (made.answer != Answer::accepted) fmt::print("{}\t{}\n", path, made.message);
    }
    fmt::print("{} of {} files load with every kernel on {}\n", loaded, paths.size(), target);
    return loaded == paths.size() ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
    if (words.size() > 2 && words[0] == "load")
        return load_files(words[1], std::span(words).subspan(2));

    const std::string ptxas = words.size() > 1 && words.back().find('/') != std::string::npos
                                  ? words.back()
                                  : std::string("/usr/local/cuda/bin/ptxas");
    Tables tables;
    std::string error;
    if (!Tables::read(folder + "/opcodes", tables, error)) return fail(error);
    const std::vector<Program> programs = tables.programs(seed);
    const std::string command = words.empty() ? "" : words[0];
    if (command == "list") {
        for (std::size_t k = 0; k < programs.size(); ++k)
            if (words.size() < 2 || programs[k].family == words[1])
                fmt::print("{}\t{}\t{}\t{}\n", k, programs[k].family, name_of(programs[k].kind),
                           line_of(programs[k]));
        return 0;
    }
    if (command == "show" && words.size() > 1) {
        const std::size_t k = std::stoul(words[1]);
        if (k >= programs.size()) return fail("There is no such program.");
        fmt::print("{}", programs[k].text());
        return 0;
    }
    if (command == "judge") return judge_programs(programs, ptxas);
    VerdictFile file;
    if (!read_verdicts(folder + "/verdicts.txt", file, error)) return fail(error);
    if (file.digest != digest_of(programs) || file.verdicts.size() != programs.size())
        return fail("verdicts.txt is for other programs: run `lode_ptx_judge judge`.");
    if (command == "orders") {
        const std::string scratch = scratch_folder();
        fmt::print("{}", orders_report(ptxas, programs, file.verdicts, scratch));
        std::filesystem::remove_all(scratch);
        return 0;
    }
    if (command != "compare" && command != "open") return fail(std::string(usage));
    std::vector<Explained> explained;
    if (!read_explained(folder + "/differences.txt", explained, error)) return fail(error);
    const std::vector<DeviceAnswer> answers = ask_device(programs);
    const std::vector<Difference> differences = compare(programs, file.verdicts, answers);
    const Table table = count(programs, file.verdicts, answers, differences, explained);
    if (command == "open") {
        std::ofstream out(folder + "/open.txt", std::ios::trunc);
        out << open_header;
        for (const std::string& line : open_lines(table))
            out << line << '\n';
        return 0;
    }
    fmt::print("{}", text_report(programs, file.verdicts, answers, differences, table, explained));
    if (words.size() > 1)
        std::ofstream(words[1]) << machine_report(programs, file.verdicts, answers, differences);
    return 0;
}

}  // namespace

int main(int count, char** words) {
    return run({words + 1, words + count});
}
