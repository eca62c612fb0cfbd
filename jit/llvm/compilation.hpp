// Compilation: what LLVM does with one module, and what ends it early.
#pragma once

#include "jit/llvm/c_interface.hpp"

#include <functional>
#include <string>

namespace LODE_NAMESPACE::llvm {

/// What decides the PTX of one module, besides its text.
struct Settings {
    std::string processor = {};  ///< "sm_90"
    std::string features = {};   ///< "+ptx83"; empty: the least PTX version that the processor has.
    int level = 3;               ///< The level of optimisation.
    bool keeps_debug = false;
    bool flushes_denormals = false;
};

/// Makes report_fatal_error() come back to survives().
void catch_fatal_errors(const Table& table);

/// Runs a body that calls LLVM; false, with LLVM's last words, after a fatal error. The frames in
/// between don't run their destructors, so that the process should end soon.
[[nodiscard]] bool survives(const std::function<void()>& body, std::string& last_words);

/// One module on its way to PTX. Errors are in the log.
class Compilation {
public:
    Compilation(const Table& table, Target target, const Settings& settings);
    ~Compilation();
    Compilation(const Compilation&) = delete;
    Compilation& operator=(const Compilation&) = delete;

    /// Reads text or bitcode; false after an error.
    [[nodiscard]] bool read(const std::string& code, const std::string& name);
    /// Whether the module calls a function of libdevice that it doesn't define.
    [[nodiscard]] bool needs_libdevice() const;
    /// Adds libdevice; its functions become the module's own.
    [[nodiscard]] bool add_libdevice(const std::string& code);
    [[nodiscard]] bool optimise();
    /// The PTX; empty after an error.
    [[nodiscard]] std::string emit();

    [[nodiscard]] std::string take_log() { return std::move(log_); }

private:
    [[nodiscard]] bool fail(std::string_view what);
    [[nodiscard]] Module parse(const std::string& code, const std::string& name);
    void flush_denormals();

    const Table& table_;
    const Settings& settings_;
    Context context_;
    Machine machine_;
    Layout layout_;
    Module module_ = nullptr;
    std::string log_;
    bool has_failed_ = false;  ///< A diagnosis is an error.
};

}  // namespace LODE_NAMESPACE::llvm
