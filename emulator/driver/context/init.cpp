// cuInit, cuDriverGetVersion, cuGetProcAddress.
#include "base/ptx_releases.hpp"
#include "emulator/decode/ptx/ast.hpp"
#include "emulator/driver/code/symbols.hpp"
#include "emulator/driver/control.h"
#include "emulator/driver/driver.hpp"
#include "emulator/driver/gate.hpp"
#include "emulator/driver/version.hpp"

#include <algorithm>
#include <iterator>

namespace lode::emulator::driver {
namespace {

std::atomic<int> version_override{0};

CUresult find_entry(const char* symbol, void** address, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) noexcept {
    constexpr cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (symbol == nullptr || address == nullptr || (flags & ~known) != 0 || flags == known ||
        version > reported_version())
        return CUDA_ERROR_INVALID_VALUE;
    const auto stream = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0
                            ? DefaultStream::per_thread
                            : DefaultStream::legacy;
    const symbols::Found found = symbols::find(symbol, version, stream);
    *address = found.address;
    const auto outcome = found.address != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
                         : found.name_known       ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                                  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (status != nullptr) *status = outcome;
    return outcome == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

int reported_version() noexcept {
    const int version = version_override;
    return version == 0 ? own_driver_version : version;
}

int newest_ptx() noexcept {
    const auto above =
        std::ranges::upper_bound(ptx_releases, reported_version(), {}, &PtxRelease::cuda_version);
    const PtxVersion newest =
        above == std::begin(ptx_releases) ? PtxVersion{} : std::prev(above)->ptx;
    // What is newer is read, too, as far as the grammar has it.
    return std::min(100 * newest.version_major + newest.version_minor, ptx::own_version);
}

void override_version(int version) noexcept {
    version_override = version;
}

LODE_ENTRY cuInit(unsigned int Flags) {
    return enter_early(__func__, [&]() -> CUresult {
        if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
        if (gate::forked()) return CUDA_ERROR_NOT_INITIALIZED;
        return driver().initialise();
    });
}

LODE_ENTRY cuDriverGetVersion(int* driverVersion) {
    return enter_early(__func__, [&]() -> CUresult {
        if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *driverVersion = reported_version();
        return CUDA_SUCCESS;
    });
}

LODE_ENTRY cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
    return find_entry(symbol, pfn, cudaVersion, flags, nullptr);
}

LODE_ENTRY cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                               CUdriverProcAddressQueryResult* symbolStatus) {
    return find_entry(symbol, pfn, cudaVersion, flags, symbolStatus);
}

}  // namespace lode::emulator::driver
