// A Stream owns: it moves, and is viewed by StreamRef, but isn't copied.
// expect: use of deleted function
#include <lode/lode.hpp>

#include <utility>

void use(lode::Stream& stream) {
#ifdef LODE_BAD
    lode::Stream other(stream);
#else
    lode::Stream other(std::move(stream));
#endif
}
