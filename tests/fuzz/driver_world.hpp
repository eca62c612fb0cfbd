// World: the values from which the arguments of a sequence of driver calls are chosen.
//
// A pointer that the driver reads or writes through leads to memory of the world that is large
// enough for the call, so no call may crash. Everything else (handles, device addresses,
// sizes, numbers) may be wrong.
#pragma once

#include "tests/fuzz/source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#define __CUDA_API_VERSION_INTERNAL
#include "base/cuda_additions.hpp"

#include <cuda.h>

// Declared in cudaProfiler.h; the last parameter is an enum.
extern "C" {
CUresult cuProfilerInitialize(const char* config, const char* output, int mode);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}

namespace lode::fuzz {

template <class Type>
inline constexpr bool is_handle = false;
template <>
inline constexpr bool is_handle<CUcontext> = true;
template <>
inline constexpr bool is_handle<CUstream> = true;
template <>
inline constexpr bool is_handle<CUevent> = true;
template <>
inline constexpr bool is_handle<CUmodule> = true;
template <>
inline constexpr bool is_handle<CUfunction> = true;
template <>
inline constexpr bool is_handle<CUlibrary> = true;
template <>
inline constexpr bool is_handle<CUkernel> = true;
template <>
inline constexpr bool is_handle<CUmemoryPool> = true;
template <>
inline constexpr bool is_handle<CUgraph> = true;
template <>
inline constexpr bool is_handle<CUgreenCtx> = true;
template <>
inline constexpr bool is_handle<CUlogsCallbackHandle> = true;

/// Memory for pointer arguments. Created once, because work in streams may use it until the reset.
struct Areas {
    static constexpr std::size_t slot_bytes = 512;
    static constexpr std::size_t slots = 1024;

    /// For copies. Pointers lead to the first quarter, so that there is room after them.
    alignas(64) std::byte host[256 * 1024];
    /// For texts that the driver writes.
    alignas(64) char text[64 * 1024];
    /// For typed arguments, one slot each.
    alignas(64) std::byte slot[slots][slot_bytes];
};

class World {
public:
    World(Source& source, Areas& areas) : source_(source), areas_(areas) {}

    /// Starts a new call, whose name determines what the arguments mean.
    void begin(std::string_view symbol);

    /// Makes an argument of the call.
    template <class Type>
    Type make();

    /// Records what a successful call returned through one of its arguments.
    template <class Type>
    void keep(Type argument);

    /// All handles of one type that were ever returned, including dead ones.
    template <class Handle>
    std::vector<Handle>& given() {
        return std::get<std::vector<Handle>>(given_);
    }
    std::vector<CUdeviceptr>& addresses() { return addresses_; }
    std::vector<void*>& host_addresses() { return host_addresses_; }
    [[nodiscard]] Source& source() noexcept { return source_; }

private:
    template <class Type>
    Type* slot() noexcept {
        return reinterpret_cast<Type*>(areas_.slot[next_slot_++ % Areas::slots]);
    }
    /// A slot with some numbers in it, sometimes null.
    void* filled_slot();
    void* any_handle(const std::vector<void*>& own);
    void* host_pointer();
    const void* image();
    const char* text();
    void** pointer_array();
    CUdeviceptr address();
    std::size_t size();
    std::uint32_t number();
    const CUlaunchConfig* launch_config();
    CUjit_option* jit_options();
    template <class Descriptor>
    const Descriptor* box();
    const CUmemPoolProps* pool_properties();

    Source& source_;
    Areas& areas_;
    std::string_view symbol_;
    std::size_t next_slot_ = 0;
    int arrays_ = 0;  ///< Pointer arrays made for the current call.
    std::vector<CUjit_option> options_;
    std::tuple<std::vector<CUcontext>, std::vector<CUstream>, std::vector<CUevent>,
               std::vector<CUmodule>, std::vector<CUfunction>, std::vector<CUlibrary>,
               std::vector<CUkernel>, std::vector<CUmemoryPool>, std::vector<CUgraph>,
               std::vector<CUgreenCtx>, std::vector<CUlogsCallbackHandle>>
        given_;
    std::vector<void*> every_handle_;
    std::vector<CUdeviceptr> addresses_;
    std::vector<void*> host_addresses_;
    bool makes_host_memory_ = false;
    bool gives_address_ = true;  ///< CUdeviceptr is also the type of plain numbers.
};

// Callbacks passed to calls.
void CUDA_CB do_nothing(void* user);
void CUDA_CB do_nothing_after(CUstream stream, CUresult status, void* user);
void CUDA_CB hear_nothing(void* user, CUlogLevel level, char* message, std::size_t length);
std::size_t CUDA_CB no_shared(int block);

template <class Type>
Type World::make() {
    using Pointed = std::remove_pointer_t<Type>;
    const bool none = std::is_pointer_v<Type> && !is_handle<Type> && source_.below(12) == 0;
    if constexpr (is_handle<Type>) {
        std::vector<void*> own(given<Type>().begin(), given<Type>().end());
        return static_cast<Type>(any_handle(own));
    } else if constexpr (std::is_same_v<Type, CUdeviceptr>) {
        // Plain numbers of type unsigned long long are the same type.
        return address();
    } else if constexpr (std::is_same_v<Type, std::size_t>) {
        return size();
    } else if constexpr (std::is_enum_v<Type> || std::is_integral_v<Type>) {
        return static_cast<Type>(number());
    } else if constexpr (std::is_same_v<Type, CUhostFn>) {
        return none ? nullptr : &do_nothing;
    } else if constexpr (std::is_same_v<Type, CUstreamCallback>) {
        return none ? nullptr : &do_nothing_after;
    } else if constexpr (std::is_same_v<Type, CUlogsCallback>) {
        return none ? nullptr : &hear_nothing;
    } else if constexpr (std::is_same_v<Type, CUoccupancyB2DSize>) {
        return source_.below(2) == 0 ? nullptr : &no_shared;
    } else if constexpr (!std::is_pointer_v<Type>) {
        Type value{};  // A structure passed by value: CUmemLocation.
        const Bytes bytes = source_.take_bytes(sizeof(value));
        std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    } else if (none) {
        return nullptr;
    } else if constexpr (std::is_same_v<Type, void*>) {
        return host_pointer();
    } else if constexpr (std::is_same_v<Type, const void*>) {
        return symbol_.find("Load") != std::string_view::npos ? image() : host_pointer();
    } else if constexpr (std::is_same_v<Type, const char*>) {
        return text();
    } else if constexpr (std::is_same_v<Type, char*>) {
        return areas_.text;
    } else if constexpr (std::is_same_v<Type, void**>) {
        return pointer_array();
    } else if constexpr (std::is_same_v<Type, CUjit_option*>) {
        return jit_options();
    } else if constexpr (std::is_same_v<Type, const CUlaunchConfig*>) {
        return launch_config();
    } else if constexpr (std::is_same_v<Type, const CUDA_MEMCPY2D*> ||
                         std::is_same_v<Type, const CUDA_MEMCPY3D*> ||
                         std::is_same_v<Type, const CUDA_MEMCPY3D_PEER*>) {
        return box<std::remove_const_t<Pointed>>();
    } else if constexpr (std::is_same_v<Type, const CUmemPoolProps*>) {
        return pool_properties();
    } else if constexpr (std::is_same_v<Type, CUctxCreateParams*>) {
        auto* const parameters = slot<CUctxCreateParams>();
        *parameters = {};
        parameters->numExecAffinityParams = static_cast<int>(source_.below(3));
        if (parameters->numExecAffinityParams > 0)
            parameters->execAffinityParams = static_cast<CUexecAffinityParam*>(filled_slot());
        return parameters;
    } else {
        static_assert(sizeof(std::conditional_t<std::is_void_v<Pointed>, char, Pointed*>) > 0);
        return static_cast<Type>(filled_slot());
    }
}

template <class Type>
void World::keep(Type argument) {
    if constexpr (std::is_same_v<Type, CUdeviceptr*>) {
        if (argument != nullptr && gives_address_) addresses_.push_back(*argument);
    } else if constexpr (std::is_same_v<Type, void**>) {
        if (argument == nullptr || !makes_host_memory_ || *argument == nullptr) return;
        host_addresses_.push_back(*argument);
        addresses_.push_back(reinterpret_cast<CUdeviceptr>(*argument));
    } else if constexpr (std::is_pointer_v<Type> &&
                         !std::is_function_v<std::remove_pointer_t<Type>>) {
        if constexpr (is_handle<std::remove_pointer_t<Type>> &&
                      !std::is_const_v<std::remove_pointer_t<Type>>) {
            if (argument == nullptr) return;
            given<std::remove_pointer_t<Type>>().push_back(*argument);
            every_handle_.push_back(*argument);
        }
    }
}

}  // namespace lode::fuzz
