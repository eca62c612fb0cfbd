// JitOptions: options of the driver's compiler and linker.
#pragma once

#include "base/cuda_additions.hpp"
#include "runtime/state/library_state.hpp"

#include <lode/runtime/library.hpp>

#include <cstdint>
#include <vector>

#include <cuda.h>

namespace LODE_NAMESPACE::detail {

/// The driver's option arrays: names, and values that are numbers cast to pointers.
class JitOptions {
public:
    explicit JitOptions(LoadLog& buffers) {
        add(CU_JIT_INFO_LOG_BUFFER, buffers.information.data());
        add(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, LoadLog::capacity);
        add(CU_JIT_ERROR_LOG_BUFFER, buffers.errors.data());
        add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LoadLog::capacity);
    }

    /// Options that only the driver's PTX compiler accepts.
    void add_compiler_options(const LoadOptions& options) {
        add(CU_JIT_LOG_VERBOSE, options.verbose_log ? 1U : 0U);
        if (options.max_registers > 0)
            add(CU_JIT_MAX_REGISTERS, static_cast<unsigned>(options.max_registers));
        if (options.optimization_level >= 0)
            add(CU_JIT_OPTIMIZATION_LEVEL, static_cast<unsigned>(options.optimization_level));
        if (options.line_info) add(CU_JIT_GENERATE_LINE_INFO, 1U);
        if (options.debug) add(CU_JIT_GENERATE_DEBUG_INFO, 1U);
        if (options.caching != LoadCaching::automatic) {
            add(CU_JIT_CACHE_MODE, options.caching == LoadCaching::l1 ? CU_JIT_CACHE_OPTION_CA
                                                                      : CU_JIT_CACHE_OPTION_CG);
        }
        if (options.position_independent) add(CU_JIT_POSITION_INDEPENDENT_CODE, 1U);
        const auto add_positive = [&](CUjit_option name, int value) {
            if (value > 0) add(name, static_cast<unsigned>(value));
        };
        add_positive(CU_JIT_THREADS_PER_BLOCK, options.min_threads_per_block);
        add_positive(CU_JIT_MAX_THREADS_PER_BLOCK, options.max_threads_per_block);
        add_positive(CU_JIT_MIN_CTA_PER_SM, options.min_blocks_per_multiprocessor);
        if (options.override_directives) add(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1U);
        if (options.split_compile != 1)
            add(CU_JIT_SPLIT_COMPILE, static_cast<unsigned>(options.split_compile));
        if (options.loader_threads != 1)
            add(jit_binary_loader_threads, static_cast<unsigned>(options.loader_threads));
    }

    CUjit_option* names() noexcept { return names_.data(); }
    void** values() noexcept { return values_.data(); }
    [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(names_.size()); }

private:
    void add(CUjit_option name, char* value) {
        names_.push_back(name);
        values_.push_back(value);
    }
    void add(CUjit_option name, std::uintptr_t value) {
        names_.push_back(name);
        values_.push_back(reinterpret_cast<void*>(value));
    }

    std::vector<CUjit_option> names_;
    std::vector<void*> values_;
};

}  // namespace LODE_NAMESPACE::detail
