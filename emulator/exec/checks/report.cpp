// The text of reports: a headline, "file.cu:12: kernel does what", and facts below it.
#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "emulator/decode/module_parts.hpp"
#include "emulator/exec/checks/race/cells.hpp"
#include "emulator/exec/lanes.hpp"
#include "emulator/exec/scheduler.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace lode::emulator::exec {

namespace {

constexpr std::size_t most_headline = 100;
constexpr std::size_t most_name = 40;

/// A path as the user's terminal can open it: relative if it is below the working directory.
std::string_view shown_path(std::string_view file) {
    std::error_code problem;
    const std::string here = std::filesystem::current_path(problem).string() + "/";
    return !problem && file.starts_with(here) ? file.substr(here.size()) : file;
}

std::string shown_place(const SourcePlace& place) {
    return fmt::format("{}:{}", shown_path(place.file), place.line);
}

/// "scale<...>" for "scale<float, 4>".
std::string without_template_arguments(std::string_view name) {
    std::string text;
    int depth = 0;
    for (const char letter : name) {
        if (letter == '>' && depth > 0 && --depth == 0) text += "...";
        if (depth == 0) text += letter;
        if (letter == '<') ++depth;
    }
    return text;
}

}  // namespace

Dim3 thread_of(const Warp& warp, u32 lane) {
    const auto at = [&](u32 offset) {
        return reinterpret_cast<const u32*>(warp.specials + offset)[lane];
    };
    return {at(tid_x), at(tid_y), at(tid_z)};
}

std::string index_text(const Dim3& at) {
    return fmt::format("({},{},{})", at.x, at.y, at.z);
}

std::string brief_name(std::string_view symbol) {
    std::string name = lode::readable_name(symbol);
    if (name.size() > most_name) name = without_template_arguments(name);
    if (name.size() > most_name) name = last_name(name);
    return lode::shortened(name, most_name);
}

FindingReport report_at(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                        const Frame* frame) {
    FindingReport report;
    report.kernel = launch.kernel->info.name;
    report.thread = thread_of(warp, lane);
    report.block = warp.block->index;
    const ptx::Instruction& at = frame->code->instruction(op);
    report.ptx_line = at.line;
    report.code = at.opcode;
    if (frame->depth > 0)
        report.code += fmt::format(" in function {}", brief_name(frame->code->function->name));
    report.stack = source_stack(*launch.module, *frame->code, at);
    return report;
}

FindingReport report_of_kernel(const Launch& launch) {
    FindingReport report;
    report.kernel = launch.kernel->info.name;
    const Code& code = launch.kernel->codes.front();
    for (const Op& op : code.ops) {
        const ptx::Instruction& at = code.instruction(&op);
        if (report.ptx_line == 0) report.ptx_line = at.line;
        report.stack = source_stack(*launch.module, code, at);
        if (!report.stack.empty()) break;
    }
    return report;
}

void describe(const Launch& launch, FindingReport& report, std::string_view what) {
    const std::string name = brief_name(report.kernel);
    const auto headline = [&](std::string_view where) {
        return fmt::format("{}: {} {}", where, name, what.substr(0, what.find('\n')));
    };
    std::string text;
    std::vector<std::string> facts;
    for (auto at = what.find('\n'); at != what.npos;) {
        const auto end = what.find('\n', at + 1);
        facts.emplace_back(what.substr(at + 1, end - at - 1));
        at = end;
    }
    if (!report.code.empty()) {
        facts.push_back(fmt::format("thread: {} of block {}; grid {}, block {}",
                                    index_text(report.thread), index_text(report.block),
                                    index_text(launch.shape.grid), index_text(launch.shape.block)));
        facts.push_back(fmt::format("code: {}, PTX line {}", report.code, report.ptx_line));
    }
    if (report.stack.empty()) {
        text = headline(fmt::format("PTX line {}", report.ptx_line));
    } else {
        const SourcePlace& place = report.stack.front();
        text = headline(shown_place(place));
        if (const auto slash = place.file.rfind('/');
            text.size() > most_headline && slash != place.file.npos) {
            text = headline(fmt::format("{}:{}", place.file.substr(slash + 1), place.line));
            facts.push_back(fmt::format("source: {}:{}", place.file, place.line));
        }
        for (std::size_t k = 1; k < report.stack.size(); ++k)
            facts.push_back("inlined at: " + shown_place(report.stack[k]));
    }
    if (name != report.kernel)
        facts.push_back("kernel: " +
                        lode::demangled(report.kernel).value_or(std::string(report.kernel)));
    for (const std::string& fact : facts)
        text += "\n  " + fact;
    report.text = std::move(text);
}

std::string place_of(const Launch& launch, const Warp& warp, u32 lane, const Op* op,
                     const Frame* frame) {
    const FindingReport at = report_at(launch, warp, lane, op, frame);
    std::string text =
        fmt::format("thread {} of block {}", index_text(at.thread), index_text(at.block));
    if (frame->depth > 0) text += fmt::format(", in {}", brief_name(frame->code->function->name));
    for (std::size_t k = 0; k < at.stack.size(); ++k)
        text += fmt::format(", {}{}", k == 0 ? "" : "inlined at ", shown_place(at.stack[k]));
    return text + fmt::format(", PTX line {}", at.ptx_line);
}

namespace {

/// A place of an earlier access, for a headline and in full.
struct PlaceTexts {
    std::string brief, whole;
};

PlaceTexts texts_of(const std::vector<SourcePlace>& stack, u32 ptx_line) {
    if (stack.empty()) {
        const std::string line = fmt::format("PTX line {}", ptx_line);
        return {line, line};
    }
    PlaceTexts texts{shown_place(stack.front()), shown_place(stack.front())};
    for (std::size_t k = 1; k < stack.size(); ++k)
        texts.whole += ", inlined at " + shown_place(stack[k]);
    return texts;
}

}  // namespace

EarlierPlace earlier_place(const Launch& launch, u8 site, bool wrote) {
    constexpr std::size_t most = 3;
    EarlierPlace place;
    if (site == 0) return place;
    std::vector<std::string> wholes;
    std::vector<std::string> briefs;
    const auto add = [](std::vector<std::string>& texts, std::string text) {
        const bool is_new = std::ranges::find(texts, text) == texts.end();
        if (is_new) texts.push_back(std::move(text));
        return is_new;
    };
    for (const Code& code : launch.kernel->codes) {
        for (const Op& op : code.ops) {
            if (op.cache == 0 || site_of(op.cache) != site) continue;
            const ptx::Instruction& at = code.instruction(&op);
            const bool only_reads =
                at.traits.effect == ptx::Effect::load || at.reading->name() == "ldmatrix";
            const bool only_writes = at.reading->name() == "st";
            if (wrote ? only_reads : only_writes) continue;
            auto stack = source_stack(*launch.module, code, at);
            PlaceTexts texts = texts_of(stack, at.line);
            if (!add(wholes, std::move(texts.whole))) continue;
            add(briefs, std::move(texts.brief));
            place.stack = std::move(stack);
        }
    }
    if (wholes.size() != 1) place.stack.clear();
    if (wholes.empty() || wholes.size() > most) return place;
    place.text = fmt::format(" at {}", fmt::join(wholes, " or "));
    place.brief = fmt::format(" at {}", fmt::join(briefs, " or "));
    return place;
}

EarlierPlace place_of_op(const Launch& launch, const Code& code, const Op* op) {
    const ptx::Instruction& at = code.instruction(op);
    auto stack = source_stack(*launch.module, code, at);
    const PlaceTexts texts = texts_of(stack, at.line);
    return {" at " + texts.whole, " at " + texts.brief, std::move(stack)};
}

}  // namespace lode::emulator::exec
