// Answers a program's call with NVRTC (nvrtc_call.hpp).
#pragma once

#include "jit/compile.hpp"
#include "jit/request/nvrtc_call.hpp"

namespace LODE_NAMESPACE {

/// Makes the calls to an NVRTC that has compiled nothing that leaves traces. Notes what it reads.
/// Where the answer depends on the time, `files.uses_time` says so, and the answer is of no use.
/// To be called on a compiler's thread. A precompiled header is for calls without line information.
/// Errors: compiler_failed, if there is no program.
[[nodiscard]] Result<NvrtcAnswer> compile_call(const NvrtcLibrary& nvrtc, const NvrtcCall& call,
                                               CompileFiles& files, PchUse pch = {});

}  // namespace LODE_NAMESPACE
