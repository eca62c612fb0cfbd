// The end of the process: what must be over before the exit handlers of libraries run.
//
// exit(), and so the return from main(), runs the handlers and destructors of NVRTC, nvJitLink and
// OpenSSL while other threads go on. lode's own handler runs before theirs: it asks what is in
// progress to stop, and waits for it.
#pragma once

#include <lode/base/error.hpp>

namespace LODE_NAMESPACE {

/// Whether exit() has begun. Loops that wait ask it, and give up.
[[nodiscard]] bool is_process_ending() noexcept;

/// Around what makes a library register exit handlers, such as dlopen(): lode's own handler then
/// runs before them. No thread that has used lode begins an exit() in between.
class ExitHandlerScope {
public:
    ExitHandlerScope() noexcept;
    ~ExitHandlerScope();
    ExitHandlerScope(const ExitHandlerScope&) = delete;
    ExitHandlerScope& operator=(const ExitHandlerScope&) = delete;
};

/// An error if exit() began while a library was loaded, on a thread that lode doesn't know: it runs
/// the library's handlers first, each in less than the millisecond that this waits. exit() can't be
/// asked whether it has begun.
[[nodiscard]] Status refuse_after_exit();

/// An operation that uses libraries with exit handlers. exit() waits until it is destroyed, except
/// on its own thread.
class ProcessUse {
public:
    ProcessUse() noexcept;
    ~ProcessUse();
    ProcessUse(const ProcessUse&) = delete;
    ProcessUse& operator=(const ProcessUse&) = delete;

    /// False once exit() has begun: the operation mustn't start.
    [[nodiscard]] explicit operator bool() const noexcept { return is_held_; }

private:
    bool is_held_ = false;
};

/// The error of an operation that can't begin.
[[nodiscard]] tl::unexpected<Error> fail_at_process_end();

}  // namespace LODE_NAMESPACE
