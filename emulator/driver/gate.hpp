// Common entry code of every entry point: counts calls and fails them for tests, checks the state
// of the process, thread and context, and catches exceptions.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context/context.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/stream/stream.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace lode::emulator::driver {

namespace gate {

/// Counts a call. Returns CUDA_SUCCESS, or the failure that the test interface has requested.
CUresult count(const char* symbol) noexcept;
void order(unsigned long n, CUresult result) noexcept;
unsigned long calls() noexcept;
/// The number of the calling thread's last call among all of the process; 0 before the first.
unsigned long current_call() noexcept;
/// Its symbol; empty before the first.
const char* current_entry() noexcept;
/// The symbol of the call that failed on request, without its version; empty if there is none.
std::string hit();
/// Clears the call count and any requested failure.
void clear() noexcept;

/// CUDA_SUCCESS once cuInit has succeeded in this process; NOT_INITIALIZED before, and in a forked
/// child.
CUresult initialised() noexcept;
/// Whether this process was forked after the driver had been initialised.
bool forked() noexcept;
/// Registers the fork handler that forked() relies on; called by cuInit.
void watch_forks();

/// Marks the calling thread as running a function of the program: a host function, a user object's
/// destructor or a callback of the log. There the driver permits harmless calls only.
class HostFunction {
public:
    HostFunction() noexcept;
    ~HostFunction();
    HostFunction(const HostFunction&) = delete;
    HostFunction& operator=(const HostFunction&) = delete;
};

/// CUDA_SUCCESS, or NOT_PERMITTED to a thread that runs a host function.
CUresult permitted(const char* symbol) noexcept;
/// CUDA_SUCCESS, or why the process's state, a host function or a stream capture forbids this call
/// to the calling thread.
CUresult allowed(const char* symbol) noexcept;

/// Result of an unsupported entry point: NOT_SUPPORTED; logs its name once.
CUresult unsupported(const char* symbol) noexcept;
/// The same for an unsupported feature of an entry point; counts no call.
CUresult refuse(const char* what) noexcept;
/// NOT_SUPPORTED; the first time, logs the line and adds it to the journal.
CUresult refuse_once(const std::string& line, journal::Kind kind);

/// Adds the line about a failed call to the driver's log, and returns its result.
CUresult failed(const char* symbol, CUresult result) noexcept;

/// The result of an entry point, which is logged if it is an error.
inline CUresult answer(const char* symbol, CUresult result) noexcept {
    const bool is_fine = result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
    return is_fine ? result : failed(symbol, result);
}

template <class Body>
CUresult guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const StreamClosed& closed) {
        return closed.result;
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::length_error&) {  // Containers throw this for impossible sizes.
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::system_error&) {  // A thread couldn't be started.
        return CUDA_ERROR_OPERATING_SYSTEM;
    } catch (...) {  // Callbacks may throw anything.
        return CUDA_ERROR_UNKNOWN;
    }
}

}  // namespace gate

/// Wraps an entry point that works before cuInit.
template <class Body>
CUresult enter_early(const char* symbol, Body&& body) noexcept {
    CUresult state = gate::count(symbol);
    if (state == CUDA_SUCCESS) state = gate::permitted(symbol);
    return gate::answer(symbol, state != CUDA_SUCCESS ? state : gate::guarded(body));
}

/// Wraps an entry point that requires cuInit but no context.
template <class Body>
CUresult enter(const char* symbol, Body&& body) noexcept {
    CUresult state = gate::count(symbol);
    if (state == CUDA_SUCCESS) state = gate::allowed(symbol);
    return gate::answer(symbol, state != CUDA_SUCCESS ? state : gate::guarded(body));
}

/// Wraps an entry point that frees something: it does so even if a failure is requested.
template <class Body>
CUresult enter_release(const char* symbol, Body&& body) noexcept {
    const CUresult ordered = gate::count(symbol);
    if (const CUresult state = gate::allowed(symbol); state != CUDA_SUCCESS)
        return gate::answer(symbol, state);
    const CUresult result = gate::guarded(body);
    return gate::answer(symbol, ordered != CUDA_SUCCESS ? ordered : result);
}

/// Wraps an entry point that uses the current context: body(Context&). Returns the context's error,
/// if there is one, without calling the body.
template <class Body>
CUresult enter_context(const char* symbol, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        Context* context = nullptr;
        if (const CUresult state = current::open_context(context); state != CUDA_SUCCESS)
            return state;
        if (const CUresult error = context->error(); error != CUDA_SUCCESS) return error;
        return body(*context);
    });
}

}  // namespace lode::emulator::driver
