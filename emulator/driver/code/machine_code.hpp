// Images with machine code alone, which the emulator can't run.
#pragma once

#include "emulator/driver/code/code.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lode::emulator::driver::machine_code {

/// What messages call an image: "The image in /lib/libapp.so", "The image in k.fatbin".
std::string place_of(const void* image, const JitLogs& logs);

/// Refuses an image, which is `what`: the message says how to build one that runs. A program may
/// have its kernels as PTX too: unless it loads that, they are missing at the end of the process.
CUresult refuse(const void* image, std::string_view what, std::vector<std::string> kernels,
                const JitLogs& logs);

/// Whether a file belongs to a Python package, which its user doesn't build.
bool is_packaged(const std::string& path) noexcept;

/// The kernels of a cubin in memory.
std::vector<std::string> kernels_at(const void* cubin);

/// Forgets the missing kernels that a loaded module has.
void look_for_missing(const Module& module);

/// Adds the images whose kernels are missing to the journal.
void report_missing();

}  // namespace lode::emulator::driver::machine_code
