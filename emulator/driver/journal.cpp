#include "emulator/driver/journal.hpp"

#include "base/os/file.hpp"
#include "base/os/process.hpp"
#include "emulator/driver/log.hpp"

#include <lode/base/environment.hpp>

#include <array>
#include <cerrno>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::driver::journal {
namespace {

constexpr unsigned most_lines = 1000;

struct Journal {
    std::mutex mutex;
    std::string path = environment("LODE_EMULATOR_REPORT").value_or("");
    unsigned lines = 0;
};

// Never destroyed: kernels may still run while the process ends.
Journal& the_journal() {
    static Journal& instance = *new Journal;
    return instance;
}

std::string_view word_for(Kind kind) noexcept {
    constexpr std::array<std::string_view, 8> words = {
        "process", "finding", "benign", "fault", "refusal", "cut", "children", "unusable"};
    return words.at(static_cast<std::size_t>(kind));
}

/// A JSON string. Bytes that aren't ASCII stay as they are.
std::string json_string(std::string_view text) {
    std::string json = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            json += {'\\', c};
        } else if (c == '\n') {
            json += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            json += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            json += c;
        }
    }
    return json + '"';
}

/// The members of a line that say where something happened.
std::string place_of(const exec::FindingReport& report) {
    const auto index = [](const Dim3& at) { return fmt::format("[{}, {}, {}]", at.x, at.y, at.z); };
    const auto places = [](const std::vector<SourcePlace>& all) {
        std::string text;
        for (const auto& each : all) {
            if (!text.empty()) text += ", ";
            text += fmt::format(R"({{"file": {}, "line": {}}})", json_string(each.file), each.line);
        }
        return text;
    };
    std::string earlier;
    if (!report.earlier.empty())
        earlier = fmt::format(R"(, "earlier": [{}])", places(report.earlier));
    return fmt::format(
        R"(, "check": {}, "count": {}, "thread": {}, "block": {}, "ptx_line": {}, "stack": [{}]{})",
        json_string(report.kind), report.count, index(report.thread), index(report.block),
        report.ptx_line, places(report.stack), earlier);
}

/// 0, or errno.
int append(const std::string& path, const std::string& line) {
    // Opened for each line: programs may close descriptors that they don't know.
    const Descriptor file =
        os::open_file(path, os::Open::writing | os::Open::append | os::Open::create);
    if (!file) return errno;
    const std::ptrdiff_t put = os::write_file(file.get(), std::as_bytes(std::span(line)));
    return put < 0 ? errno : static_cast<std::size_t>(put) < line.size() ? EIO : 0;
}

/// `place` is empty, or further members of the line.
void add_line(Kind kind, std::string_view kernel, std::string_view text, std::string_view place) {
    std::string complaint;
    {
        Journal& journal = the_journal();
        const std::lock_guard lock(journal.mutex);
        if (journal.path.empty() || journal.lines >= most_lines) return;
        if (++journal.lines == most_lines) {
            kind = Kind::cut;
            kernel = {};
            place = {};
            text = "The process has more to report.";
        }
        const std::string line = fmt::format(
            R"({{"kind": "{}", "pid": {}, "program": {}, "kernel": {}, "text": {}{}}})"
            "\n",
            word_for(kind), os::process_id(), json_string(program_invocation_short_name),
            json_string(kernel), json_string(text), place);
        if (const int problem = append(journal.path, line); problem != 0) {
            complaint = fmt::format("The file '{}' of LODE_EMULATOR_REPORT can't be written: {}.",
                                    journal.path, std::generic_category().message(problem));
            journal.path.clear();
        }
    }
    if (!complaint.empty()) log::write(log::Level::warning, complaint);
}

}  // namespace

void open() {
    Journal& journal = the_journal();
    const std::lock_guard lock(journal.mutex);
    journal.path = environment("LODE_EMULATOR_REPORT").value_or("");
    journal.lines = 0;
}

void add(Kind kind, std::string_view kernel, std::string_view text) noexcept {
    try {
        add_line(kind, kernel, text, {});
    } catch (...) {  // Out of memory: the line is lost.
    }
}

void add(Kind kind, const exec::FindingReport& report) noexcept {
    try {
        add_line(kind, report.kernel, report.text, place_of(report));
    } catch (...) {  // Likewise.
    }
}

}  // namespace lode::emulator::driver::journal
