#include "differences.hpp"

#include <fstream>

#include <fmt/format.h>

namespace lode::ptx_acceptance {
namespace {

constexpr std::string_view kind_names[difference_kinds] = {
    "none", "crashed", "taken", "refused", "vague", "unsupported", "unrun"};

std::vector<std::string> fields(std::string_view line) {
    std::vector<std::string> all;
    for (;;) {
        const std::size_t at = line.find(" | ");
        all.emplace_back(line.substr(0, at));
        if (at == line.npos) return all;
        line.remove_prefix(at + 3);
    }
}

}  // namespace

std::string_view name_of(Difference difference) noexcept {
    return kind_names[static_cast<std::size_t>(difference)];
}

std::vector<Difference> compare(std::span<const Program> programs,
                                std::span<const Verdict> verdicts,
                                std::span<const DeviceAnswer> answers) {
    std::map<std::string_view, bool> runs;
    for (std::size_t k = 0; k < programs.size(); ++k)
        runs[programs[k].family] |= answers[k].answer == Answer::accepted;
    std::vector<Difference> all(programs.size());
    for (std::size_t k = 0; k < programs.size(); ++k) {
        const Answer answer = answers[k].answer;
        if (answer == Answer::crashed) {
            all[k] = Difference::crashed;
        } else if (verdicts[k].crashed) {
            all[k] = Difference::none;
        } else if (answer == Answer::accepted) {
            all[k] = verdicts[k].accepted ? Difference::none : Difference::taken;
        } else if (answer == Answer::invalid) {
            all[k] = verdicts[k].accepted ? Difference::refused : Difference::none;
        } else if (verdicts[k].accepted) {
            all[k] = Difference::unsupported;
        } else {
            all[k] = runs[programs[k].family] ? Difference::vague : Difference::unrun;
        }
    }
    return all;
}

bool matches(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = pattern.npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

bool read_explained(const std::string& path, std::vector<Explained>& into, std::string& error) {
    std::ifstream in(path);
    if (!in) error = "The file " + path + " can't be read.";
    bool reason = false;
    std::string line;
    for (int at = 1; std::getline(in, line); ++at) {
        if (line.empty()) reason = false;
        if (line.starts_with("# ")) reason = true;
        if (line.empty() || line[0] == '#') continue;
        const std::vector<std::string> parts = fields(line);
        Explained made;
        for (std::size_t k = 1; k < difference_kinds; ++k)
            if (!parts.empty() && parts[0] == kind_names[k]) made.kind = static_cast<Difference>(k);
        if (parts.size() != 4 || made.kind == Difference::none || !reason) {
            error = fmt::format("{}:{} isn't 'kind | family | program | message' after a reason.",
                                path, at);
            return false;
        }
        made.family = parts[1];
        made.program = parts[2];
        made.message = parts[3];
        made.text = line;
        into.push_back(std::move(made));
    }
    return error.empty();
}

bool explain(std::vector<Explained>& entries, Difference kind, const Program& program,
             const Verdict& verdict, const DeviceAnswer& answer) {
    const std::string line = line_of(program);
    const std::string& message = verdict.accepted ? answer.message : verdict.message;
    for (Explained& entry : entries) {
        if (entry.kind != kind || !matches(entry.family, program.family) ||
            !matches(entry.program, line) || !matches(entry.message, message))
            continue;
        ++entry.used;
        return true;
    }
    return false;
}

Table count(std::span<const Program> programs, std::span<const Verdict> verdicts,
            std::span<const DeviceAnswer> answers, std::span<const Difference> differences,
            std::vector<Explained>& entries) {
    Table table;
    for (std::size_t k = 0; k < programs.size(); ++k) {
        Counts& counts = table[programs[k].family];
        ++counts.programs;
        ++(verdicts[k].accepted ? counts.accepted : counts.refused);
        if (answers[k].answer == Answer::accepted) ++counts.run;
        const Difference kind = differences[k];
        if (kind == Difference::none) continue;
        if (explain(entries, kind, programs[k], verdicts[k], answers[k])) {
            ++counts.explained;
            continue;
        }
        const auto at = static_cast<std::size_t>(kind);
        if (counts.of[at]++ == 0) counts.digest[at] = digest("");
        counts.digest[at] = digest(programs[k].text(), counts.digest[at]);
    }
    return table;
}

std::vector<std::string> open_lines(const Table& table) {
    std::vector<std::string> lines;
    for (const auto& [family, counts] : table) {
        for (std::size_t k = 1; k < difference_kinds; ++k) {
            if (counts.of[k] == 0) continue;
            lines.push_back(fmt::format("{} {} {} {:016x}", family, kind_names[k], counts.of[k],
                                        counts.digest[k]));
        }
    }
    return lines;
}

}  // namespace lode::ptx_acceptance
