// The journal of `lode cached`: with LODE_CACHED_REPORT, a file to which every process appends a
// line of JSON for each compilation: {"program", "pid", "outcome", "reason", "milliseconds",
// "saved_milliseconds"}. The outcome is hit, compiled or uncached.
#pragma once

#include <string_view>

namespace lode::cached {

struct JournalLine {
    std::string_view outcome;
    std::string_view reason = {};  ///< Why it is uncached or isn't kept.
    double milliseconds = 0;       ///< What the program waited.
    double saved_milliseconds = 0;
};

/// Never throws; a line that can't be written is lost.
void add_to_journal(const JournalLine& line) noexcept;

}  // namespace lode::cached
