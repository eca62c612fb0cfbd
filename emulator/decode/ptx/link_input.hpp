// What linkers and assemblers are given: PTX, or a fat binary with PTX.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <string>
#include <string_view>

namespace lode::emulator::ptx {

/// The PTX of an input for a device: the text itself, or the newest part of a fat binary. A text
/// ends at its first NUL. `name` is for messages. Errors: invalid_image for an input without PTX
/// for the device, which the message calls by its kind, and for a damaged fat binary.
[[nodiscard]] Result<std::string> ptx_of_link_input(std::string_view bytes,
                                                    ComputeCapability device,
                                                    const std::string& name);

/// Whether an input is libcudadevrt.a, for Link::add_device_runtime().
[[nodiscard]] bool is_device_runtime(std::string_view bytes, std::string_view name) noexcept;

}  // namespace lode::emulator::ptx
