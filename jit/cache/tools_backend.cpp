#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/backend_workers.hpp"
#include "jit/cache/place_stamps.hpp"
#include "jit/compile_ir.hpp"
#include "jit/compile_ptx.hpp"
#include "jit/request/flags.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

/// Adds the stamps of everything that decides which tools are found; returns the place of the first
/// library.
using AddTools = std::filesystem::path (*)(Hasher& hasher, const NvrtcSearchEnvironment& here);

/// What every compiler of IR uses: libdevice and nvJitLink.
void add_shared_tools(Hasher& hasher, const std::filesystem::path& compiler,
                      std::span<const std::filesystem::path> libdevices) {
    for (const auto& place : libdevices)
        add_stamp(hasher, place);
    (void)add_places(hasher, nvjitlink::places(linker_search_for(compiler)));
}

std::filesystem::path add_nvvm_tools(Hasher& hasher, const NvrtcSearchEnvironment& here) {
    auto first = add_places(hasher, nvvm_places(here));
    add_shared_tools(hasher, first, libdevice_places(first));
    return first;
}

std::filesystem::path add_llvm_tools(Hasher& hasher, const NvrtcSearchEnvironment& here) {
    auto first = add_places(hasher, llvm_places(here));
    add_shared_tools(hasher, first, toolkit_libdevice_places(here));
    return first;
}

std::filesystem::path add_ptx_tools(Hasher& hasher, const NvrtcSearchEnvironment& here) {
    return add_places(hasher, nvjitlink::places(linker_search_of(here)));
}

/// The tools of a language without headers.
template <class Tools>
class ToolsBackend final : public CompilerBackend {
public:
    ToolsBackend(Source::Language language, AddTools add_tools, const CompilerSearch& search,
                 std::shared_ptr<BackendWorkers> workers)
        : language_(language),
          add_tools_(add_tools),
          tools_(search_of(language, search), search.log),
          workers_(std::move(workers)) {}

    Digest fingerprint() override {
        Hasher hasher;
        hasher.field(product());
        first_ = add_tools_(hasher, tools_.environment());
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        return first_.empty() || are_same_file(first_, library);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& /*library*/) override {
        return {};
    }

    [[nodiscard]] std::string_view product() const override { return Tools::product; }

    Result<CompilerProperties> properties() override {
        if (!workers_->take_all() && !needs_worker(language_)) return tools_.properties();
        return workers_->properties(Source::of(language_, {}, "nothing"), tools_.environment());
    }

    Result<Image> compile(const CompileRequest& request, const CompileContext& context) override {
        LODE_TRY_ASSIGN(const bool in_worker,
                        workers_->take(request, context.control->prefers_worker));
        if (in_worker) {
            return workers_->compile(workers_->request_for(request, tools_.environment()), context);
        }
        LODE_TRY_ASSIGN(const auto tools, tools_.open());
        context.control->enter(CompilePhase::compiling);
        return tools->compile(request, context);
    }

private:
    const Source::Language language_;
    const AddTools add_tools_;
    CompilerProvider<Tools> tools_;  ///< Never opened for a language that needs_worker().
    const std::shared_ptr<BackendWorkers> workers_;
    std::filesystem::path first_;  ///< The place where fingerprint() stopped.
};

}  // namespace

Backends make_tools_backends(const CompilerSearch& search,
                             const std::shared_ptr<BackendWorkers>& workers) {
    using enum Source::Language;
    Backends made;
    const auto add = [&]<class Tools>(Source::Language language, AddTools add_tools) {
        made[language] =
            std::make_unique<ToolsBackend<Tools>>(language, add_tools, search, workers);
    };
    add.operator()<NvvmTools>(nvvm_ir, add_nvvm_tools);
    add.operator()<LlvmTools>(llvm_ir, add_llvm_tools);
    add.operator()<PtxTools>(ptx, add_ptx_tools);
    return made;
}

}  // namespace LODE_NAMESPACE::cache
