// What each family of functions.txt is compiled after.
using uchar = unsigned char;
using schar = signed char;
using ushort = unsigned short;
using uint = unsigned;
using ulong = unsigned long;
using llong = long long;
using ullong = unsigned long long;

template <class T>
struct Pair {
    T x, y;
};

__device__ uint4 wide_cells[256];
__device__ int global_value;
__constant__ int constant_value = 9;

/// A thread's own 16 bytes of memory, zero.
__device__ uint4* wide_cell() {
    wide_cells[threadIdx.x] = uint4{};
    return wide_cells + threadIdx.x;
}

template <class T>
__device__ T* global_cell(T value) {
    T* const cell = reinterpret_cast<T*>(wide_cell());
    *cell = value;
    return cell;
}

template <class T>
__device__ T* shared_cell(T value) {
    __shared__ uint4 cells[256];
    T* const cell = reinterpret_cast<T*>(cells + threadIdx.x);
    *cell = value;
    return cell;
}

/// Ends a body with what an atomic operation on a cell, `p`, returns and leaves.
#define OLD_NEW(cell, ...)     \
    A* const p = cell;         \
    const A old = __VA_ARGS__; \
    return R { old, *p }

/// NVRTC doesn't know alloca. A macro, because the memory is its function's.
#define ALLOCA(pointer, bytes)                                                           \
    asm volatile("{ .reg .b64 at; alloca.u64 at, %1; cvta.local.u64 %0, at; }"           \
                 : "=l"(pointer)                                                         \
                 : "l"(static_cast<ullong>(bytes)))

template <class T>
__device__ uint4 loaded(T value) {
    uint4 bytes{};
    memcpy(&bytes, &value, sizeof(value));
    return bytes;
}

template <class T>
__device__ T* stored() {
    return reinterpret_cast<T*>(wide_cell());
}

/// Declares `p`, 16 bytes of a space that are all 0xee.
#define SPACE(name)                                               \
    __shared__ uint4 of_shared[256];                              \
    uint4 of_local;                                               \
    uint4* const p = #name[0] == 'g'   ? wide_cells + threadIdx.x \
                     : #name[0] == 's' ? of_shared + threadIdx.x  \
                                       : &of_local;               \
    *p = uint4{0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee, 0xeeeeeeee}

/// Declares a pointer into each space.
#define PLACES                                                   \
    __shared__ int of_shared;                                    \
    volatile int of_local = a;                                   \
    int* const global_place = &global_value;                     \
    int* const shared_place = &of_shared;                        \
    int* const local_place = const_cast<int*>(&of_local);        \
    int* const constant_place = const_cast<int*>(&constant_value); \
    int* const parameter_place = const_cast<int*>(&parameter);   \
    int* const null_place = nullptr;                             \
    int* const heap_place = static_cast<int*>(malloc(4));

struct Letters {
    __device__ constexpr Letters() {
        for (int k = 0; k < 5000; ++k) text[k] = static_cast<char>('a' + k % 26);
    }
    char text[5001] = {};
};
__device__ const Letters letters;
#define long_word letters.text

/// The body of a kernel that calls printf.
#define PRINT(...)                \
    int number = 7;               \
    char word[] = "local";        \
    out[0] = printf(__VA_ARGS__); \
    out[1] = number

/// What the kernel of a statement begins with.
#define STATEMENT         \
    int& number = out[0]; \
    number = 7;
