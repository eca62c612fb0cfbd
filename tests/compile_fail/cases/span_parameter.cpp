// The signature names the kernel's own parameter types: T*, not the span that is passed for it.
// expect: write T* in the kernel's signature
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Signature = void(lode::DeviceSpan<float>);
#else
using Signature = void(float*);
#endif
static_assert(sizeof(lode::Kernel<Signature>) > 0);
