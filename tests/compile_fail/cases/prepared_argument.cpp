// A prepared launch has as many arguments as its kernel has parameters.
// expect: the kernel has fewer parameters
#include <lode/lode.hpp>

lode::Status use(lode::PreparedLaunch<void(float, int)>& prepared) {
#ifdef LODE_BAD
    return prepared.set<2>(1);
#else
    return prepared.set<1>(1);
#endif
}
