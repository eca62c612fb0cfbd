// `lode info --kernels`: what each kernel of a file costs, and the occupancy of its blocks.
#pragma once

#include "tools/lode/options.hpp"
#include "tools/lode/report.hpp"

#include <lode/base/arch.hpp>
#include <lode/jit/options.hpp>

#include <string>
#include <vector>

namespace lode::tool {

/// The work's inputs, read and checked.
struct KernelsRequest {
    std::string file;  ///< "-": standard input.
    bool is_llvm_ir;
    std::vector<Arch> archs;  ///< Empty: the one of the first visible device.
    CompileOptions options;
};

/// Errors are usage errors.
[[nodiscard]] Result<KernelsRequest> read_kernels_request(
    const std::string& file, const std::vector<std::string>& arch_names, const CompileFlags& flags);

/// Compiles the file for each target and computes the occupancy of each kernel.
[[nodiscard]] Result<Answer> info_kernels(const KernelsRequest& request);

}  // namespace lode::tool
