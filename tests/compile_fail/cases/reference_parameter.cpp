// A kernel can't take a reference: the host's address means nothing on the device.
// expect: a kernel parameter can't be a reference
#include <lode/lode.hpp>

#ifdef LODE_BAD
using Signature = void(int&);
#else
using Signature = void(int*);
#endif
static_assert(sizeof(lode::Kernel<Signature>) > 0);
