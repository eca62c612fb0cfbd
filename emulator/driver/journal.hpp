// The journal: with LODE_EMULATOR_REPORT, a file to which every process that uses the emulator
// appends what happened in it, so that a parent process can collect it (`lode emulate` does).
//
// One JSON object per line: {"kind", "pid", "program", "kernel", "text"}. Lines about a place in a
// kernel also have {"check", "count", "thread", "block", "ptx_line", "stack"}, and their text is a
// headline with facts below it, each on an indented line. What is found again in the same launch
// has a second line, with its count. Each line is appended by one write(), so the lines of several
// processes don't mix.
#pragma once

#include "emulator/exec/machine.hpp"

#include <cstdint>
#include <string_view>

namespace lode::emulator::driver::journal {

enum class Kind : std::uint8_t {
    process,   ///< cuInit succeeded; the text lists the devices.
    finding,   ///< A check found an error that didn't stop the kernel.
    benign,    ///< A check found something that is no error.
    fault,     ///< An error stopped the kernel.
    refusal,   ///< Something that the emulator can't load, run or do.
    cut,       ///< The last line of a process that has too much to say.
    children,  ///< The number of launches by kernels, at the end of a process.
    unusable,  ///< Why the process, or a part of it, can't run on the emulator.
};

/// Reads LODE_EMULATOR_REPORT again. Called by cuInit.
void open();

/// Appends a line, if LODE_EMULATOR_REPORT names a journal. `kernel` may be empty. A process writes
/// at most 1000 lines. If the file can't be written, the log says so once. Never throws;
/// thread-safe.
void add(Kind kind, std::string_view kernel, std::string_view text) noexcept;

/// Likewise, with the place in the kernel.
void add(Kind kind, const exec::FindingReport& report) noexcept;

}  // namespace lode::emulator::driver::journal
