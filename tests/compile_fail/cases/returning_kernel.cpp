// A kernel returns nothing.
// expect: write the kernel's signature as Kernel<void(
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Signature = int(int);
#else
using Signature = void(int);
#endif
static_assert(sizeof(lode::Kernel<Signature>) > 0);
