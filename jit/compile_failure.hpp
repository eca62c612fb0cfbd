// Why a compilation failed, for people.
#pragma once

#include "jit/compile_job.hpp"

#include <lode/base/error.hpp>

#include <functional>
#include <string>
#include <vector>

#include <nvrtc.h>

namespace lode {

/// The error of a job that ended with `result` and the log. `list_kernels` is asked for the names
/// of the source's kernels where a name expression names nothing.
[[nodiscard]] tl::unexpected<Error> fail_compile(
    const Job& job, nvrtcResult result, std::string log,
    const std::function<std::vector<std::string>()>& list_kernels);

}  // namespace lode
