// CompileControl: when a compilation shall stop, and the receiver of its phases.
#pragma once

#include "base/process_end.hpp"

#include <lode/jit/compile_report.hpp>

#include <functional>

namespace LODE_NAMESPACE {

/// Not part of what a compilation's result depends on. A plain value.
struct CompileControl {
    bool prefers_worker = false;                      ///< WorkerPolicy::automatic asks it.
    std::function<bool()> should_stop = {};           ///< Asked often; if empty, never.
    std::function<void(CompilePhase)> on_phase = {};  ///< May be empty.

    /// Whether the caller has given up, or the process ends.
    [[nodiscard]] bool is_stopped() const {
        return is_process_ending() || (should_stop && should_stop());
    }
    void enter(CompilePhase phase) const {
        if (on_phase) on_phase(phase);
    }
};

/// The error of a compilation that is_stopped().
[[nodiscard]] inline tl::unexpected<Error> fail_cancelled(const std::string& source) {
    return fail(Errc::cancelled, "Compiling '" + source + "' was cancelled.");
}

}  // namespace LODE_NAMESPACE
