/* A program that uses VkFFT: transforms of several kinds, forward and back, compared with their
 * definition in double precision. `check` compares; without it the program only makes the plans and
 * runs them, which shows how long a start takes. */
#include <cuda.h>
#include <cuda_runtime.h>
#include <vkFFT.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_extents = 3 };

typedef struct transform {
    int extents[max_extents]; /* The first is contiguous; 0 if there is none. */
    int is_double;
    int is_real; /* Real to complex, in place: rows are padded to n / 2 + 1 complex numbers. */
} transform;

static const transform transforms[] = {
    {{8, 0, 0}, 0, 0},    {{64, 0, 0}, 0, 0},   {{100, 0, 0}, 0, 0},  {{1001, 0, 0}, 0, 0},
    {{47, 0, 0}, 0, 0},   {{229, 0, 0}, 0, 0},  {{4096, 0, 0}, 0, 0}, {{64, 0, 0}, 0, 1},
    {{360, 0, 0}, 0, 1},  {{256, 0, 0}, 1, 0},  {{210, 0, 0}, 1, 0},  {{48, 30, 0}, 0, 0},
    {{32, 16, 0}, 0, 1},  {{8, 12, 20}, 0, 0},  {{16, 6, 10}, 0, 1},  {{12, 10, 0}, 1, 0}};

static void need(int is_right, const char* what, int code) {
    if (is_right) return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

/* The transform's definition along one extent: n numbers of two doubles, `stride` apart. */
static void reference_along(double* values, int n, int stride, double* scratch) {
    const double step = -2 * acos(-1.0) / n;
    for (int k = 0; k < n; ++k) {
        double real = 0, imaginary = 0;
        for (int i = 0; i < n; ++i) {
            const double angle = step * (double)((long long)k * i % n);
            const double* x = values + 2 * (size_t)i * stride;
            real += x[0] * cos(angle) - x[1] * sin(angle);
            imaginary += x[0] * sin(angle) + x[1] * cos(angle);
        }
        scratch[2 * k] = real;
        scratch[2 * k + 1] = imaginary;
    }
    for (int k = 0; k < n; ++k) memcpy(values + 2 * (size_t)k * stride, scratch + 2 * k, 16);
}

static void reference(double* values, const transform* kind, int count) {
    double* scratch = malloc(16 * (size_t)count);
    for (int axis = 0, stride = 1; axis < max_extents && kind->extents[axis] != 0; ++axis) {
        const int n = kind->extents[axis];
        for (int start = 0; start < count; ++start)
            if (start / stride % n == 0)
                reference_along(values + 2 * (size_t)start, n, stride, scratch);
        stride *= n;
    }
    free(scratch);
}

static double get(const void* values, size_t i, int is_double) {
    return is_double ? ((const double*)values)[i] : ((const float*)values)[i];
}

/* The largest difference, relative to the largest value. */
static double difference(const void* given, const double* wanted, const transform* kind, int count,
                         int row, int shown, int parts) {
    double most = 0, largest = 0;
    for (int i = 0; i < count; ++i) {
        if (i % kind->extents[0] >= shown) continue;
        for (int part = 0; part < parts; ++part) {
            const size_t at =
                ((size_t)(i / kind->extents[0]) * row + i % kind->extents[0]) * parts + part;
            const double value = wanted[2 * i + part];
            largest = fmax(largest, fabs(value));
            most = fmax(most, fabs(get(given, at, kind->is_double) - value));
        }
    }
    return most / largest;
}

static int run(const transform* kind, CUdevice device, int is_checked) {
    const size_t number = kind->is_double ? sizeof(double) : sizeof(float);
    const int n = kind->extents[0];
    int count = 1, dimensions = 0;
    while (dimensions < max_extents && kind->extents[dimensions] != 0)
        count *= kind->extents[dimensions++];
    /* Complex numbers in a row and in all; a row of real input has twice as many numbers. */
    const int row = kind->is_real ? n / 2 + 1 : n;
    uint64_t bytes = 2 * number * (uint64_t)(count / n) * row;
    void* host = calloc(1, bytes);
    double* wanted = calloc(2 * (size_t)count, sizeof(double));
    for (int i = 0; i < count; ++i) {
        for (int part = 0; part < (kind->is_real ? 1 : 2); ++part) {
            const double value = ((i * 7919 + part * 104729) % 2001) / 1000.0 - 1;
            const size_t at = kind->is_real ? (size_t)(i / n) * 2 * row + i % n : 2 * (size_t)i + part;
            if (kind->is_double) ((double*)host)[at] = value;
            else ((float*)host)[at] = (float)value;
            wanted[2 * i + part] = kind->is_double ? value : (double)(float)value;
        }
    }

    void* memory = NULL;
    need(cudaMalloc(&memory, bytes) == cudaSuccess, "cudaMalloc", 0);
    need(cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy", 0);
    VkFFTConfiguration configuration;
    VkFFTApplication* app = calloc(1, sizeof *app);
    VkFFTLaunchParams launch;
    memset(&configuration, 0, sizeof configuration);
    memset(&launch, 0, sizeof launch);
    configuration.FFTdim = (uint64_t)dimensions;
    for (int i = 0; i < dimensions; ++i) configuration.size[i] = (uint64_t)kind->extents[i];
    configuration.device = &device;
    configuration.buffer = &memory;
    configuration.bufferSize = &bytes;
    configuration.doublePrecision = (uint64_t)kind->is_double;
    configuration.performR2C = (uint64_t)kind->is_real;
    configuration.normalize = 1;
    VkFFTResult result = initializeVkFFT(app, configuration);
    need(result == VKFFT_SUCCESS, "initializeVkFFT", result);
    launch.buffer = &memory;

    const double limit = kind->is_double ? 1e-14 : 3e-6;
    double forward = 0, back = 0;
    double* original = malloc(2 * (size_t)count * sizeof(double));
    memcpy(original, wanted, 2 * (size_t)count * sizeof(double));
    result = VkFFTAppend(app, -1, &launch);
    need(result == VKFFT_SUCCESS, "VkFFTAppend", result);
    need(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy", 1);
    if (is_checked) {
        reference(wanted, kind, count);
        forward = difference(host, wanted, kind, count, row, row, 2);
    }
    result = VkFFTAppend(app, 1, &launch);
    need(result == VKFFT_SUCCESS, "VkFFTAppend back", result);
    need(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy", 2);
    if (is_checked)
        back = difference(host, original, kind, count, kind->is_real ? 2 * row : row, n,
                          kind->is_real ? 1 : 2);
    deleteVkFFT(app);
    cudaFree(memory);
    const int is_right = forward <= limit && back <= limit;
    if (is_checked)
        printf("%d x %d x %d%s%s: %.2e forward, %.2e back%s\n", n, kind->extents[1],
               kind->extents[2], kind->is_double ? ", double" : "", kind->is_real ? ", real" : "",
               forward, back, is_right ? "" : ": WRONG");
    free(app);
    free(original);
    free(wanted);
    free(host);
    return is_right;
}

int main(int argc, char** argv) {
    const int is_checked = argc > 1 && strcmp(argv[1], "check") == 0;
    const int count = sizeof transforms / sizeof *transforms;
    int right = 0;
    CUdevice device;
    need(cuInit(0) == CUDA_SUCCESS, "cuInit", 0);
    need(cuDeviceGet(&device, 0) == CUDA_SUCCESS, "cuDeviceGet", 0);
    need(cudaSetDevice(0) == cudaSuccess, "cudaSetDevice", 0);
    for (int i = 0; i < count; ++i) right += run(&transforms[i], device, is_checked);
    printf("%d of %d transforms\n", right, count);
    return right == count ? 0 : 1;
}
