__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float a;
    __device__ Square(float side) : a(side) {}
    __device__ float area() const override { return a * a; }
};
struct Circle : Shape {
    float r;
    __device__ Circle(float radius) : r(radius) {}
    __device__ float area() const override { return 3.0f * r * r; }
};
extern "C" __global__ void virtual_calls(float* out) {
    Square square(threadIdx.x);
    Circle circle(threadIdx.x);
    const Shape* shape = threadIdx.x % 2 ? (const Shape*)&square : (const Shape*)&circle;
    out[threadIdx.x] = shape->area();
}
typedef int (*Step)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ Step table[3] = {plus, times, minus};
extern "C" __global__ void pointers(int* out, int n) {
    int v = threadIdx.x;
    for (int k = 0; k < n; ++k) v = table[(threadIdx.x + k) % 3](v, k + 1);
    out[threadIdx.x] = v;
}
struct Wide {
    int a[6];
    double d;
    char c;
};
__device__ __noinline__ Wide turn(Wide w, int by) {
    for (int k = 0; k < 6; ++k) w.a[k] += by;
    w.d *= 2;
    w.c += 1;
    return w;
}
extern "C" __global__ void by_value(int* out) {
    Wide w = {{1, 2, 3, 4, 5, 6}, 0.5, 'a'};
    for (int k = 0; k < (int)(threadIdx.x % 4) + 1; ++k) w = turn(w, k);
    out[threadIdx.x] = w.a[threadIdx.x % 6] + (int)w.d + w.c;
}
extern "C" __global__ void local_array(const int* in, int* out) {
    int a[24];
    for (int k = 0; k < 24; ++k) a[k] = in[(threadIdx.x + k) % 32];
    for (int k = 1; k < 24; ++k) {
        int v = a[k], j = k - 1;
        for (; j >= 0 && a[j] > v; --j) a[j + 1] = a[j];
        a[j + 1] = v;
    }
    out[threadIdx.x] = a[threadIdx.x % 24];
}
extern "C" __global__ void heap(int** keep, int* out) {
    int* p = (int*)malloc((threadIdx.x + 1) * sizeof(int));
    for (int k = 0; k <= threadIdx.x; ++k) p[k] = k;
    int sum = 0;
    for (int k = 0; k <= threadIdx.x; ++k) sum += p[k];
    out[threadIdx.x] = sum;
    free(p);
}
