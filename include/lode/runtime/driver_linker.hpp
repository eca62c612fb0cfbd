/// \file
/// Linking with the driver's own linker (cuLink…).
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>
#include <lode/jit/linker.hpp>
#include <lode/runtime/device.hpp>

#include <span>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Links inputs for a device with the driver's linker, where nvJitLink isn't installed or the code
/// is to run on the software device. Blocks. Thread-safe.
///
/// The driver's linker accepts everything except LTO-IR; the software device's only PTX, and there
/// the result is PTX. Options that only nvJitLink has (`lto`, `split_compile`, `kernels_used`,
/// `variables_used`, `drop_unused_variables`, `extra_flags`) must have their default values;
/// LinkOptions::optimization_level may be 0 to 4. The result is as described at Linker::link().
///
/// Errors: link_failed with the linker's text in Error::log, and with the symbols that no input
/// defines or that several do in the message; invalid_argument for an empty list and for options;
/// unsupported_arch for an input that the device can't run; not_supported for LTO-IR.
[[nodiscard]] Result<Image> link_with_driver(const Device& device,
                                             std::span<const LinkInput> inputs,
                                             const LinkOptions& options = {});

}  // namespace LODE_NAMESPACE

LODE_API_END
