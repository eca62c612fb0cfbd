#include "base/message_text.hpp"
#include "base/try.hpp"
#include "runtime/variants/row_code.hpp"

#include <lode/base/environment.hpp>
#include <lode/base/image.hpp>
#include <lode/runtime/tensor_map.hpp>
#include <lode/runtime/variants_loader.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

std::string first_line(std::string_view text) {
    return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

VariantDeviceProperties variant_device_properties(const Device& device) {
    const auto& properties = device.properties();
    return {.cc = properties.cc,
            .shared_bytes_per_block = properties.shared_bytes_per_block_optin,
            .max_threads_per_block = properties.max_threads_per_block,
            .multiprocessors = properties.multiprocessors,
            .cluster_launch = properties.cluster_launch,
            .cooperative_launch = properties.cooperative_launch,
            .tensor_maps = has_tensor_maps(device)};
}

Result<VariantChoice> first_that_loads(
    const KernelFamily& family, const VariantDeviceProperties& properties,
    const VariantRequest& request, bool falls_through,
    const std::function<Status(const VariantRow&)>& load,
    const std::function<void(const VariantRow&, const Error&)>& on_failure) {
    LODE_TRY_ASSIGN(VariantChoice choice, select(family, properties, request));
    std::vector<bool> tried(family.rows.size());
    for (;;) {
        const auto& row = family.rows[choice.row];
        auto loaded = load(row);
        if (loaded) return choice;
        Error error = std::move(loaded).error();
        if (!falls_through || !request.forced.empty()) {
            return tl::unexpected<Error>(std::move(error).in(
                fmt::format("loading row '{}' of kernel family '{}'", row.name, family.name)));
        }
        on_failure(row, error);
        tried[choice.row] = true;
        auto& step = choice.steps.back();
        step.taken = false;
        step.reason = "it fails to load: " + first_line(error.message);

        const auto rows = eligible_rows(family, properties, request.problem);
        const auto next = std::ranges::find_if(rows, [&](auto i) { return !tried[i]; });
        if (next == rows.end()) {
            error.message =
                fmt::format("No row of kernel family '{}' loads.\n{}\nThe last error: {}",
                            family.name, choice.describe(), error.message);
            return tl::unexpected<Error>(std::move(error));
        }
        choice.row = *next;
        choice.steps.push_back({family.rows[*next].name, true, "it is the next row that can run"});
    }
}

struct VariantLoader::State {
    State(int version, Device on, Log to, TunedChoices kept)
        : driver_version(version),
          device(std::move(on)),
          device_properties(variant_device_properties(device)),
          log(std::move(to)),
          choices(std::move(kept)) {}

    int driver_version;
    Device device;
    VariantDeviceProperties device_properties;
    Log log;
    TunedChoices choices;
    std::atomic<std::uint64_t> loads{0};
    std::atomic<std::uint64_t> fallbacks{0};
    std::atomic<std::uint64_t> tuned{0};

    [[nodiscard]] TuneKey key(const KernelFamily& family, std::string problem_class) const {
        return {family.name, device.name(), driver_version, std::move(problem_class)};
    }

    [[nodiscard]] Result<VariantRequest> request(const KernelFamily& family,
                                                 const VariantOptions& options) const {
        VariantRequest request{.problem = options.problem, .forced = options.forced};
        if (request.forced.empty()) {
            const auto text = environment("LODE_FORCE_VARIANT").value_or("");
            LODE_TRY_ASSIGN(request.forced, forced_row(text, family.name).map_error([](Error e) {
                return std::move(e).in("reading LODE_FORCE_VARIANT");
            }));
        }
        if (request.forced.empty() && !options.problem_class.empty()) {
            if (const auto choice = choices.find(key(family, options.problem_class)))
                request.preferred = choice->row;
        }
        return request;
    }

    /// Warns once if LODE_FORCE_VARIANT names families and this loader has loaded none of them: the
    /// name may be misspelt, or belong to another library.
    void warn_of_unmatched_families(const KernelFamily& family) {
        const auto forced = forced_rows(environment("LODE_FORCE_VARIANT").value_or(""));
        if (!forced || forced->empty()) return;
        const std::lock_guard guard(mutex);
        loaded_families.insert(family.name);
        const auto is_loaded = [&](const ForcedRow& row) {
            return loaded_families.contains(row.family);
        };
        if (warned_of_unmatched || std::ranges::any_of(*forced, is_loaded)) return;
        warned_of_unmatched = true;
        std::set<std::string> names;
        for (const auto& row : *forced)
            names.insert(row.family);
        const auto list = [](const std::set<std::string>& families) {
            return listed(std::vector(families.begin(), families.end()));
        };
        log.write(LogLevel::warning,
                  fmt::format("LODE_FORCE_VARIANT forces rows of: {}. None of these kernel "
                              "families is loaded; loaded so far: {}.",
                              list(names), list(loaded_families)));
    }

    std::mutex mutex;  ///< Guards the members below.
    std::set<std::string> loaded_families;
    bool warned_of_unmatched = false;
};

VariantLoader::VariantLoader(const Runtime& runtime, Device device, Log log, TunedChoices choices)
    : state_(std::make_shared<State>(runtime.driver().version(), std::move(device), std::move(log),
                                     std::move(choices))) {}

const Device& VariantLoader::device() const noexcept {
    return state_->device;
}

const VariantDeviceProperties& VariantLoader::device_properties() const noexcept {
    return state_->device_properties;
}

const TunedChoices& VariantLoader::choices() const noexcept {
    return state_->choices;
}

TuneKey VariantLoader::key(const KernelFamily& family, std::string problem_class) const {
    return state_->key(family, std::move(problem_class));
}

VariantCounters VariantLoader::counters() const noexcept {
    return {state_->loads.load(), state_->fallbacks.load(), state_->tuned.load()};
}

Result<VariantChoice> VariantLoader::choose(const KernelFamily& family,
                                            const VariantOptions& options) const {
    LODE_TRY(check_family(family));
    LODE_TRY_ASSIGN(const VariantRequest request, state_->request(family, options));
    return select(family, state_->device_properties, request);
}

Result<std::vector<UntypedKernel>> VariantLoader::load_row(const KernelFamily& family,
                                                           const VariantRow& row,
                                                           const VariantOptions& options) const {
    const Device& device = state_->device;
    std::vector<std::string> names{row.kernel};
    names.insert(names.end(), row.helpers.begin(), row.helpers.end());
    std::vector<UntypedKernel> kernels;
    if (auto image = detail::precompiled_image(family, row, device.cc(), options.compile)) {
        LODE_TRY_ASSIGN(const Library library, device.load(*std::move(image)));
        for (const auto& name : names) {
            LODE_TRY_ASSIGN(UntypedKernel kernel, library.kernel(name));
            kernels.push_back(std::move(kernel));
        }
        return kernels;
    }
    const auto compilation = detail::compilation_of(family, row, options.compile);
    for (const auto& name : names) {
        LODE_TRY_ASSIGN(UntypedKernel kernel, device.load(compilation.source, name,
                                                          {.compile = compilation.options,
                                                           .suffix = compilation.suffix}));
        kernels.push_back(std::move(kernel));
    }
    return kernels;
}

Result<LoadedVariant> VariantLoader::load(const KernelFamily& family,
                                          const VariantOptions& options) const {
    LODE_TRY(check_family(family));
    LODE_TRY_ASSIGN(const VariantRequest request, state_->request(family, options));
    if (options.forced.empty()) state_->warn_of_unmatched_families(family);
    std::vector<UntypedKernel> kernels;
    const auto try_row = [&](const VariantRow& row) -> Status {
        LODE_TRY_ASSIGN(kernels, load_row(family, row, options));
        return {};
    };
    const auto on_failure = [&](const VariantRow& row, const Error& error) {
        ++state_->fallbacks;
        state_->log.write(LogLevel::warning,
                          fmt::format("Kernel family '{}' skips row '{}', which fails to load: {}",
                                      family.name, row.name, first_line(error.message)));
    };
    LODE_TRY_ASSIGN(VariantChoice choice,
                    first_that_loads(family, state_->device_properties, request, !options.strict,
                                     try_row, on_failure));
    ++state_->loads;
    const auto& row = family.rows[choice.row];
    if (!row.caveat.empty()) {
        state_->log.write(LogLevel::warning,
                          fmt::format("Kernel family '{}' takes row '{}' because it is forced: {}",
                                      family.name, row.name, row.caveat));
    }
    if (!request.preferred.empty() && row.name == request.preferred) ++state_->tuned;
    UntypedKernel kernel = std::move(kernels.front());
    kernels.erase(kernels.begin());
    return LoadedVariant{family.name,
                         row,
                         std::move(kernel),
                         std::move(kernels),
                         state_->device_properties,
                         std::move(choice.steps)};
}

}  // namespace LODE_NAMESPACE
