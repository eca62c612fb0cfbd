// The parts of compile.cpp share this.
#pragma once

#include "jit/compile.hpp"
#include "jit/memory_headers.hpp"

#include <functional>
#include <string>

namespace LODE_NAMESPACE {

/// One compilation in progress: the inputs of every step.
struct Compilation {
    const NvrtcLibrary& nvrtc;
    const CompileRequest& request;  ///< Its source has the code as NVRTC takes it.
    const MemoryHeaders& headers;
    CompileFiles& files;
    const SourceFiles& written;
    std::function<bool()> should_stop = {};

    /// The same with another record.
    [[nodiscard]] Compilation with(CompileFiles& other) const {
        return {nvrtc, request, headers, other, written, should_stop};
    }
    /// The source's name for line information.
    [[nodiscard]] const std::string& line_name() const noexcept {
        return written.source.empty() ? request.source.name() : written.source;
    }
};

}  // namespace LODE_NAMESPACE
