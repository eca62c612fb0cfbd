template <class T>
__global__ void scale(T* to) {
    *to *= 2;
}
