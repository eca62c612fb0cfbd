// cuFunc…, cuKernel…
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/code/function_properties.hpp"
#include "emulator/driver/code/functions.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

namespace lode::emulator::driver {

CUresult read_attribute(const Function& function, CUfunction_attribute which, int& value) {
    const KernelInfo& info = function.info();
    const Device& device = function.module().context().device();
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            value = max_threads_of(info);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            value = static_cast<int>(info.static_shared);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            value = static_cast<int>(info.constant_bytes);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            value = static_cast<int>(info.local_bytes);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            value = registers_of(info);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            value = function.module().ptx_target();
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            value = device.profile.cc.number();
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            value = max_dynamic_shared_of(function.info(), function.settings);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            value = function.settings.carveout;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
            value = info.required_cluster.count() > 0 || info.explicit_cluster ? 1 : 0;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
            value = static_cast<int>(info.required_cluster.x);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
            value = static_cast<int>(info.required_cluster.y);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
            value = static_cast<int>(info.required_cluster.z);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            value = function.settings.nonportable_cluster;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            value = function.settings.cluster_scheduling;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            value = 0;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

namespace {

CUresult write_attribute(Function& function, CUfunction_attribute which, int value) {
    const Profile& profile = function.module().context().device().profile;
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
            const int most = static_cast<int>(profile.limits.shared_bytes_per_block_optin) -
                             static_cast<int>(function.info().static_shared);
            if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
            function.settings.max_dynamic_shared = value;
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
            function.settings.carveout = value;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            if (value != 0 && value != 1) return CUDA_ERROR_INVALID_VALUE;
            function.settings.nonportable_cluster = value;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
                value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
                return CUDA_ERROR_INVALID_VALUE;
            function.settings.cluster_scheduling = value;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult parameter_info(const KernelInfo& info, std::size_t index, std::size_t* offset,
                        std::size_t* size) {
    if (offset == nullptr || index >= info.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = info.parameters[index].offset;
    if (size != nullptr) *size = info.parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult set_cache_config(Function& function, CUfunc_cache config) {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    function.settings.cache_config = config;
    return CUDA_SUCCESS;
}

/// enter() with a kernel in a device's primary context.
template <class Body>
CUresult enter_kernel(const char* symbol, CUkernel handle, CUdevice dev, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto kernel = driver().kernels.find(handle);
        if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        Device* device = driver().device(dev);
        if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
        std::shared_ptr<Function> function;
        if (const CUresult state = kernel->function(*device->primary, function);
            state != CUDA_SUCCESS)
            return state;
        return body(*function);
    });
}

CUresult parameter_count(const KernelInfo& info, std::size_t* count) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = info.parameters.size();
    return CUDA_SUCCESS;
}

/// enter_context() with what is known of a kernel in any context.
template <class Body>
CUresult enter_kernel_info(const char* symbol, CUkernel kernel, Body&& body) noexcept {
    return enter_context(symbol, [&](Context&) -> CUresult {
        if (kernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto found = driver().kernels.find(kernel);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const auto library = found->library();
        if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        std::shared_ptr<LoadedModule> module;
        if (const CUresult state = library->any_module(module); state != CUDA_SUCCESS) return state;
        const KernelInfo* info = module->code().kernel(found->name());
        return info == nullptr ? CUDA_ERROR_NOT_FOUND : body(*info);
    });
}

}  // namespace

CUresult resolve_function(CUfunction handle, Context* context,
                          std::shared_ptr<Function>& function) {
    function = driver().functions.find(handle);
    if (function != nullptr) return CUDA_SUCCESS;
    const auto kernel = driver().kernels.find(reinterpret_cast<CUkernel>(handle));
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (context == nullptr) {
        if (const CUresult state = current::open_context(context); state != CUDA_SUCCESS)
            return state;
    }
    return kernel->function(*context, function);
}

LODE_ENTRY cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
    return enter_function(__func__, hfunc, [&](Function& function) {
        return pi == nullptr ? CUDA_ERROR_INVALID_VALUE : read_attribute(function, attrib, *pi);
    });
}

LODE_ENTRY cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    return enter_function(__func__, hfunc, [&](Function& function) {
        return write_attribute(function, attrib, value);
    });
}

LODE_ENTRY cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    return enter_function(__func__, hfunc,
                          [&](Function& function) { return set_cache_config(function, config); });
}

LODE_ENTRY cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig) {
    return enter_function(__func__, hfunc, [](Function&) { return CUDA_SUCCESS; });
}

LODE_ENTRY cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
    return enter_function(__func__, hfunc, [&](Function& function) -> CUresult {
        if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *hmod = Handles<LoadedModule, CUmodule>::native_of(function.module());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuFuncGetName(const char** name, CUfunction hfunc) {
    return enter(__func__, [&]() -> CUresult {
        if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Function> function;
        if (const CUresult state = resolve_function(hfunc, nullptr, function);
            state != CUDA_SUCCESS)
            return state;
        *name = function->info().name.c_str();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset,
                              size_t* paramSize) {
    return enter_function(__func__, func, [&](Function& function) {
        return parameter_info(function.info(), paramIndex, paramOffset, paramSize);
    });
}

LODE_ENTRY cuFuncGetParamCount(CUfunction func, size_t* paramCount) {
    return enter_function(__func__, func, [&](Function& function) {
        return parameter_count(function.info(), paramCount);
    });
}

LODE_ENTRY cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
    return enter_function(__func__, function, [&](Function&) -> CUresult {
        if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuFuncLoad(CUfunction function) {
    return enter_function(__func__, function, [](Function&) { return CUDA_SUCCESS; });
}

LODE_ENTRY cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto found = driver().kernels.find(kernel);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Function> function;
        const CUresult state = found->function(context, function);
        if (state == CUDA_SUCCESS) *pFunc = Handles<Function, CUfunction>::native_of(*function);
        return state;
    });
}

LODE_ENTRY cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
    return enter(__func__, [&]() -> CUresult {
        const auto found = driver().kernels.find(kernel);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto library = found->library();
        if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *pLib = Handles<Library, CUlibrary>::native_of(*library);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuKernelGetName(const char** name, CUkernel hfunc) {
    return enter(__func__, [&]() -> CUresult {
        if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto found = driver().kernels.find(hfunc);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        *name = found->name().c_str();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel,
                                CUdevice dev) {
    return enter_kernel(__func__, kernel, dev, [&](Function& function) {
        return pi == nullptr ? CUDA_ERROR_INVALID_VALUE : read_attribute(function, attrib, *pi);
    });
}

LODE_ENTRY cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                CUdevice dev) {
    return enter_kernel(__func__, kernel, dev,
                        [&](Function& function) { return write_attribute(function, attrib, val); });
}

LODE_ENTRY cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    return enter_kernel(__func__, kernel, dev,
                        [&](Function& function) { return set_cache_config(function, config); });
}

LODE_ENTRY cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset,
                                size_t* paramSize) {
    return enter_kernel_info(__func__, kernel, [&](const KernelInfo& info) {
        return parameter_info(info, paramIndex, paramOffset, paramSize);
    });
}

LODE_ENTRY cuKernelGetParamCount(CUkernel kernel, size_t* paramCount) {
    return enter_kernel_info(__func__, kernel, [&](const KernelInfo& info) {
        return parameter_count(info, paramCount);
    });
}

}  // namespace lode::emulator::driver
