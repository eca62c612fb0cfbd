// cuLaunchKernel and similar calls.
#include "emulator/driver/code/functions.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/launch/launch_attributes.hpp"
#include "emulator/driver/launch/launch_shape.hpp"
#include "emulator/driver/launch/queued_launch.hpp"
#include "emulator/driver/log.hpp"
#include "emulator/driver/stream/streams.hpp"

#include <cstring>
#include <string>
#include <vector>

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

CUresult refuse(CUresult code, std::string_view sentence) {
    log::report(sentence);
    return code;
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
        if (const CUresult state =
                check_shape(*function, request.shape, request.attributes, cooperative);
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
    if (const CUresult state =
            check_shape(*function, request.shape, request.attributes, read.cooperative);
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
