#include "emulator/toolkit/cudart/binaries.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lode::emulator::cudart {
namespace {

struct ManagedVariable {
    void** host;  ///< Receives the address.
    std::string name;
};

/// A registered fat binary. It is loaded when something of it is used.
class Binary {
public:
    explicit Binary(const void* image) noexcept : image_(image) {}
    ~Binary() {
        if (library_ != nullptr) cuLibraryUnload(library_);
    }
    Binary(const Binary&) = delete;
    Binary& operator=(const Binary&) = delete;

    void add(ManagedVariable variable) { managed_.push_back(std::move(variable)); }

    /// Loads the binary and sets the pointers to its managed variables. Needs a context.
    CUresult load(CUlibrary& library) noexcept {
        const std::lock_guard lock(mutex_);
        if (!is_loaded_) {
            is_loaded_ = true;
            state_ = cuLibraryLoadData(&library_, image_, nullptr, nullptr, 0, nullptr, nullptr, 0);
            for (const ManagedVariable& variable : managed_) {
                CUdeviceptr address = 0;
                if (state_ != CUDA_SUCCESS) break;
                state_ = cuLibraryGetManaged(&address, nullptr, library_, variable.name.c_str());
                *variable.host = reinterpret_cast<void*>(address);
            }
        }
        library = library_;
        return state_;
    }

private:
    const void* image_;
    std::mutex mutex_;
    bool is_loaded_ = false;
    CUresult state_ = CUDA_SUCCESS;
    CUlibrary library_ = nullptr;
    std::vector<ManagedVariable> managed_;
};

struct RegisteredFunction {
    Binary* binary = nullptr;
    std::string name;
    CUkernel kernel = nullptr;  ///< nullptr until it is used.
};
struct RegisteredVariable {
    Binary* binary = nullptr;
    std::string name;
};

/// Never destroyed: binaries are unregistered while the process ends.
struct Registry {
    std::mutex mutex;
    std::unordered_map<const Binary*, std::unique_ptr<Binary>> binaries;
    std::unordered_map<const void*, RegisteredFunction> functions;
    std::unordered_map<const void*, RegisteredVariable> variables;
};

Registry& registry() {
    static Registry& instance = *new Registry;
    return instance;
}

/// Loading code isn't part of what a stream captures, and must not end a capture.
class OutsideCaptures {
public:
    OutsideCaptures() noexcept { cuThreadExchangeStreamCaptureMode(&mode_); }
    ~OutsideCaptures() { cuThreadExchangeStreamCaptureMode(&mode_); }
    OutsideCaptures(const OutsideCaptures&) = delete;
    OutsideCaptures& operator=(const OutsideCaptures&) = delete;

private:
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

template <class Body>
cudaError_t with_registry(Body&& body) noexcept {
    if (const CUresult state = open_context(); state != CUDA_SUCCESS) return error_of(state);
    try {
        const OutsideCaptures outside;
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        return body(all);
    } catch (const std::exception&) {
        return cudaErrorMemoryAllocation;
    }
}

Binary* binary_of(void** handle) noexcept {
    return reinterpret_cast<Binary*>(handle);
}

}  // namespace

cudaError_t kernel_of(const void* function, CUkernel& kernel) noexcept {
    return with_registry([&](Registry& all) -> cudaError_t {
        const auto found = all.functions.find(function);
        if (found == all.functions.end()) {
            // Programs may pass a kernel of the driver instead.
            const auto handle = static_cast<CUkernel>(const_cast<void*>(function));
            CUlibrary library = nullptr;
            if (cuKernelGetLibrary(&library, handle) != CUDA_SUCCESS)
                return cudaErrorInvalidDeviceFunction;
            kernel = handle;
            return cudaSuccess;
        }
        RegisteredFunction& registered = found->second;
        if (registered.kernel == nullptr) {
            CUlibrary library = nullptr;
            CUresult state = registered.binary->load(library);
            if (state == CUDA_SUCCESS)
                state = cuLibraryGetKernel(&registered.kernel, library, registered.name.c_str());
            if (state == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
            if (state != CUDA_SUCCESS) return error_of(state);
        }
        kernel = registered.kernel;
        return cudaSuccess;
    });
}

const void* host_of(CUkernel kernel) noexcept {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (const auto& [host, function] : all.functions)
        if (function.kernel == kernel) return host;
    return kernel;
}

cudaError_t function_of(const void* function, CUfunction& found) noexcept {
    CUkernel kernel = nullptr;
    if (const cudaError_t state = kernel_of(function, kernel); state != cudaSuccess) return state;
    return error_of(cuKernelGetFunction(&found, kernel));
}

cudaError_t symbol_of(const void* variable, Symbol& symbol) noexcept {
    return with_registry([&](Registry& all) -> cudaError_t {
        const auto found = all.variables.find(variable);
        if (found == all.variables.end()) return cudaErrorInvalidSymbol;
        CUlibrary library = nullptr;
        CUresult state = found->second.binary->load(library);
        if (state == CUDA_SUCCESS)
            state = cuLibraryGetGlobal(&symbol.address, &symbol.bytes, library,
                                       found->second.name.c_str());
        return state == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : error_of(state);
    });
}

cudaError_t part_of(const void* variable, std::size_t offset, std::size_t bytes,
                    CUdeviceptr& found) noexcept {
    Symbol symbol;
    if (const cudaError_t state = symbol_of(variable, symbol); state != cudaSuccess) return state;
    if (offset > symbol.bytes || bytes > symbol.bytes - offset) return cudaErrorInvalidValue;
    found = symbol.address + offset;
    return cudaSuccess;
}

}  // namespace lode::emulator::cudart

using namespace lode::emulator::cudart;

// The functions that the code of nvcc calls, as crt/host_runtime.h declares them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)

extern "C" void** CUDARTAPI __cudaRegisterFatBinary(void* image) {
    try {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        auto binary = std::make_unique<Binary>(image);
        Binary* const key = binary.get();
        all.binaries.emplace(key, std::move(binary));
        return reinterpret_cast<void**>(key);
    } catch (const std::exception&) {
        return nullptr;
    }
}

extern "C" void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}

extern "C" void CUDARTAPI __cudaUnregisterFatBinary(void** handle) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const Binary* const binary = binary_of(handle);
    std::erase_if(all.functions, [&](const auto& row) { return row.second.binary == binary; });
    std::erase_if(all.variables, [&](const auto& row) { return row.second.binary == binary; });
    all.binaries.erase(binary);
}

extern "C" void CUDARTAPI __cudaRegisterFunction(void** handle, const char* host, char*,
                                                 const char* name, int, uint3*, uint3*, dim3*,
                                                 dim3*, int*) {
    try {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        all.functions[host] = RegisteredFunction{binary_of(handle), name, nullptr};
    } catch (const std::exception&) {  // Out of memory: the function stays unknown.
    }
}

extern "C" void CUDARTAPI __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                            size_t, int, int) {
    try {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        all.variables[host] = RegisteredVariable{binary_of(handle), name};
    } catch (const std::exception&) {  // Out of memory: the variable stays unknown.
    }
}

extern "C" void CUDARTAPI __cudaRegisterManagedVar(void** handle, void** host, char*,
                                                   const char* name, int, size_t, int, int) {
    try {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        all.variables[host] = RegisteredVariable{binary_of(handle), name};
        binary_of(handle)->add({host, name});
    } catch (const std::exception&) {  // Out of memory: the variable stays unknown.
    }
}

extern "C" char CUDARTAPI __cudaInitModule(void** handle) {
    CUlibrary library = nullptr;
    const bool is_ready =
        open_context() == CUDA_SUCCESS && binary_of(handle)->load(library) == CUDA_SUCCESS;
    return is_ready ? 1 : 0;
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
