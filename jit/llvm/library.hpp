// LlvmLibrary: an opened libLLVM, whose NVPTX back end compiles LLVM IR to PTX.
#pragma once

#include "base/shared_library.hpp"
#include "jit/llvm/c_interface.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"
#include "jit/nvvm/ir_compiler.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace LODE_NAMESPACE::llvm {

/// What LLVM can't compile may end the process, and some flags stay in force in it: only for a
/// worker, which ends after an error and after these flags (leaves_traces).
class LlvmLibrary final : public IrCompiler {
public:
    static constexpr const char* name = "LLVM";

    /// Tries llvm_places in turn. compiler_missing lists every attempt.
    [[nodiscard]] static Result<std::shared_ptr<const LlvmLibrary>> open(
        const NvrtcSearchEnvironment& here);

    [[nodiscard]] std::string product() const override { return name; }
    /// The version, "19.1.7"; before LLVM 16 its first number alone.
    [[nodiscard]] Result<std::string> build() const override { return build_; }
    [[nodiscard]] Result<CompilerProperties> properties() const override;
    /// Flags as opt and llc have them: -mcpu, -mattr, -O0 to -O3, -nvptx-*; -g keeps what there is
    /// of debug information.
    [[nodiscard]] Result<IrOutcome> compile(const std::string& code, const std::string& module,
                                            std::span<const std::string> flags) const override;

private:
    LlvmLibrary() = default;
    /// Returns the name of the first missing entry point, or empty.
    [[nodiscard]] std::string load(const SharedLibrary& library);
    /// Whether this LLVM has a processor.
    [[nodiscard]] bool knows(const Arch& arch) const;

    Table table_;
    Target target_ = nullptr;
    std::string build_;
    std::vector<std::filesystem::path> libdevice_places_;

    mutable std::mutex mutex_;
    mutable std::map<std::string, bool> known_;  ///< What knows() has found; guarded by mutex_.
};

}  // namespace LODE_NAMESPACE::llvm
