// CUresult as an Error: a sentence on what it means, and what to do about it.
#pragma once

#include "runtime/driver/table.hpp"

#include <lode/base/error.hpp>

#include <optional>
#include <string_view>

namespace LODE_NAMESPACE::detail {

/// "`call` fails: <what it means>. <cure>", with the driver's own name of the code in Native. If
/// the cause is known, `found` describes it and replaces the cure; it may be empty.
Error error_of(const DriverTable& table, std::string_view call, CUresult result,
               std::optional<std::string_view> found = {});

/// Whether a result ends the device's context for this process: cuda.h says "the process must be
/// terminated and relaunched", or the context is gone.
bool is_sticky(CUresult result) noexcept;

}  // namespace LODE_NAMESPACE::detail
