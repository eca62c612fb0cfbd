// A worker for one request, where there is no pool.
#pragma once

#include "jit/worker/message.hpp"

#include <lode/base/error.hpp>

#include <span>
#include <string_view>

namespace LODE_NAMESPACE::worker {

/// A request in this process's working folder and environment; in a jail, with the compiler's
/// variables alone.
[[nodiscard]] Request request_here(CompileRequest compilation, bool is_jailed = false);

/// A request to link, in this process's working folder and environment.
[[nodiscard]] Request link_request(const LinkerSearch& search, std::span<const LinkInput> inputs,
                                   const Arch& target, const LinkOptions& options);

/// "<reason>, so <what> takes a process of its own. <why there is no lode-worker>"
[[nodiscard]] tl::unexpected<Error> fail_without_worker(std::string_view reason,
                                                        std::string_view what, Error missing);

/// Starts a worker, gives it the request and ends it. `reason` says, as a clause, why this process
/// can't do it. Errors: those of Process; compiler_missing, with the reason, if lode-worker isn't
/// found.
[[nodiscard]] Result<Answer> run_once(const Request& request, std::string_view reason);

}  // namespace LODE_NAMESPACE::worker
