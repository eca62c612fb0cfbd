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
#include <utility>

namespace LODE_NAMESPACE::worker {

/// One compiler, which is opened again when it is searched for elsewhere.
template <class Tools>
class OpenedCompiler {
public:
    [[nodiscard]] Result<std::shared_ptr<const Tools>> open(const NvrtcSearchEnvironment& search) {
        if (tools_ && search_ == search) return tools_;
        tools_ = nullptr;
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
    OpenedCompiler<IrTools> ir;
    OpenedCompiler<PtxTools> ptx;

    /// Calls `use` with a language's compiler.
    auto with(Source::Language language, const auto& use) {
        switch (language) {
            case Source::Language::ptx:
                return use(ptx);
            case Source::Language::nvvm_ir:
                return use(ir);
            case Source::Language::cuda:
                break;
        }
        return use(nvrtc);
    }
};

}  // namespace LODE_NAMESPACE::worker
