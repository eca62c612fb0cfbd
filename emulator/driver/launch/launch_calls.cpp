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

// Launches of CUDA before 4.0, whose shape and parameters are set by calls of their own.

namespace {

/// Calls body(StagedLaunch&) with that of a function: CUresult body(StagedLaunch&).
template <class Body>
CUresult stage(const char* symbol, CUfunction handle, Body&& body) {
    return enter_function(symbol, handle, [&](Function& function) -> CUresult {
        const std::lock_guard lock(function.staged.mutex);
        return body(function.staged);
    });
}

CUresult stage_parameter(const char* symbol, CUfunction handle, int offset, const void* value,
                         std::size_t bytes) {
    return stage(symbol, handle, [&](StagedLaunch& staged) -> CUresult {
        const std::size_t end = static_cast<std::size_t>(offset) + bytes;
        if (offset < 0 || value == nullptr || bytes > max_parameter_bytes ||
            end > max_parameter_bytes)
            return CUDA_ERROR_INVALID_VALUE;
        if (staged.parameters.size() < end) staged.parameters.resize(end);
        std::memcpy(staged.parameters.data() + offset, value, bytes);
        return CUDA_SUCCESS;
    });
}

CUresult launch_staged(const char* symbol, CUfunction handle, int width, int height,
                       CUstream stream) {
    std::shared_ptr<Function> function;
    if (const CUresult state = gate::guarded([&] {
            return is_initialised() ? resolve_function(handle, nullptr, function)
                                    : CUDA_ERROR_NOT_INITIALIZED;
        });
        state != CUDA_SUCCESS)
        return enter(symbol, [&] { return state; });
    const std::lock_guard lock(function->staged.mutex);
    StagedLaunch& staged = function->staged;
    std::size_t bytes = staged.parameter_bytes;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, staged.parameters.data(),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const Dim3 grid{static_cast<unsigned>(width), static_cast<unsigned>(height), 1};
    const LaunchRequest request{handle,
                                {grid, staged.block, staged.shared_bytes},
                                stream,
                                nullptr,
                                bytes > 0 ? extra : nullptr};
    return launch(symbol, request, DefaultStream::legacy);
}

}  // namespace

LODE_ENTRY cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
    return stage(__func__, hfunc, [&](StagedLaunch& staged) -> CUresult {
        if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
        staged.block = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                        static_cast<unsigned>(z)};
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
    return stage(__func__, hfunc, [&](StagedLaunch& staged) {
        staged.shared_bytes = bytes;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
    return stage(__func__, hfunc, [&](StagedLaunch& staged) -> CUresult {
        if (numbytes > max_parameter_bytes) return CUDA_ERROR_INVALID_VALUE;
        staged.parameter_bytes = numbytes;
        if (staged.parameters.size() < numbytes) staged.parameters.resize(numbytes);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
    return stage_parameter(__func__, hfunc, offset, &value, sizeof(value));
}

LODE_ENTRY cuParamSetf(CUfunction hfunc, int offset, float value) {
    return stage_parameter(__func__, hfunc, offset, &value, sizeof(value));
}

LODE_ENTRY cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
    return stage_parameter(__func__, hfunc, offset, ptr, numbytes);
}

LODE_ENTRY cuLaunch(CUfunction f) {
    return launch_staged(__func__, f, 1, 1, nullptr);
}

LODE_ENTRY cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
    return launch_staged(__func__, f, grid_width, grid_height, nullptr);
}

LODE_ENTRY cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
    return launch_staged(__func__, f, grid_width, grid_height, hStream);
}

}  // namespace lode::emulator::driver
