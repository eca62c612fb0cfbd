// Stubs for unsupported driver entry points; each returns CUDA_ERROR_NOT_SUPPORTED and logs its
// name once.
#include "emulator/driver/unsupported.hpp"

#include "emulator/driver/code/symbols.hpp"

namespace {

/// CUDBG_ERROR_INITIALIZATION_FAILURE: a debugger then leaves CUDA alone.
constexpr int cudbg_error_initialization_failure = 0x14;

}  // namespace

// In the C calling conventions of x86-64 and AArch64, the caller cleans up the arguments, so a
// function without parameters can replace any other.
extern "C" {
#define LODE_UNSUPPORTED(name, version, stream, symbol)             \
    __attribute__((visibility("default"))) int symbol() {           \
        return lode::emulator::driver::answer_unsupported(#symbol); \
    }
#define LODE_DEBUGGER(name, version, stream, symbol)      \
    __attribute__((visibility("default"))) int symbol() { \
        return cudbg_error_initialization_failure;        \
    }
#include "emulator/driver/unsupported.def"
#undef LODE_UNSUPPORTED
}

namespace lode::emulator::driver::symbols {
namespace {

const Row table[] = {
#define LODE_UNSUPPORTED(name, version, stream, symbol) \
    Row{#name, version, DefaultStream::stream, reinterpret_cast<void*>(&::symbol)},
#include "emulator/driver/unsupported.def"
#undef LODE_UNSUPPORTED
};

}  // namespace

std::span<const Row> unsupported() noexcept {
    return table;
}

}  // namespace lode::emulator::driver::symbols
