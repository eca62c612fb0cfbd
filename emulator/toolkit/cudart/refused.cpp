// Functions that the stand-in for libcudart lacks.
#include "emulator/driver/control.h"

namespace {

constexpr int not_supported = 801;  // cudaErrorNotSupported

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
// In the C calling conventions of x86-64 and AArch64, the caller cleans up the arguments, so a
// function without parameters can replace any other.
#define LODE_REFUSED(name)           \
    int name() {                     \
        lode_emulator_refuse(#name); \
        return not_supported;        \
    }
#include "emulator/toolkit/cudart/refused.def"
#undef LODE_REFUSED
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
