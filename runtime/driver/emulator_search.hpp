// The emulator as a driver: finds its library, and reads its fault reports and log.
#pragma once

#include "base/shared_library.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace LODE_NAMESPACE::detail {

struct DriverState;

/// The value of LODE_DRIVER that selects the emulator.
inline constexpr std::string_view emulator_word = "emulator";

/// Where to look for the emulator's library. LODE_EMULATOR alone if it is set; otherwise beside the
/// program, in lode's private library folder relative to the program, to lode's own library and to
/// the host's package, by the loader's path, and in a build tree around the program.
std::vector<LibraryPlace> emulator_places();

/// The emulator's lode_emulator_take_report: copies the report of the last fault and clears it;
/// returns its full length.
using TakeEmulatorReport = std::size_t(char* text, std::size_t room);

/// The emulator's lode_emulator_set_print: `print` receives what kernels print; null stops that if
/// `user` is the current one.
using SetEmulatorPrint = void(void (*print)(void* user, const char* text, std::size_t length),
                              void* user);

/// Receives PTX with line information.
using TakeEmulatorLines = void(void* to, const char* ptx, std::size_t length);
/// The emulator's lode_emulator_set_lines: `hook` gives the lines of a CUlibrary when they are
/// needed; null stops that.
using SetEmulatorLines = int(void* library,
                             void (*hook)(void* user, TakeEmulatorLines* take, void* to),
                             void* user);

/// Makes the emulator, once it is initialised, show all of its devices: also those that
/// CUDA_VISIBLE_DEVICES hides.
void show_all_of_emulator(const SharedLibrary& library) noexcept;

/// nullptr when the library isn't the emulator, or is an older one.
SetEmulatorLines* emulator_lines_of(const SharedLibrary& library) noexcept;

/// nullptr when the library isn't the emulator.
SetEmulatorPrint* emulator_print_of(const SharedLibrary& library) noexcept;

/// nullptr when the library isn't the emulator.
TakeEmulatorReport* emulator_report_of(const SharedLibrary& library) noexcept;

/// The report of the last fault; "" if there is none or `take` is null.
std::string emulator_report(TakeEmulatorReport* take);

/// Sends the emulator's log lines to the state's log for as long as the state lives. Only the last
/// state that asked receives them.
void forward_emulator_log(const SharedLibrary& library, const std::shared_ptr<DriverState>& state);

}  // namespace LODE_NAMESPACE::detail
