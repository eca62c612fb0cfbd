// Entering a jail (jit/worker/jail.hpp): this process opens the compiler and gives up its rights.
#pragma once

#include "jit/files/file_accesses.hpp"
#include "jit/worker/message.hpp"
#include "tools/worker/compilers.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/options.hpp>

#include <memory>

namespace LODE_NAMESPACE::worker {

/// The jail that a worker is in.
struct EnteredJail {
    Compilers compilers;  ///< With that of the jail's language.
    ReadLimits limits;
};

/// Opens the language's compiler, and gives up the rights of the process. To be called before other
/// threads start. Errors: not_supported if the system lacks a protection; not_found for a folder;
/// those of opening the compiler.
[[nodiscard]] Result<EnteredJail> enter_jail(const JailSetup& setup);

/// Whether options stay in the jail. Errors: invalid_argument with the folder or the flag.
[[nodiscard]] Status check_options(const CompileOptions& options, const EnteredJail& jail);

/// Locks the jail for one request, for good: the process ends with the host, and makes only the
/// system calls that compiling needs. Errors: not_supported.
[[nodiscard]] Status lock_jail(const Request& request, int socket);

}  // namespace LODE_NAMESPACE::worker
