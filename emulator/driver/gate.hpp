// The gate that every entry point passes: counts and fails calls for the tests, refuses what the
// state of the process, thread or context rules out, and keeps exceptions inside.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/context.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace lode::emulator::driver {

namespace gate {

/// Counts a call. CUDA_SUCCESS, or the code that the test instrument has ordered for it.
CUresult count(const char* symbol) noexcept;
void order(unsigned long n, CUresult result) noexcept;
unsigned long calls() noexcept;
/// The symbol that the last order hit, without its version; empty when none was hit.
std::string hit();
/// Takes orders and counts back.
void clear() noexcept;

/// CUDA_SUCCESS once cuInit has succeeded in this process; NOT_INITIALIZED before, and in a child
/// that was forked afterwards.
CUresult initialised() noexcept;
/// Whether this process was forked from one that had initialised the driver.
bool forked() noexcept;
/// Makes forked() work; called by cuInit.
void watch_forks();

/// Answers for an entry point that isn't there: NOT_SUPPORTED, its name logged once.
CUresult unsupported(const char* symbol) noexcept;
/// The same for a feature of an entry point that is; counts no call. `what` must be a literal.
CUresult refuse(const char* what) noexcept;

template <class Body>
CUresult guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::length_error&) {  // How containers refuse what no memory could hold.
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const std::system_error&) {  // A thread that can't be started.
        return CUDA_ERROR_OPERATING_SYSTEM;
    } catch (...) {  // The callbacks of a call may throw anything.
        return CUDA_ERROR_UNKNOWN;
    }
}

}  // namespace gate

/// An entry point that works before cuInit.
template <class Body>
CUresult enter_early(const char* symbol, Body&& body) noexcept {
    if (const CUresult ordered = gate::count(symbol); ordered != CUDA_SUCCESS) return ordered;
    return gate::guarded(body);
}

/// An entry point that needs cuInit and no context.
template <class Body>
CUresult enter(const char* symbol, Body&& body) noexcept {
    if (const CUresult ordered = gate::count(symbol); ordered != CUDA_SUCCESS) return ordered;
    if (const CUresult state = gate::initialised(); state != CUDA_SUCCESS) return state;
    return gate::guarded(body);
}

/// The same for one that gives something back: an ordered failure doesn't keep it from doing so.
template <class Body>
CUresult enter_release(const char* symbol, Body&& body) noexcept {
    const CUresult ordered = gate::count(symbol);
    if (const CUresult state = gate::initialised(); state != CUDA_SUCCESS) return state;
    const CUresult result = gate::guarded(body);
    return ordered != CUDA_SUCCESS ? ordered : result;
}

/// An entry point that works in the current context: body(Context&). An error that sticks to the
/// context is returned instead.
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
