#include "base/try.hpp"
#include "jit/cache/backend.hpp"
#include "jit/cache/link_key.hpp"
#include "jit/cache/place_stamps.hpp"
#include "jit/request/link_call.hpp"
#include "jit/worker/once.hpp"
#include "jit/worker/pool.hpp"

#include <memory>
#include <utility>

namespace LODE_NAMESPACE::cache {
namespace {

/// An nvJitLink that only workers open.
class LinkerBackend final : public CompilerBackend {
public:
    LinkerBackend(std::filesystem::path library, const WorkerOptions& workers)
        : library_(std::move(library)), pool_(std::make_unique<worker::Pool>(workers)) {}

    Digest fingerprint() override {
        Hasher hasher;
        hasher.field("nvJitLink");
        add_stamp(hasher, library_);
        return hasher.finish();
    }

    bool covers(const std::filesystem::path& library) override {
        return are_same_file(library_, library);
    }

    std::vector<std::filesystem::path> include_folders(
        const std::filesystem::path& /*library*/) override {
        return {};
    }

    Result<CompilerProperties> properties() override {
        LODE_TRY_ASSIGN(worker::Answer answer,
                        pool_->compile(request_for(worker::Task::linker_properties), {}));
        LODE_TRY(std::move(answer.image));
        return std::move(answer.properties);
    }

    Result<Image> compile(const CompileRequest& /*request*/,
                          const CompileContext& /*context*/) override {
        return fail(Errc::not_supported, "A linker compiles no source.");
    }

    [[nodiscard]] const CallRules& call_rules() const override {
        static const CallRules rules = {
            .compiler = "nvJitLink",
            .settled_since = {0, 0},
            .uncacheable_reason =
                [](const NvrtcCall& call) { return uncacheable_link_reason(call); },
            .request_of = [](const NvrtcCall& call) { return link_request_of(call); },
            .is_lasting = [](const NvrtcAnswer& answer) { return is_lasting_link(answer); },
            .variables = link_variables()};
        return rules;
    }

    Result<NvrtcAnswer> answer(const NvrtcCall& call, bool in_new_process, CompileFiles& files,
                               const CompileControl& control) override {
        auto request = request_for(worker::Task::link_call);
        request.call = call;
        request.needs_new_process = in_new_process;
        LODE_TRY_ASSIGN(worker::Answer answer, pool_->compile(request, control));
        LODE_TRY(std::move(answer.image));
        files = std::move(answer.files);
        return std::move(answer.call);
    }

private:
    [[nodiscard]] worker::Request request_for(worker::Task task) const {
        auto request = worker::link_request({.library = library_}, {}, Arch({9, 0}), {});
        request.task = task;
        return request;
    }

    const std::filesystem::path library_;
    const std::unique_ptr<worker::Pool> pool_;
};

}  // namespace

std::unique_ptr<CompilerBackend> make_linker_backend(std::filesystem::path library,
                                                     const WorkerOptions& workers) {
    return std::make_unique<LinkerBackend>(std::move(library), workers);
}

}  // namespace LODE_NAMESPACE::cache
