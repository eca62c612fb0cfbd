/// \file
/// CompileRequest: one compilation to do.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/jit/options.hpp>
#include <lode/jit/source.hpp>
#include <lode/jit/workers.hpp>

#include <string>
#include <vector>

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// One compilation to do.
struct CompileRequest {
    Source source;                                   ///< What to compile.
    Arch arch;                                       ///< The target.
    CompileOptions options = {};                     ///< How.
    std::vector<std::string> name_expressions = {};  ///< As for Compiler::compile().
    CompileLimits limits = {};                       ///< What it may take.
};

}  // namespace LODE_NAMESPACE

LODE_API_END
