#include "runtime/load_kernel.hpp"

#include "base/try.hpp"
#include "jit/target_rules.hpp"
#include "runtime/state/library_state.hpp"

#include <lode/base/environment.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// A compilation for a device.
struct Targeted {
    Arch arch;
    CompileOptions compile;
    std::string left_to_driver = {};  ///< Why PTX is, as a clause; empty if that is its policy.
};

/// The target for which nvJitLink assembles a PTX source; or why it is left to the driver.
tl::expected<Arch, std::string> assembled_target(const DeviceState& device, const Source& source,
                                                 const KernelOptions& options) {
    const auto leave = [](std::string why) { return tl::unexpected(std::move(why)); };
    if (device.compiler.options().ptx == PtxPolicy::driver) return leave({});
    if (device.driver->is_emulator()) return leave("the software device runs PTX");
    if (environment_flag("LODE_FORCE_PTX").value_or(false))
        return leave("LODE_FORCE_PTX asks for PTX");
    if (options.load != LoadOptions{}) return leave("LoadOptions are for its compiler");
    const auto ptx = source.read().and_then(
        [&](std::string code) { return Image::from_ptx(std::move(code), source.name()); });
    const auto cc = device.properties.cc;
    if (!ptx || !ptx->arch.runs_on(cc)) return leave({});  // Loading it is an error.
    const int needs = cuda_version_of_ptx(ptx_version_of(ptx->ptx).value_or(PtxVersion{}));
    if (needs == 0) return leave("this lode doesn't know its version");
    const auto linker = device.compiler.info(Source::Language::ptx);
    if (!linker) return leave(linker.error().message);
    if (auto why = target_rules::refuses_link(
            needs, cc,
            {.driver_version = device.driver->version, .linker_version = linker->cuda_version()}))
        return leave(*std::move(why));
    return Arch(cc, ptx->arch.suffix());
}

Result<Targeted> targeted(const DeviceState& device, const Source& source,
                          const KernelOptions& options) {
    Targeted made{Arch(device.properties.cc).as_virtual(), options.compile};
    if (source.language() != Source::Language::ptx) {
        LODE_TRY_ASSIGN(const Target chosen, target_of(device, options.suffix, source.language()));
        made.arch = chosen.arch;
    } else if (auto assembled = assembled_target(device, source, options)) {
        made.arch = *assembled;
    } else {
        made.left_to_driver = std::move(assembled).error();
    }
    return made;
}

/// The software device may later ask for the lines of what is loaded.
void remember(const DeviceState& device, const CachedImage& cached, const Source& source,
              const KernelOptions& options, std::span<const std::string> names) {
    if (device.lines == nullptr) return;
    if (auto request = request_for(device, source, options, names))
        device.lines->remember(*cached.image, *std::move(request));
}

bool contains(std::span<const std::string> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

void add_missing(std::vector<std::string>& names, const std::vector<std::string>& wanted) {
    for (const auto& name : wanted)
        if (!contains(names, name)) names.push_back(name);
}

/// Whether a kernel that wasn't found may exist under a name that only the compiler knows, such as
/// an alias.
bool may_need_name_expression(const Error& error, const Source& source,
                              std::span<const std::string> names, std::string_view name) {
    return error.code == Errc::not_found && source.language() == Source::Language::cuda &&
           !contains(names, name);
}

/// Loads a compiled image, or returns it from memory.
Result<Library> load_shared(const std::shared_ptr<DeviceState>& state, const CachedImage& cached,
                            const LoadOptions& options) {
    const Device device(state);
    if (cached.report.key == Digest{} || state->is_lost())
        return device.load(cached.image, options);
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    LoadedKey key{cached.report.key, cached.image->name, options, force_ptx};
    if (auto loaded = state->loaded.find(key)) return Library(std::move(loaded));
    LODE_TRY_ASSIGN(const Library library, device.load(cached.image, options));
    return Library(state->loaded.add(std::move(key), library.state()));
}

/// Whether the cache's image is to be dropped and compiled again: the driver refuses it.
bool is_refused_hit(const Result<Library>& library, const CachedImage& cached) {
    return !library && library.error().code == Errc::invalid_image && cached.report.hit();
}

/// Retains the primary context in a thread of its own, while the caller compiles; nothing if it is
/// retained already.
class ContextAhead {
public:
    explicit ContextAhead(std::shared_ptr<DeviceState> device) : device_(std::move(device)) {
        if (device_->retained_context() != nullptr) return;
        try {
            thread_ = std::jthread([this] { retained_ = device_->context(); });
        } catch (const std::system_error&) {
            // Without a thread, the context is retained when it is used.
        }
    }

    /// Waits for it. The errors of retaining it.
    [[nodiscard]] Status wait() {
        if (thread_.joinable()) thread_.join();
        if (!retained_) return tl::unexpected<Error>(retained_.error());
        return success();
    }

private:
    std::shared_ptr<DeviceState> device_;
    Result<CUcontext> retained_ = nullptr;
    std::jthread thread_;  // Last, so that it ends before what it uses.
};

bool is_forbidden(const DeviceState& device) {
    return device.compiler.options().policy == JitPolicy::forbid;
}

/// One compilation, and the kernels that are wanted from it.
struct LoadJob {
    struct Wanted {
        std::string name;
        std::shared_ptr<PendingState<UntypedKernel>> made;
    };

    // Weak: a job doesn't keep its device, so that dropping the device cancels it.
    std::weak_ptr<DeviceState> device;
    Source source;
    KernelOptions options;  ///< With the name expressions.
    std::vector<Wanted> wanted;
    bool is_repeated = false;
    std::optional<Error> not_found = {};  ///< Why an attempt without the kernel's name failed.

    void complete(const Error& error) const {
        for (const auto& one : wanted)
            one.made->complete(tl::unexpected<Error>(error));
    }
};

tl::unexpected<Error> fail_unused(const LoadJob& job) {
    return fail(Errc::cancelled,
                fmt::format("Loading '{}' was cancelled: its device is no longer in use.",
                            job.source.name()));
}

void start(const std::shared_ptr<LoadJob>& job);

/// Starts one of the wanted kernels again, in a compilation of its own that names it.
void start_alone(const LoadJob& job, const LoadJob::Wanted& one,
                 std::optional<Error> not_found = std::nullopt) {
    auto alone = std::make_shared<LoadJob>(job);
    alone->wanted = {one};
    alone->not_found = std::move(not_found);
    auto& names = alone->options.name_expressions;
    std::erase_if(names, [&](const std::string& name) {
        return std::ranges::any_of(job.wanted,
                                   [&](const auto& other) { return other.name == name; });
    });
    names.push_back(one.name);
    start(alone);
}

void finish(const std::shared_ptr<LoadJob>& job, const Result<CachedImage>& cached) {
    const auto device = job->device.lock();
    if (device == nullptr) return job->complete(fail_unused(*job).value());
    if (!cached) {
        // Where compiling is forbidden, the first attempt knows more.
        if (job->not_found && is_forbidden(*device)) return job->complete(*job->not_found);
        // One wrong name must not spoil the others.
        if (job->wanted.size() > 1 && (cached.error().code == Errc::not_found ||
                                       cached.error().code == Errc::compile_failed)) {
            for (const auto& one : job->wanted)
                start_alone(*job, one);
            return;
        }
        return job->complete(in_compile(cached.error(), job->source.name(), *device));
    }
    remember(*device, *cached, job->source, job->options, job->options.name_expressions);
    const auto library = load_shared(device, *cached, job->options.load);
    if (is_refused_hit(library, *cached) && !std::exchange(job->is_repeated, true)) {
        device->compiler.discard(*cached);
        return start(job);
    }
    if (!library) return job->complete(library.error());
    for (const auto& one : job->wanted) {
        auto kernel = library->kernel(one.name);
        if (!kernel && may_need_name_expression(kernel.error(), job->source,
                                                job->options.name_expressions, one.name)) {
            start_alone(*job, one, std::move(kernel).error());
        } else {
            one.made->complete(std::move(kernel));
        }
    }
}

void start(const std::shared_ptr<LoadJob>& job) {
    const auto device = job->device.lock();
    if (device == nullptr) return job->complete(fail_unused(*job).value());
    const auto cached = device->compiler.compile_async(
        {job->source, {}, {}, job->options.name_expressions, job->options.limits},
        [job](CompileRequest& request) -> Status {
            const auto target_device = job->device.lock();
            if (target_device == nullptr) return fail_unused(*job);
            LODE_TRY_ASSIGN(auto made, targeted(*target_device, job->source, job->options));
            request.arch = made.arch;
            request.options = std::move(made.compile);
            return {};
        });
    if (job->wanted.size() == 1) {
        job->wanted.front().made->on_cancel(cached.canceller());
    } else {
        // The compilation goes on as long as one kernel is wanted.
        for (const auto& one : job->wanted) {
            one.made->on_cancel([job, cancel = cached.canceller()] {
                if (std::ranges::all_of(
                        job->wanted, [](const auto& other) { return other.made->is_cancelled(); }))
                    cancel();
            });
        }
    }
    cached.on_done([job](const Result<CachedImage>& result) { finish(job, result); });
}

}  // namespace

Error in_compile(Error error, const std::string& source, const DeviceState& device) {
    return std::move(error).in(fmt::format("compiling {} for {}", source, device.describe()));
}

Result<Target> target_of(const DeviceState& device, SuffixPolicy policy,
                         Source::Language language) {
    LODE_TRY_ASSIGN(const bool force_ptx, environment_flag("LODE_FORCE_PTX"));
    LODE_TRY_ASSIGN(const CompilerInfo compiler, device.compiler.info(language));
    return choose_target({.device = device.properties.cc,
                          .supported = compiler.supported,
                          .suffix = policy,
                          .tools = {.compiler_version = compiler.cuda_version(),
                                    .driver_version = device.driver->version,
                                    .force_ptx = force_ptx,
                                    .compiler = compiler.product}});
}

Result<CompileRequest> request_for(const DeviceState& device, const Source& source,
                                   const KernelOptions& options,
                                   std::span<const std::string> names) {
    LODE_TRY_ASSIGN(auto made, targeted(device, source, options));
    return CompileRequest{
        source, made.arch, std::move(made.compile), {names.begin(), names.end()}, options.limits};
}

Result<CachedImage> compile_for(const DeviceState& device, const Source& source,
                                const KernelOptions& options, std::span<const std::string> names) {
    const auto compiled = [&]() -> Result<CachedImage> {
        LODE_TRY_ASSIGN(auto made, targeted(device, source, options));
        LODE_TRY_ASSIGN(CachedImage image, device.compiler.compile({source,
                                                                    made.arch,
                                                                    std::move(made.compile),
                                                                    {names.begin(), names.end()},
                                                                    options.limits}));
        if (!made.left_to_driver.empty()) {
            image.report.miss.detail = std::move(made.left_to_driver);
            image.report.not_kept = image.report.miss.to_string();
        }
        return image;
    };
    auto cached = compiled();
    if (cached) remember(device, *cached, source, options, names);
    return std::move(cached).map_error(
        [&](Error error) { return in_compile(std::move(error), source.name(), device); });
}

Result<LoadedKernel> load_kernel(const std::shared_ptr<DeviceState>& device, const Source& source,
                                 std::string_view name, const KernelOptions& options) {
    std::vector<std::string> names = options.name_expressions;
    add_missing(names, name_expressions_for(name));
    std::optional<Error> not_found;
    for (;;) {
        ContextAhead ahead(device);
        auto compiled = compile_for(*device, source, options, names);
        // Where compiling is forbidden, the first attempt knows more.
        if (!compiled && not_found && is_forbidden(*device))
            return tl::unexpected<Error>(*std::move(not_found));
        LODE_TRY_ASSIGN(CachedImage cached, std::move(compiled));
        LODE_TRY(ahead.wait());
        auto library = load_shared(device, cached, options.load);
        if (is_refused_hit(library, cached)) {
            device->compiler.discard(cached);
            LODE_TRY_ASSIGN(cached, compile_for(*device, source, options, names));
            library = load_shared(device, cached, options.load);
        }
        LODE_TRY_ASSIGN(const Library loaded, std::move(library));
        auto kernel = loaded.kernel(name);
        if (!kernel && may_need_name_expression(kernel.error(), source, names, name)) {
            not_found = std::move(kernel).error();
            names.emplace_back(name);
            continue;
        }
        LODE_TRY_ASSIGN(UntypedKernel found, std::move(kernel));
        return LoadedKernel{std::move(found), std::move(names), cached.report.key};
    }
}

std::vector<Pending<UntypedKernel>> load_kernels_async(const std::shared_ptr<DeviceState>& device,
                                                       Source source,
                                                       std::vector<std::string> names,
                                                       KernelOptions options) {
    const auto job =
        std::make_shared<LoadJob>(LoadJob{device, std::move(source), std::move(options), {}});
    std::vector<Pending<UntypedKernel>> pending;
    auto& expressions = job->options.name_expressions;
    for (auto& name : names) {
        add_missing(expressions, name_expressions_for(name));
        job->wanted.push_back({std::move(name), std::make_shared<PendingState<UntypedKernel>>()});
        pending.emplace_back(job->wanted.back().made, device);
    }
    start(job);
    return pending;
}

}  // namespace LODE_NAMESPACE::detail

namespace LODE_NAMESPACE {

std::vector<std::string> name_expressions_for(std::string_view kernel) {
    // A template's instance exists only if it is named when its source is compiled. It is better
    // not to name others: then all kernels of a source are one compilation.
    if (kernel.find('<') == std::string_view::npos) return {};
    return {std::string(kernel)};
}

}  // namespace LODE_NAMESPACE
