// The signature names the kernel's own parameter types: T*, not the buffer that is passed for it.
// expect: write T* in the kernel's signature
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Signature = void(const lode::DeviceBuffer<float>&);
#else
using Signature = void(const float*);
#endif
static_assert(sizeof(lode::Kernel<Signature>) > 0);
