// A kernel can't take what isn't copied byte by byte.
// expect: a kernel parameter must be trivially copyable
#include <lode/lode.hpp>

#include <string>

struct Plain {
    char text[16];
};

#ifdef LODE_BAD
using Signature = void(std::string);
#else
using Signature = void(Plain);
#endif
static_assert(sizeof(lode::Kernel<Signature>) > 0);
