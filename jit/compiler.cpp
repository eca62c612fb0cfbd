#include "base/try.hpp"
#include "jit/compile.hpp"
#include "jit/nvrtc/library.hpp"

#include <lode/jit/compiler.hpp>

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace lode {

struct Compiler::State {
    explicit State(CompilerSearch asked) : search(std::move(asked)) {}

    const CompilerSearch search;
    std::once_flag once;
    Result<std::shared_ptr<const NvrtcLibrary>> opened = nullptr;

    /// Opens NVRTC the first time; a failure is remembered too.
    const Result<std::shared_ptr<const NvrtcLibrary>>& nvrtc() {
        std::call_once(once, [this] {
            opened = NvrtcLibrary::open(NvrtcSurroundings::of_process(search.nvrtc));
            if (!opened) return;  // The caller gets the error: the log would say it twice.
            const auto& found = **opened;
            search.log.write(LogLevel::info,
                             fmt::format("opens NVRTC {}.{} ({})", found.version_major(),
                                         found.version_minor(), found.path().string()));
        });
        return opened;
    }
};

Compiler::Compiler(CompilerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

Result<CompilerInfo> Compiler::info() const {
    LODE_TRY_ASSIGN(const auto nvrtc, state_->nvrtc());
    CompilerInfo info;
    info.version_major = nvrtc->version_major();
    info.version_minor = nvrtc->version_minor();
    info.path = nvrtc->path();
    info.include_folders = nvrtc->include_folders();
    info.supported = nvrtc->supported();
    info.search_account = nvrtc->search_account();
    LODE_TRY_ASSIGN(info.build, nvrtc->build());
    return info;
}

Result<Image> Compiler::compile(const Source& source, const Arch& arch,
                                const CompileOptions& options,
                                std::span<const std::string> name_expressions) const {
    if (source.language() == Source::Language::ptx) return wrap_ptx(source);
    LODE_TRY_ASSIGN(const auto nvrtc, state_->nvrtc());
    return compile_with(*nvrtc, source, arch, options, name_expressions);
}

}  // namespace lode
