// Functions in calls: a CUfunction, or a CUkernel in its place.
#pragma once

#include "emulator/driver/abi.hpp"
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/gate.hpp"

#include <memory>

namespace lode::emulator::driver {

/// Resolves a CUkernel in `context`, or in the current context if that is null. Errors:
/// INVALID_HANDLE, INVALID_CONTEXT, and those of loading.
CUresult resolve_function(CUfunction handle, Context* context, std::shared_ptr<Function>& function);

/// The value of a function's attribute. Errors: INVALID_VALUE.
CUresult read_attribute(const Function& function, CUfunction_attribute which, int& value);

/// enter() with a function or a kernel in the current context.
template <class Body>
CUresult enter_function(const char* symbol, CUfunction handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        std::shared_ptr<Function> function;
        if (const CUresult state = resolve_function(handle, nullptr, function);
            state != CUDA_SUCCESS)
            return state;
        return body(*function);
    });
}

}  // namespace lode::emulator::driver
