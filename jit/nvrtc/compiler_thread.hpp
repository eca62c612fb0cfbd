// The thread that a compiler runs on.
#pragma once

#include <lode/base/error.hpp>

#include <functional>

namespace LODE_NAMESPACE {

/// Runs `body` on a thread of its own and waits for it, so that nothing of the caller's thread
/// reaches a compiler: the size of its stack (here 64 MiB), its locale ("C"), its rounding mode,
/// its signal handlers. On such a thread, runs it there. Exceptions of `body` propagate. Errors:
/// out_of_memory if the thread can't be started.
[[nodiscard]] Status on_compiler_thread(const std::function<void()>& body);

}  // namespace LODE_NAMESPACE
