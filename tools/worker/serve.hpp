// The worker's side: answers requests until the host is gone.
#pragma once

#include <lode/base/api.hpp>

namespace LODE_NAMESPACE::worker {

/// Serves a host over a connected stream socket and returns when the host closes it. If the host
/// goes away during a compilation, ends the process at once. Changes the process's environment and
/// working folder to those of each request; for the program lode-worker alone.
///
/// With `jail`, an argument of the program (jail.hpp), the process enters that jail before it
/// receives anything, and answers one request; if it can't, the answer is the error.
void serve(int socket, const char* jail = nullptr);

}  // namespace LODE_NAMESPACE::worker
