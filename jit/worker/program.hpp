// Where the program lode-worker is.
#pragma once

#include <lode/base/error.hpp>

#include <filesystem>

namespace LODE_NAMESPACE::worker {

/// `chosen` if it isn't empty, else the first of the other places of WorkerOptions::program that
/// has an executable file. Errors: compiler_missing, with every place tried.
[[nodiscard]] Result<std::filesystem::path> find_program(const std::filesystem::path& chosen);

}  // namespace LODE_NAMESPACE::worker
