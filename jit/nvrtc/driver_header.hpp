// The driver's header <cuda.h>, in a form that kernel source can include.
#pragma once

#include <lode/base/api.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace LODE_NAMESPACE {

/// What the compiler gets in place of the text of the file at `path`; nullopt for the text itself.
/// cuda.h declares functions without an execution space, which NVRTC refuses; they become device
/// functions that nothing defines. Its types, enumerators and macros are what kernels use.
[[nodiscard]] std::optional<std::string> text_for_kernels(std::string_view path,
                                                          std::string_view text);

}  // namespace LODE_NAMESPACE
