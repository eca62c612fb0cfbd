// The emulator as a driver: where its library lies, and what it says of a fault.
#pragma once

#include "base/shared_library.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode::detail {

struct DriverState;

/// The value of LODE_DRIVER that asks for the emulator.
inline constexpr std::string_view emulator_word = "emulator";

/// LODE_EMULATOR alone when it is set; otherwise beside the program, in lode's private library
/// folder seen from the program and from lode's own library, and in a build tree around the
/// program.
std::vector<LibraryPlace> emulator_places();

/// The emulator's lode_emulator_take_report: copies and forgets the report of the last fault;
/// returns its whole length.
using TakeEmulatorReport = std::size_t(char* text, std::size_t room);

/// nullptr when the library isn't the emulator.
TakeEmulatorReport* emulator_report_of(const SharedLibrary& library) noexcept;

/// The report of the last fault, or "" for no report and for a null `take`.
std::string emulator_report(TakeEmulatorReport* take);

/// Sends the emulator's log lines to the state's log for as long as the state lives. The last
/// state to ask gets them.
void forward_emulator_log(const SharedLibrary& library, const std::shared_ptr<DriverState>& state);

}  // namespace lode::detail
