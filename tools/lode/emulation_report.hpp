// What the processes of `lode emulate` have reported, as text and as JSON.
#pragma once

#include "tools/lode/report.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lode::tool {

/// One thing that happened, and how often. Reports of one process with the same headline and the
/// same places in the code are one.
struct EmulationEvent {
    std::string kind;     ///< process, finding, benign, fault, refusal, cut, children or unusable.
    std::string program;  ///< The file name of the process's program.
    long pid = 0;
    std::string kernel;  ///< Empty where no kernel is concerned.
    std::string text;    ///< One line, or a headline and indented lines below it.
    std::size_t count = 1;
    Json details = Json::object();  ///< The whole line of the journal.

    [[nodiscard]] std::string_view headline() const noexcept;
    /// The lines below the headline.
    [[nodiscard]] std::vector<std::string> facts() const;
};

/// The journal of the software device, which emulator/driver/journal.hpp describes.
struct EmulationReport {
    /// Reads a journal. A line that isn't what the software device writes counts as a finding, with
    /// its text: nothing is lost.
    static EmulationReport read(std::string_view journal);

    std::vector<EmulationEvent> processes;  ///< Those that have used the software device.
    std::vector<EmulationEvent> findings;   ///< Findings and faults.
    std::vector<EmulationEvent> refusals;
    std::vector<EmulationEvent> unusable;  ///< What the software device can't run, and why.
    std::vector<EmulationEvent> benign;    ///< What a check found that is no error.
    std::uint64_t child_launches = 0;      ///< Launches by kernels.

    /// Whether a check, a kernel or a whole process failed.
    [[nodiscard]] bool has_failures() const noexcept {
        return !findings.empty() || !unusable.empty();
    }
    /// Whether no process has used the software device, or tried to.
    [[nodiscard]] bool is_unused() const noexcept { return processes.empty() && !has_failures(); }
    /// The summary for stderr: lines that begin with "lode: ". Without `facts`, which the log has
    /// printed, findings are headlines.
    [[nodiscard]] std::string text(bool facts = true) const;
    /// {"processes", "findings", "refusals", "unusable", "benign", "child_launches"}
    [[nodiscard]] Json json() const;
};

}  // namespace lode::tool
