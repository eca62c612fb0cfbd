#include "base/try.hpp"
#include "runtime/load_kernel.hpp"

#include <lode/runtime/watcher.hpp>

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// A loaded state of the source.
struct LoadedState {
    UntypedKernel kernel;
    CompileRequest request;  ///< What answers is_stale().
    Digest entry;
    std::vector<std::filesystem::path> files;
};

}  // namespace

struct Watcher::State {
    const Device device;
    const Source source;
    const std::string name;
    const KernelOptions options;

    std::mutex reload_mutex;  ///< Held during a reload.
    mutable std::mutex mutex;
    std::shared_ptr<const LoadedState> latest;

    [[nodiscard]] std::shared_ptr<const LoadedState> get() const {
        const std::lock_guard guard(mutex);
        return latest;
    }

    /// Loads what the source is now.
    [[nodiscard]] Result<std::shared_ptr<const LoadedState>> load() const {
        const auto& state = device.state();
        LODE_TRY_ASSIGN(auto loaded, detail::load_kernel(state, source, name, options));
        LODE_TRY_ASSIGN(auto request,
                        detail::request_for(*state, source, options, loaded.name_expressions));
        LODE_TRY_ASSIGN(auto files, state->compiler.dependencies(request));
        if (loaded.entry == Digest{} && source.language() != Source::Language::ptx) {
            return fail(Errc::not_supported,
                        fmt::format("'{}' can't be watched: its code depends on more than files.",
                                    source.name()));
        }
        return std::make_shared<const LoadedState>(LoadedState{
            std::move(loaded.kernel), std::move(request), loaded.entry, std::move(files)});
    }

    [[nodiscard]] bool is_stale(const LoadedState& loaded) const {
        return !device.state()->compiler.is_current(loaded.request, loaded.entry);
    }

    [[nodiscard]] Result<bool> reload() {
        const std::lock_guard one_at_a_time(reload_mutex);
        if (!is_stale(*get())) return false;
        LODE_TRY_ASSIGN(auto fresh, load());
        const std::lock_guard guard(mutex);
        latest = std::move(fresh);
        return true;
    }
};

Result<Watcher> Watcher::create(const Device& device, Source source, std::string name,
                                KernelOptions options) {
    if (source.language() == Source::Language::ptx) {
        return fail(Errc::not_supported,
                    fmt::format("'{}' can't be watched: it is PTX, which isn't "
                                "compiled; load it again instead.",
                                source.name()));
    }
    // NOLINTNEXTLINE(modernize-make-shared): make_shared can't create an aggregate.
    std::shared_ptr<State> state(
        new State{device, std::move(source), std::move(name), std::move(options), {}, {}, nullptr});
    LODE_TRY_ASSIGN(state->latest, state->load());
    return Watcher(std::move(state));
}

UntypedKernel Watcher::kernel() const {
    return state_->get()->kernel;
}

std::vector<std::filesystem::path> Watcher::files() const {
    return state_->get()->files;
}

bool Watcher::is_stale() const {
    return state_->is_stale(*state_->get());
}

Result<bool> Watcher::reload() const {
    return state_->reload();
}

Pending<bool> Watcher::reload_async() const {
    // The compilation doesn't block; the steps after it find its result in the cache.
    const auto& device = state_->device.state();
    const auto compiled = device->compiler.compile_async(state_->get()->request);
    auto made = std::make_shared<detail::PendingState<bool>>();
    made->on_cancel(compiled.canceller());
    // Weak: the work keeps neither the watcher nor its device, so that dropping them cancels.
    compiled.on_done([weak = std::weak_ptr(state_), made](const Result<CachedImage>& image) {
        if (made->is_done()) return;  // Cancelled.
        const auto state = weak.lock();
        if (state == nullptr) {
            made->complete(
                fail(Errc::cancelled, "Reloading was cancelled: the Watcher is no longer in use."));
        } else if (!image) {
            made->complete(tl::unexpected<Error>(
                detail::in_compile(image.error(), state->source.name(), *state->device.state())));
        } else {
            made->complete(state->reload());
        }
    });
    return Pending<bool>(std::move(made), state_);
}

}  // namespace LODE_NAMESPACE
