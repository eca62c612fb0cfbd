#include "base/try.hpp"
#include "jit/compile.hpp"
#include "jit/nvrtc/provider.hpp"

#include <lode/jit/compiler.hpp>

#include <utility>

namespace lode {

struct Compiler::State {
    explicit State(CompilerSearch search) : nvrtc(std::move(search)) {}

    NvrtcProvider nvrtc;
};

Compiler::Compiler(CompilerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<CompilerInfo> Compiler::info() const {
    return state_->nvrtc.info();
}

Result<Image> Compiler::compile(const Source& source, const Arch& arch,
                                const CompileOptions& options,
                                std::span<const std::string> name_expressions) const {
    if (source.language() == Source::Language::ptx) return wrap_ptx(source);
    LODE_TRY_ASSIGN(const auto nvrtc, state_->nvrtc.open());
    return compile_with(*nvrtc, source, arch, options, name_expressions);
}

}  // namespace lode
