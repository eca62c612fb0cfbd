// What the software device answers to a program.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::ptx_acceptance {

enum class Answer : std::uint8_t {
    accepted,     ///< Loads, and its kernel would run.
    invalid,      ///< Is said to be no valid PTX.
    unsupported,  ///< Is refused by name: the device doesn't run it.
    crashed,      ///< Ends the process, or takes longer than the limit.
};

struct DeviceAnswer {
    Answer answer = Answer::invalid;
    std::string message;
};

/// Does what cuLibraryLoadData and cuLibraryGetKernel do, on a device of the program's target.
[[nodiscard]] DeviceAnswer ask_device(std::string_view target, std::string_view text);

/// Asks in child processes, so that a crash or a hang is the answer of one program only. Answers
/// come in the programs' order.
[[nodiscard]] std::vector<DeviceAnswer> ask_device(std::span<const Program> programs,
                                                   int limit_seconds = 10);

}  // namespace lode::ptx_acceptance
