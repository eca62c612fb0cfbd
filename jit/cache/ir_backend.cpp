#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/backend_workers.hpp"
#include "jit/cache/place_stamps.hpp"
#include "jit/compile_ir.hpp"

#include <memory>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

class IrBackend final : public CompilerBackend {
public:
    IrBackend(CompilerSearch search, std::shared_ptr<BackendWorkers> workers)
        : tools_(NvrtcSearchEnvironment::of_process(search.nvvm, "LODE_NVVM"),
                 std::move(search.log)),
          workers_(std::move(workers)) {}

    Digest fingerprint() override {
        Hasher hasher;
        hasher.field(product());
        first_ = add_places(hasher, nvvm_places(tools_.environment()));
        for (const auto& place : libdevice_places(first_))
            add_stamp(hasher, place);
        (void)add_places(hasher, nvjitlink::places(linker_search_for(first_)));
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        return first_.empty() || are_same_file(first_, library);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& /*library*/) override {
        return {};
    }

    [[nodiscard]] std::string_view product() const override { return nvvm::NvvmLibrary::product; }

    Result<CompilerProperties> properties() override {
        if (!workers_->take_all()) return tools_.properties();
        return workers_->properties(Source::nvvm_ir({}, "nothing"), tools_.environment());
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
    CompilerProvider<IrTools> tools_;
    const std::shared_ptr<BackendWorkers> workers_;
    std::filesystem::path first_;  ///< The place where fingerprint() stopped.
};

}  // namespace

std::unique_ptr<CompilerBackend> make_ir_backend(CompilerSearch search,
                                                 std::shared_ptr<BackendWorkers> workers) {
    return std::make_unique<IrBackend>(std::move(search), std::move(workers));
}

}  // namespace LODE_NAMESPACE::cache
