// cuGetExportTable: tables of functions that aren't documented. cuBLAS and cuFFT need four
// functions of two tables, which are there; NVRTC asks for a third table, and does without.
#include "base/os/library.hpp"
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/gate.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

using TableName = std::array<unsigned char, sizeof(CUuuid)>;

/// The table that NVIDIA's runtime library asks for at last, and without which it gives up. That is
/// so in its releases 12.8 to 13.5.
constexpr TableName runtime_table = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                     0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
constexpr TableName thread_table = {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47,
                                    0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc};
constexpr TableName object_table = {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                    0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2};
constexpr TableName kernel_table = {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d,
                                    0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e};

// What libraries call is known from their calls: the arguments, and what becomes of the results.

CUresult unknown_function() noexcept {
    return gate::refuse("an undocumented function of cuGetExportTable's");
}

CUresult current_context(CUcontext* context) noexcept {
    return cuCtxGetCurrent(context);
}

CUresult context_id(CUcontext context, unsigned long long* id) noexcept {
    return cuCtxGetId(context, id);
}

/// `stream` is what `stream_of` has found.
CUresult stream_id(CUcontext, CUstream stream, unsigned long long* id) noexcept {
    return cuStreamGetId(stream, id);
}

/// The stream that a handle means, which may be null.
CUresult stream_of(CUcontext, CUstream handle, CUstream* found, int null_is_per_thread) noexcept {
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *found = handle;
    if (handle == nullptr)
        *found = null_is_per_thread != 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    return CUDA_SUCCESS;
}

/// A table: its size in bytes, then addresses of functions.
template <std::size_t size>
class Table {
public:
    Table() noexcept {
        entries_.fill(reinterpret_cast<void*>(&unknown_function));
        entries_[0] = reinterpret_cast<void*>(sizeof(entries_));
    }
    template <class Function>
    Table& with(std::size_t index, Function* function) noexcept {
        entries_[index] = reinterpret_cast<void*>(function);
        return *this;
    }
    [[nodiscard]] const void* address() const noexcept { return entries_.data(); }

private:
    std::array<void*, size> entries_;
};

/// Null if there is no such table.
const void* find_table(const TableName& name) noexcept {
    static const auto of_threads = Table<3>().with(2, current_context);
    static const auto of_objects =
        Table<52>().with(4, context_id).with(39, stream_id).with(51, stream_of);
    static const Table<1> of_kernels;
    if (name == thread_table) return of_threads.address();
    if (name == kernel_table) return of_kernels.address();
    return name == object_table ? of_objects.address() : nullptr;
}

/// `caller`: an address in the code of the library.
CUresult refuse_runtime(const void* caller) {
    const std::string path = os::path_at(caller).string();
    const bool is_program = path.empty() || os::is_in_program(caller);
    const std::string cure =
        machine_code::is_packaged(path)
            ? "This Python package can't run here, unless it is built anew with nvcc's --cudart "
              "shared."
            : fmt::format("Don't strip {}, or build it with nvcc's --cudart shared.",
                          is_program ? "the program" : "that library");
    return gate::refuse_once(
        fmt::format("NVIDIA's CUDA runtime library, which is linked statically into {}, asks for "
                    "functions of the driver that aren't documented, so the software device "
                    "doesn't have them. `lode emulate` replaces that library on x86-64: in files "
                    "with symbols, and in stripped ones if it is of CUDA 12.4 up to 13.5. {}",
                    is_program ? "the program" : path, cure),
        journal::Kind::unusable);
}

}  // namespace

LODE_ENTRY cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
    const void* const caller = __builtin_return_address(0);
    return enter_early(__func__, [&]() -> CUresult {
        if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const auto name = std::bit_cast<TableName>(*pExportTableId);
        if (name == runtime_table) return refuse_runtime(caller);
        const void* const table = find_table(name);
        if (table == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
        *ppExportTable = table;
        return CUDA_SUCCESS;
    });
}

}  // namespace lode::emulator::driver
