// What the sweeps of the worker's host run: a compilation, one that takes too much memory, one that
// takes too long, and one without faults.
#pragma once

#include "tests/fault_sweep/system_faults.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/workers.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace lode::test {

/// Compiles code with limits, for sm_80, and gives the PTX.
using Compile = std::function<Result<std::string>(const std::string& code, CompileLimits limits)>;

/// The options of the compiler that Compile stands for.
WorkerOptions scenario_workers();

/// Runs the scenario with a new compiler and a fault, and CHECKs that the limits hold, that every
/// outcome is right or an error, and that nothing is left. Returns the number of calls.
std::uint64_t check_scenario(const SystemFault& fault, const std::function<Compile()>& make);

inline constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();

/// Runs the scenario with every step-th call failing, alone or with all that follow, until no call
/// is left. The step is LODE_SWEEP_STEP; 1 if it isn't set.
void sweep(std::string_view kind, int error, const std::function<Compile()>& make);

}  // namespace lode::test
