#include "count.cuh"

template <class T>
__global__ void scale(T* to) {
    *to *= sizeof(text);
}

extern "C" __global__ void total(const int* from, int* to) {
    for (int i = 0; i < count; ++i)
        *to += from[i];
}
