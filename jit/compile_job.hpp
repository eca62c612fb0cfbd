// The parts of compile.cpp share this.
#pragma once

#include "jit/compile.hpp"
#include "jit/memory_headers.hpp"

#include <functional>
#include <span>
#include <string>

namespace LODE_NAMESPACE {

/// One compilation in progress: the inputs of every step.
struct Job {
    const NvrtcLibrary& nvrtc;
    const Source& source;
    const Arch& arch;
    const CompileOptions& options;
    std::span<const std::string> names;
    std::string code;
    const MemoryHeaders& headers;
    CompileFiles& files;
    const std::function<bool()>& should_stop;
    const SourceFiles& written;

    /// The same job with another record.
    [[nodiscard]] Job with(CompileFiles& other) const {
        return {nvrtc, source, arch, options, names, code, headers, other, should_stop, written};
    }
    /// The source's name for line information.
    [[nodiscard]] const std::string& line_name() const noexcept {
        return written.source.empty() ? source.name() : written.source;
    }
};

}  // namespace LODE_NAMESPACE
