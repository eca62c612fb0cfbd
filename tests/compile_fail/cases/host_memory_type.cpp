// Device memory holds bytes: no element type with a life of its own.
// expect: T must be trivially copyable
#include <lode/lode.hpp>

#include <string>

#ifdef LODE_BAD
using Element = std::string;
#else
using Element = float;
#endif
static_assert(sizeof(lode::DeviceBuffer<Element>) > 0);
