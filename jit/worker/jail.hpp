// A worker's jail: it gives up the rights that compiling untrusted source doesn't need.
//
// A jailed worker is started for its jail (an argument of the program), opens the compiler, gives
// up its rights for good and only then reads its first request. All its requests are compiled with
// that compiler in that jail.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lode::worker {

/// A setup as one argument of the program, and back. Errors: invalid_image.
[[nodiscard]] std::string to_argument(const JailSetup& setup);
[[nodiscard]] Result<JailSetup> setup_of_argument(std::string_view argument);

/// The jail that a worker is in.
struct EnteredJail {
    std::shared_ptr<const NvrtcLibrary> nvrtc;
    NvrtcSearchEnvironment search;
    ReadLimits limits;
};

/// Opens the compiler, and gives up the rights of the process. To be called before other threads
/// start. Errors: not_supported if the system lacks a protection; not_found for a folder; those of
/// NvrtcLibrary::open().
[[nodiscard]] Result<EnteredJail> enter_jail(const JailSetup& setup);

/// Whether options stay in the jail. Errors: invalid_argument with the folder or the flag.
[[nodiscard]] Status check_options(const CompileOptions& options, const EnteredJail& jail);

/// The variables of this process, as "NAME=value"; only those of the compiler and the loader for a
/// jail.
[[nodiscard]] std::vector<std::string> worker_environment(bool is_jailed);

}  // namespace lode::worker
