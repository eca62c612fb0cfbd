// The software device's answer to a program.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lode::ptx_acceptance {

enum class Answer : std::uint8_t {
    accepted,     ///< Loads, and its kernel can run.
    invalid,      ///< Rejected as invalid PTX.
    unsupported,  ///< Refused by name: the device doesn't support it.
    crashed,      ///< Crashes the process, or exceeds the time limit.
};

struct DeviceAnswer {
    Answer answer = Answer::invalid;
    std::string message;
};

/// Does the same as cuLibraryLoadData and cuLibraryGetKernel on a device of the target.
[[nodiscard]] DeviceAnswer ask_device(std::string_view target, std::string_view text);

/// Uses child processes, so that a crash or a hang affects the answer of one program only. Returns
/// the answers in the programs' order.
[[nodiscard]] std::vector<DeviceAnswer> ask_device(std::span<const Program> programs,
                                                   int limit_seconds = 10);

}  // namespace lode::ptx_acceptance
