#include "base/process_end.hpp"
#include "base/try.hpp"
#include "jit/files/file_accesses.hpp"
#include "jit/link_checks.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/request/flags.hpp"
#include "jit/worker/once.hpp"

#include <lode/jit/linker.hpp>
#include <lode/jit/target.hpp>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// PTX as the result needs LTO-IR in every input.
Status check_virtual_target(std::span<const LinkInput> inputs, const Arch& target) {
    if (target.is_real()) return {};
    for (const auto& input : inputs) {
        if (input.kind == LinkInput::Kind::lto_ir) continue;
        return fail(Errc::invalid_argument,
                    fmt::format("Linking for {}, a virtual target, gives PTX, which needs LTO-IR "
                                "in every input; '{}' is {}.",
                                target.to_string(), input.name, to_string(input.kind)));
    }
    return {};
}

Status check_level(const LinkOptions& options) {
    constexpr int levels[] = {0, 3};
    const auto level = options.optimization_level.value_or(levels[0]);
    if (std::ranges::find(levels, level) != std::end(levels)) return {};
    return fail(
        Errc::invalid_argument,
        fmt::format("LinkOptions::optimization_level ({}) must be 0 or 3 for nvJitLink.", level));
}

Status check_lto_ir(std::span<const LinkInput> inputs, const LinkOptions& options) {
    if (!options.keep_lto_ir || nvjitlink::is_lto(inputs, options)) return {};
    return fail(Errc::invalid_argument,
                "LinkOptions::keep_lto_ir needs LTO-IR among the inputs, or LinkOptions::lto for "
                "objects and fat binaries with LTO-IR.");
}

}  // namespace

struct Linker::State {
    explicit State(LinkerSearch where) : search(std::move(where)) {}

    /// Opens the library on first use.
    Result<const nvjitlink::Library*> open() {
        const ProcessUse use;
        if (!use) return fail_at_process_end();
        const std::lock_guard guard(mutex);
        if (!opened) opened = nvjitlink::open(search);
        if (!*opened) return tl::unexpected<Error>(opened->error());
        return &**opened;
    }

    LinkerSearch search;
    std::mutex mutex;
    std::optional<Result<nvjitlink::Library>> opened;
};

Linker::Linker(LinkerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

std::string LinkerInfo::name() const {
    return "nvJitLink " + cuda_version_text(version);
}

Result<LinkerInfo> Linker::info() const {
    LODE_TRY_ASSIGN(const auto* const library, state_->open());
    return library->info;
}

Result<Image> Linker::link(std::span<const Image> images, const Arch& target,
                           const LinkOptions& options) const {
    std::vector<LinkInput> inputs;
    for (const auto& image : images) {
        LODE_TRY_ASSIGN(inputs.emplace_back(), LinkInput::from_image(image));
    }
    return link(inputs, target, options);
}

Result<Image> Linker::link(std::span<const LinkInput> inputs, const Arch& target,
                           const LinkOptions& options) const {
    FileAccesses unwanted;
    return link(inputs, target, options, unwanted);
}

Result<Image> Linker::link(std::span<const LinkInput> inputs, const Arch& target,
                           const LinkOptions& options, FileAccesses& accesses) const {
    const ProcessUse use;
    if (!use) return fail_at_process_end();
    LODE_TRY(link::check_options(options));
    LODE_TRY(check_level(options));
    LODE_TRY(check_virtual_target(inputs, target));
    LODE_TRY(check_lto_ir(inputs, options));
    LODE_TRY(link::check_inputs(inputs, target));
    LODE_TRY_ASSIGN(const auto* const library, state_->open());
    if (!leaves_traces(options))
        return nvjitlink::link(*library, inputs, target, options, accesses);
    LODE_TRY_ASSIGN(worker::Answer answer,
                    worker::run_once(worker::link_request(state_->search, inputs, target, options),
                                     "nvJitLink gives other code for later links after -O0"));
    accesses = std::move(answer.files.compiler);
    return std::move(answer.image);
}

}  // namespace LODE_NAMESPACE
