// cuLaunchKernel and similar calls.
#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/code/functions.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/journal.hpp"
#include "emulator/driver/launch/launch_attributes.hpp"
#include "emulator/driver/launch/print_hook.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// The largest parameter size of any device, in bytes.
constexpr std::size_t max_parameter_bytes = 32764;

struct LaunchRequest {
    CUfunction function = nullptr;
    exec::GridShape shape;
    CUstream stream = nullptr;
    void** parameters = nullptr;
    void** extra = nullptr;
    bool cooperative = false;
    const LaunchAttributes* attributes = nullptr;  ///< Null if there are none.
    const CUlaunchConfig* config = nullptr;        ///< Has the attributes of cuLaunchKernelEx.
};

/// A launch on the stream's thread; keeps the code loaded.
struct QueuedLaunch {
    std::shared_ptr<Context> context;
    std::shared_ptr<LoadedModule> module;
    const KernelInfo& kernel;
    exec::GridShape shape;
    bool cooperative;
    std::vector<std::byte> parameters;
};

bool within(const Dim3& size, std::uint64_t x, std::uint64_t y, std::uint64_t z) noexcept {
    return size.x > 0 && size.y > 0 && size.z > 0 && size.x <= x && size.y <= y && size.z <= z;
}

CUresult refuse(CUresult code, std::string_view sentence) {
    log::report(sentence);
    return code;
}

/// The settings of a function, with what the launch's attributes say instead.
void read_settings(const Function& function, const LaunchAttributes* attributes,
                   FunctionSettings& to) {
    const auto& limits = function.module().context().device().profile.limits;
    const auto own_shared = static_cast<int>(function.info().static_shared);
    const unsigned shared_mode = attributes == nullptr ? 0 : attributes->shared_memory_mode;
    const unsigned cluster_mode = attributes == nullptr ? 0 : attributes->cluster_mode;
    to.max_dynamic_shared = shared_mode == 0 ? function.settings.max_dynamic_shared.load() : -1;
    if (shared_mode > 1)
        to.max_dynamic_shared = static_cast<int>(limits.shared_bytes_per_block_optin) - own_shared;
    to.nonportable_cluster =
        cluster_mode == 0 ? function.settings.nonportable_cluster.load() : cluster_mode == 2;
}

CUresult check_cluster(const Function& function, const FunctionSettings& settings,
                       const exec::GridShape& shape) {
    const KernelInfo& info = function.info();
    const Dim3 size = cluster_of(info, shape.cluster);
    if (size.count() == 0)
        return info.explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    if (info.required_cluster.count() != 0 && size != info.required_cluster)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (size.count() > static_cast<unsigned>(largest_cluster(settings)) ||
        (info.max_cluster_blocks != 0 && size.count() > info.max_cluster_blocks))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const Dim3& grid = shape.grid;
    if (grid.x % size.x != 0 || grid.y % size.y != 0 || grid.z % size.z != 0)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const int fit = clusters_at_once(function.module().context().device().profile, info, settings,
                                     static_cast<int>(shape.block.count()), shape.dynamic_shared,
                                     static_cast<int>(size.count()));
    return fit > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult check_shape(const Function& function, const LaunchRequest& request, bool cooperative) {
    const Profile& profile = function.module().context().device().profile;
    const KernelInfo& info = function.info();
    const Dim3& block = request.shape.block;
    if (!within(request.shape.grid, max_grid_x, max_grid_yz, max_grid_yz) ||
        !within(block, max_block_x, max_block_y, max_block_z) ||
        block.count() > max_threads_per_block)
        return CUDA_ERROR_INVALID_VALUE;
    if (info.required_ntid.count() > 0 && !(block == info.required_ntid))
        return CUDA_ERROR_INVALID_VALUE;
    if (info.max_ntid.count() > 0 && block.count() > info.max_ntid.count())
        return CUDA_ERROR_INVALID_VALUE;
    const auto threads = static_cast<int>(block.count());
    if (threads > max_threads_of(info)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    FunctionSettings settings;
    read_settings(function, request.attributes, settings);
    if (request.shape.dynamic_shared >
        static_cast<unsigned>(max_dynamic_shared_of(function.info(), settings)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!info.too_large.empty()) return refuse(CUDA_ERROR_INVALID_VALUE, info.too_large);
    if (const CUresult state = check_cluster(function, settings, request.shape);
        state != CUDA_SUCCESS)
        return state;
    if (!cooperative) return CUDA_SUCCESS;
    const int fit = blocks_per_multiprocessor(profile, function.info(), settings, threads,
                                              request.shape.dynamic_shared);
    const std::uint64_t most =
        static_cast<std::uint64_t>(fit) * static_cast<std::uint64_t>(profile.multiprocessors);
    return request.shape.grid.count() > most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                             : CUDA_SUCCESS;
}

/// Parses `extra`: key, value, …, CU_LAUNCH_PARAM_END.
CUresult read_extra(void** extra, const void*& buffer, std::size_t& size) {
    for (std::size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[i + 1];
        } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1] != nullptr) {
            size = *static_cast<const std::size_t*>(extra[i + 1]);
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return CUDA_SUCCESS;
}

CUresult gather_parameters(const KernelInfo& info, const LaunchRequest& request,
                           std::vector<std::byte>& bytes) {
    if (request.parameters != nullptr && request.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
    bytes.resize(info.parameter_bytes);
    if (request.extra != nullptr) {
        const void* buffer = nullptr;
        std::size_t size = 0;
        if (const CUresult state = read_extra(request.extra, buffer, size); state != CUDA_SUCCESS)
            return state;
        if (size < info.parameter_bytes || size > max_parameter_bytes ||
            (buffer == nullptr && size > 0))
            return CUDA_ERROR_INVALID_VALUE;
        if (!bytes.empty()) std::memcpy(bytes.data(), buffer, bytes.size());
        return CUDA_SUCCESS;
    }
    if (!info.parameters.empty() && request.parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
        if (request.parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(bytes.data() + info.parameters[i].offset, request.parameters[i],
                    info.parameters[i].size);
    }
    return CUDA_SUCCESS;
}

/// Like the driver's, device printf writes to stdout, unless the test interface takes it.
void print(std::string_view text) {
    if (print_hook::call(text)) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

/// Like the driver's, a device assert writes to stderr.
void complain(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

/// A report's text; the first without a source line says how to get lines.
std::string with_hint(const exec::FindingReport& report) {
    if (!report.stack.empty() || driver().lines_hinted.exchange(true)) return report.text;
    return report.text + "\n  lines: compile with --line-info (lode) or -lineinfo (nvcc, NVRTC)";
}

/// The findings of one launch. Each is logged; together they form a report of limited length. Not
/// thread-safe.
class Findings {
public:
    void add(const exec::FindingReport& report) {
        std::string text = with_hint(report);
        log::write_finding(text, driver().settings.findings_fail);
        texts_.emplace_back(report.number, std::move(text));
    }
    void add_repeated(const exec::FindingReport& report) {
        for (auto& [number, text] : texts_) {
            if (number == report.number)
                text += fmt::format("\n  count: {} times in this launch", report.count + 1);
        }
    }
    [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
    /// The findings, and a line for those that are only in the log.
    [[nodiscard]] std::string text() const {
        std::string all;
        std::size_t told = 0;
        for (const auto& [number, text] : texts_) {
            if (told == most_findings || all.size() + text.size() > most_bytes) break;
            all += (told++ == 0 ? "" : "\n") + text;
        }
        if (told == texts_.size()) return all;
        return fmt::format("{}\nThe log has {} more findings of this launch.", all,
                           texts_.size() - told);
    }

private:
    static constexpr std::size_t most_findings = 32;
    static constexpr std::size_t most_bytes = std::size_t{24} * 1024;
    std::vector<std::pair<std::uint32_t, std::string>> texts_;
};

void perform(const QueuedLaunch& launch) {
    const Settings& settings = driver().settings;
    Device& device = launch.context->device();
    exec::LaunchOptions options;
    options.cooperative = launch.cooperative;
    options.checks = settings.checks;
    options.seed = settings.seed;
    options.workers = settings.workers;
    options.stack_limit = static_cast<std::uint32_t>(launch.kernel.local_bytes +
                                                     launch.context->limit(CU_LIMIT_STACK_SIZE));
    options.heap_limit = launch.context->limit(CU_LIMIT_MALLOC_HEAP_SIZE);
    options.multiprocessors = static_cast<std::uint32_t>(device.profile.multiprocessors);
    options.timeout = std::chrono::milliseconds(settings.timeout_ms);
    if (settings.timeout_is_default) {
        options.timeout_fact =
            "limit: the default of lode emulate; LODE_EMULATOR_TIMEOUT sets "
            "another in milliseconds, and 0 none";
    }
    options.skips_bad_accesses = !settings.findings_fail;
    options.print = print;
    options.complain = complain;
    Findings findings;
    const auto note = [](const exec::FindingReport& report) {
        journal::add(report.benign ? journal::Kind::benign : journal::Kind::finding, report);
    };
    options.finding = [&](const exec::FindingReport& report) {
        if (!report.benign) findings.add(report);
        if (report.benign) log::write(log::Level::information, report.text);
        note(report);
    };
    options.repeated = [&](const exec::FindingReport& report) {
        findings.add_repeated(report);
        note(report);
    };
    options.set_condition = [](std::uint64_t handle, std::uint32_t value) {
        const auto condition = driver().graph_tables.conditions.find(handle);
        if (condition != nullptr) condition->set(value);
        return condition != nullptr;
    };
    TouchedBytes touched;
    StreamOrder* const order = driver().order.get();
    if (order != nullptr) options.touched = &touched;
    const exec::LaunchOutcome outcome = device.machine.launch(
        launch.module->code(), launch.kernel.name, launch.shape, launch.parameters, options);
    if (order != nullptr)
        order->note(std::move(touched), {exec::brief_name(launch.kernel.name), {}, true});
    if (outcome.fault == exec::Fault::none) {
        if (findings.empty()) return;
        log::keep_findings(findings.text());
        // Results may be wrong, so the context fails as after a fault.
        if (settings.findings_fail) launch.context->fail(CUDA_ERROR_LAUNCH_FAILED);
        return;
    }
    exec::FindingReport fault = outcome.place;
    const bool has_place = !fault.kind.empty();
    if (!has_place) {
        fault.kind = "fault";
        fault.kernel = launch.kernel.name;
        fault.text = outcome.report;
    }
    journal::add(journal::Kind::fault, fault);
    const std::string text = has_place ? with_hint(fault) : fault.text;
    log::write_finding(text, true);
    log::keep_findings(findings.empty() ? text : text + "\n" + findings.text());
    const auto code = static_cast<CUresult>(outcome.fault);
    if (outcome.fault == exec::Fault::out_of_memory) {
        launch.context->fail_once(code);
    } else {
        launch.context->fail(code);
    }
}

/// A graph's node for a checked launch.
KernelWork kernel_work(const LaunchRequest& request, KernelAttributes attributes,
                       std::shared_ptr<Function> function, std::shared_ptr<QueuedLaunch> launch) {
    return KernelWork{
        request.function,      std::move(function),           request.shape,
        std::move(attributes), {launch, &launch->parameters}, [launch] { perform(*launch); }};
}

CUresult launch(const char* symbol, LaunchRequest request, DefaultStream null_means) {
    return enter(symbol, [&]() -> CUresult {
        StreamUse use;
        if (const CUresult state = resolve_stream(request.stream, null_means, use);
            state != CUDA_SUCCESS)
            return state;
        std::shared_ptr<Function> function;
        if (const CUresult state = resolve_function(request.function, use.context.get(), function);
            state != CUDA_SUCCESS)
            return state;
        if (&function->module().context() != use.context.get()) {
            return refuse(
                CUDA_ERROR_INVALID_HANDLE,
                "The function and the stream of the launch belong to different contexts.");
        }
        LaunchAttributes attributes;
        if (request.config != nullptr) {
            if (const CUresult state =
                    read_launch_attributes(*request.config, *use.context, attributes);
                state != CUDA_SUCCESS)
                return state;
            request.shape.cluster = attributes.cluster;
            request.attributes = &attributes;
        }
        const bool cooperative = request.cooperative || attributes.cooperative;
        if (const CUresult state = check_shape(*function, request, cooperative);
            state != CUDA_SUCCESS)
            return state;
        auto work = std::make_shared<QueuedLaunch>(QueuedLaunch{use.context,
                                                                function->shared_module(),
                                                                function->info(),
                                                                request.shape,
                                                                cooperative,
                                                                {}});
        if (const CUresult state = gather_parameters(function->info(), request, work->parameters);
            state != CUDA_SUCCESS)
            return state;
        Captures& captures = driver().graph_tables.captures;
        if (!attributes.events.empty()) {
            if (const auto refused =
                    captures.refuse_by_name(use, "launches in a capture that record an event"))
                return *refused;
        }
        if (const auto captured = captures.add(use, [&] {
                return kernel_work(
                    request,
                    captured_attributes(request.config, cooperative, use.stream->priority()),
                    function, work);
            }))
            return *captured;
        use.submit([work = std::move(work)] { perform(*work); });
        // "All blocks have begun" and "all blocks have triggered" both hold after the kernel.
        for (const auto& event : attributes.events)
            event->record(use.stream);
        return use.wait_if_blocking();
    });
}

CUresult launch_ex(const char* symbol, const CUlaunchConfig* config, CUfunction function,
                   void** parameters, void** extra, DefaultStream null_means) {
    if (config == nullptr) return enter(symbol, [] { return CUDA_ERROR_INVALID_VALUE; });
    LaunchRequest request;
    request.function = function;
    request.shape = exec::GridShape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                                    config->sharedMemBytes};
    request.stream = config->hStream;
    request.parameters = parameters;
    request.extra = extra;
    request.config = config;
    return launch(symbol, request, null_means);
}

}  // namespace

CUresult make_kernel_work(const CUDA_KERNEL_NODE_PARAMS_v2& node, KernelAttributes attributes,
                          Context& context, KernelWork& work) {
    LaunchRequest request{node.func,
                          {{node.gridDimX, node.gridDimY, node.gridDimZ},
                           {node.blockDimX, node.blockDimY, node.blockDimZ},
                           node.sharedMemBytes},
                          nullptr,
                          node.kernelParams,
                          node.extra};
    std::shared_ptr<Function> function;
    if (const CUresult state = resolve_function(request.function, &context, function);
        state != CUDA_SUCCESS)
        return state;
    std::vector<CUlaunchAttribute> list = listed(attributes);
    CUlaunchConfig config{node.gridDimX,       node.gridDimY,
                          node.gridDimZ,       node.blockDimX,
                          node.blockDimY,      node.blockDimZ,
                          node.sharedMemBytes, nullptr,
                          list.data(),         static_cast<unsigned>(list.size())};
    LaunchAttributes read;
    if (const CUresult state = read_launch_attributes(config, function->module().context(), read);
        state != CUDA_SUCCESS)
        return state;
    request.cooperative = read.cooperative;
    request.shape.cluster = read.cluster;
    request.attributes = &read;
    if (const CUresult state = check_shape(*function, request, read.cooperative);
        state != CUDA_SUCCESS)
        return state;
    auto launch =
        std::make_shared<QueuedLaunch>(QueuedLaunch{function->module().context().shared_from_this(),
                                                    function->shared_module(),
                                                    function->info(),
                                                    request.shape,
                                                    request.cooperative,
                                                    {}});
    if (const CUresult state = gather_parameters(function->info(), request, launch->parameters);
        state != CUDA_SUCCESS)
        return state;
    work = kernel_work(request, std::move(attributes), std::move(function), std::move(launch));
    return CUDA_SUCCESS;
}

LODE_ENTRY_TWINS(cuLaunchKernel, _ptsz,
                 (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                  unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                  unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra),
                 {
                     const LaunchRequest request{f,
                                                 {{gridDimX, gridDimY, gridDimZ},
                                                  {blockDimX, blockDimY, blockDimZ},
                                                  sharedMemBytes},
                                                 hStream,
                                                 kernelParams,
                                                 extra};
                     return launch(__func__, request, default_stream);
                 })

LODE_ENTRY_TWINS(
    cuLaunchCooperativeKernel, _ptsz,
    (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
     unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
     unsigned int sharedMemBytes, CUstream hStream, void** kernelParams),
    {
        const LaunchRequest request{
            f,
            {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes},
            hStream,
            kernelParams,
            nullptr,
            true};
        return launch(__func__, request, default_stream);
    })

LODE_ENTRY_TWINS(cuLaunchKernelEx, _ptsz,
                 (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra),
                 { return launch_ex(__func__, config, f, kernelParams, extra, default_stream); })

}  // namespace lode::emulator::driver
