// cuGetExportTable: tables of functions that aren't documented, of which there are none here. NVRTC
// asks for one, and does without.
#include "base/os/library.hpp"
#include "emulator/driver/code/machine_code.hpp"
#include "emulator/driver/gate.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace lode::emulator::driver {
namespace {

/// The table that NVIDIA's runtime library asks for at last, and without which it gives up. That is
/// so in its releases 12.8 to 13.5.
constexpr unsigned char runtime_table[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                           0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

bool is_runtime_table(const CUuuid* id) noexcept {
    return id != nullptr && std::ranges::equal(runtime_table, id->bytes, {}, {}, [](char byte) {
               return static_cast<unsigned char>(byte);
           });
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

LODE_ENTRY cuGetExportTable(const void**, const CUuuid* pExportTableId) {
    const void* const caller = __builtin_return_address(0);
    return enter_early(__func__, [&]() -> CUresult {
        return is_runtime_table(pExportTableId) ? refuse_runtime(caller) : CUDA_ERROR_NOT_SUPPORTED;
    });
}

}  // namespace lode::emulator::driver
