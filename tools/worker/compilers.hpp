// Compilers: those that a worker has opened.
#pragma once

#include "base/try.hpp"
#include "jit/compile_ir.hpp"
#include "jit/compile_ptx.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"

#include <lode/base/error.hpp>
#include <lode/jit/source.hpp>

#include <memory>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace LODE_NAMESPACE::worker {

/// LLVM prints what its answers say too.
inline void silence_errors() {
    if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
        ::dup2(nowhere, STDERR_FILENO);
        ::close(nowhere);
    }
}

/// One compiler, which is opened again when it is searched for elsewhere.
template <class Tools>
class OpenedCompiler {
public:
    [[nodiscard]] Result<std::shared_ptr<const Tools>> open(const NvrtcSearchEnvironment& search) {
        if (tools_ && search_ == search) return tools_;
        tools_ = nullptr;
        if constexpr (std::is_same_v<Tools, LlvmTools>) silence_errors();
        LODE_TRY_ASSIGN(tools_, Tools::open(search));
        search_ = search;
        return tools_;
    }

    void forget() noexcept { tools_ = nullptr; }

private:
    NvrtcSearchEnvironment search_;
    std::shared_ptr<const Tools> tools_;
};

/// The compiler of each language.
struct Compilers {
    OpenedCompiler<NvrtcLibrary> nvrtc;
    OpenedCompiler<NvvmTools> nvvm;
    OpenedCompiler<LlvmTools> llvm;
    OpenedCompiler<PtxTools> ptx;
};

}  // namespace LODE_NAMESPACE::worker
