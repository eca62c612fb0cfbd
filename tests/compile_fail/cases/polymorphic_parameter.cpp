// A kernel can't take an object with virtual functions.
// expect: a kernel parameter can't have virtual functions
#include <lode/lode.hpp>

#ifdef LODE_BAD
struct Shape {
    virtual float area() const { return side * side; }
    float side;
};
#else
struct Shape {
    float area() const { return side * side; }
    float side;
};
#endif
static_assert(sizeof(lode::Kernel<void(Shape)>) > 0);
