#include "jit/nvrtc/compiler_thread.hpp"

#include "base/file.hpp"
#include "base/os/thread.hpp"

#include <system_error>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

constinit thread_local bool is_compiler_thread = false;

}  // namespace

// Compilers descend by recursion, so the stack is large. Its memory must stay mapped: NVRTC 13
// keeps a pointer into the stack on which its assembler failed, and writes there in a handler of
// exit().
Status on_compiler_thread(const std::function<void()>& body) {
    if (is_compiler_thread) {
        body();
        return {};
    }
    const int problem = os::run_on_own_thread("lode compiler", [&] {
        is_compiler_thread = true;
        body();
    });
    if (problem == 0) return {};
    return fail(Errc::out_of_memory,
                fmt::format("A thread with a stack of {} bytes for the compiler can't be started: "
                            "{}.",
                            os::own_stack_bytes, std::generic_category().message(problem)),
                native_from_errno(problem));
}

}  // namespace LODE_NAMESPACE
