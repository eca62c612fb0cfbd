// A function's Result can't be dropped by accident.
// expect: ignoring return value
#include <lode/lode.hpp>

void use() {
#ifdef LODE_BAD
    lode::Arch::parse("sm_90");
#else
    (void)lode::Arch::parse("sm_90");
#endif
}
