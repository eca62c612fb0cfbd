// cuLibrary…, cuModule…: loading code and looking up its contents.
#include "emulator/driver/code/code.hpp"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"

#include <algorithm>

namespace lode::emulator::driver {
namespace {

using Kernels = Handles<LibraryKernel, CUkernel>;
using Modules = Handles<LoadedModule, CUmodule>;
using Functions = Handles<Function, CUfunction>;

template <class Body>
CUresult enter_library(const char* symbol, CUlibrary handle, Body&& body) noexcept {
    return enter(symbol, [&]() -> CUresult {
        const auto library = driver().libraries.find(handle);
        return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*library);
    });
}

template <class Body>
CUresult enter_module(const char* symbol, CUmodule handle, Body&& body) noexcept {
    return enter_context(symbol, [&](Context&) -> CUresult {
        const auto module = driver().modules.find(handle);
        return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*module);
    });
}

CUresult load_library(CUlibrary* out, const void* image, unsigned count,
                      const CUjit_option* options, void** values, unsigned library_option_count,
                      const CUlibraryOption* library_options, std::string_view file = {}) {
    if (out == nullptr || (library_option_count > 0 && library_options == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < library_option_count; ++i)
        if (library_options[i] >= CU_LIBRARY_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
    JitLogs logs{.file = file};
    if (const CUresult state = read_jit_options(count, options, values, logs);
        state != CUDA_SUCCESS)
        return state;
    PtxTexts ptx;
    if (const CUresult state = ptx_of_image(image, ptx, logs); state != CUDA_SUCCESS) return state;
    auto library = std::make_shared<Library>(std::move(ptx));
    if (const CUresult state = library->check(logs); state != CUDA_SUCCESS) return state;
    *out = driver().libraries.add(std::move(library));
    return CUDA_SUCCESS;
}

CUresult load_into(Context& context, CUmodule* out, const void* image, unsigned count,
                   const CUjit_option* options, void** values, std::string_view file = {}) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    JitLogs logs{.file = file};
    if (const CUresult state = read_jit_options(count, options, values, logs);
        state != CUDA_SUCCESS)
        return state;
    PtxTexts ptx;
    if (const CUresult state = ptx_of_image(image, ptx, logs); state != CUDA_SUCCESS) return state;
    std::shared_ptr<LoadedModule> module;
    if (const CUresult state = load_module(context, ptx, nullptr, logs, module);
        state != CUDA_SUCCESS)
        return state;
    *out = Modules::native_of(*module);
    return CUDA_SUCCESS;
}

enum class Variables : std::uint8_t { all, managed };

CUresult global_of(const LoadedModule& module, CUdeviceptr* address, std::size_t* bytes,
                   const char* name, Variables which = Variables::all) {
    if (name == nullptr || (address == nullptr && bytes == nullptr))
        return CUDA_ERROR_INVALID_VALUE;
    const Global* global = module.code().global(name);
    if (global == nullptr) {
        const bool is_kernel = module.code().kernel(name) != nullptr;
        return is_kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
    }
    if (which == Variables::managed && !global->is_managed) return CUDA_ERROR_NOT_FOUND;
    if (address != nullptr) *address = global->address;
    if (bytes != nullptr) *bytes = global->bytes;
    return CUDA_SUCCESS;
}

CUresult library_global_of(const char* symbol, CUlibrary handle, CUdeviceptr* address,
                           std::size_t* bytes, const char* name, Variables which) {
    return enter_context(symbol, [&](Context& context) -> CUresult {
        const auto found = driver().libraries.find(handle);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        std::shared_ptr<LoadedModule> module;
        if (const CUresult state = found->module(context, module); state != CUDA_SUCCESS)
            return state;
        return global_of(*module, address, bytes, name, which);
    });
}

}  // namespace

LODE_ENTRY cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                             void** jitOptionsValues, unsigned int numJitOptions,
                             CUlibraryOption* libraryOptions, void**,
                             unsigned int numLibraryOptions) {
    return enter(__func__, [&] {
        return load_library(library, code, numJitOptions, jitOptions, jitOptionsValues,
                            numLibraryOptions, libraryOptions);
    });
}

LODE_ENTRY cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                                 void** jitOptionsValues, unsigned int numJitOptions,
                                 CUlibraryOption* libraryOptions, void**,
                                 unsigned int numLibraryOptions) {
    return enter(__func__, [&]() -> CUresult {
        std::string image;
        if (const CUresult state = read_file(fileName, image); state != CUDA_SUCCESS) return state;
        return load_library(library, image.c_str(), numJitOptions, jitOptions, jitOptionsValues,
                            numLibraryOptions, libraryOptions, fileName);
    });
}

LODE_ENTRY cuLibraryUnload(CUlibrary library) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto found = driver().libraries.remove(library);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        found->unload();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
    return enter_library(__func__, library, [&](Library& found) -> CUresult {
        if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<LibraryKernel> kernel;
        const CUresult state = found.kernel(name, kernel);
        if (state == CUDA_SUCCESS) *pKernel = Kernels::native_of(*kernel);
        return state;
    });
}

LODE_ENTRY cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
    return enter_library(__func__, lib, [&](Library& found) -> CUresult {
        if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *count = static_cast<unsigned>(found.kernel_names().size());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
    return enter_library(__func__, lib, [&](Library& found) -> CUresult {
        if (kernels == nullptr && numKernels > 0) return CUDA_ERROR_INVALID_VALUE;
        const auto all = found.kernels();
        for (std::size_t i = 0; i < std::min<std::size_t>(numKernels, all.size()); ++i)
            kernels[i] = Kernels::native_of(*all[i]);
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        const auto found = driver().libraries.find(library);
        if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<LoadedModule> module;
        const CUresult state = found->module(context, module);
        if (state == CUDA_SUCCESS) *pMod = Modules::native_of(*module);
        return state;
    });
}

LODE_ENTRY cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                              const char* name) {
    return library_global_of(__func__, library, dptr, bytes, name, Variables::all);
}

LODE_ENTRY cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                               const char* name) {
    return library_global_of(__func__, library, dptr, bytes, name, Variables::managed);
}

LODE_ENTRY cuModuleLoad(CUmodule* module, const char* fname) {
    return enter_context(__func__, [&](Context& context) -> CUresult {
        std::string image;
        if (const CUresult state = read_file(fname, image); state != CUDA_SUCCESS) return state;
        return load_into(context, module, image.c_str(), 0, nullptr, nullptr, fname);
    });
}

LODE_ENTRY cuModuleLoadData(CUmodule* module, const void* image) {
    return enter_context(__func__, [&](Context& context) {
        return load_into(context, module, image, 0, nullptr, nullptr);
    });
}

LODE_ENTRY cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                              CUjit_option* options, void** optionValues) {
    return enter_context(__func__, [&](Context& context) {
        return load_into(context, module, image, numOptions, options, optionValues);
    });
}

LODE_ENTRY cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
    return enter_context(__func__, [&](Context& context) {
        return load_into(context, module, fatCubin, 0, nullptr, nullptr);
    });
}

LODE_ENTRY cuModuleUnload(CUmodule hmod) {
    return enter_release(__func__, [&]() -> CUresult {
        const auto module = driver().modules.find(hmod);
        if (module == nullptr || module->in_library()) return CUDA_ERROR_INVALID_HANDLE;
        module->context().drain();
        forget_module(module);
        return module->context().error();
    });
}

LODE_ENTRY cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return enter(__func__, [&]() -> CUresult {
        if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *mode = CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
    return enter_module(__func__, hmod, [&](LoadedModule& module) -> CUresult {
        if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
        std::shared_ptr<Function> function;
        const CUresult state = module.function(name, function);
        if (state == CUDA_SUCCESS) *hfunc = Functions::native_of(*function);
        return state;
    });
}

LODE_ENTRY cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
    return enter_module(__func__, mod, [&](LoadedModule& module) -> CUresult {
        if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *count = static_cast<unsigned>(module.code().kernel_names().size());
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions,
                                      CUmodule mod) {
    return enter_module(__func__, mod, [&](LoadedModule& module) -> CUresult {
        if (functions == nullptr && numFunctions > 0) return CUDA_ERROR_INVALID_VALUE;
        unsigned filled = 0;
        for (const std::string& name : module.code().kernel_names()) {
            if (filled == numFunctions) break;
            std::shared_ptr<Function> function;
            if (const CUresult state = module.function(name.c_str(), function);
                state != CUDA_SUCCESS)
                return state;
            functions[filled++] = Functions::native_of(*function);
        }
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
    return enter_module(__func__, hmod,
                        [&](LoadedModule& module) { return global_of(module, dptr, bytes, name); });
}

}  // namespace lode::emulator::driver
