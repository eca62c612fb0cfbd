// The kernels' algorithms in plain single-threaded C++, compiled with -O2.
#pragma once

#include <cstddef>

namespace lode::bench {

void saxpy(float a, const float* x, float* y, int n);
void scale4(const float* in, float* out, float s, int n);
int sum(const int* in, int n);
float sum(const float* in, int n);
void scan(const int* in, int* out, int n, int block);
void histogram(const unsigned char* in, unsigned* bins, int n);
void transpose(const float* in, float* out, int width, int height);
void matmul(const float* a, const float* b, float* c, int n);
void stencil5(const float* in, float* out, int width, int height);
void stencil3(const float* in, float* out, int n);
void life(const unsigned char* in, unsigned char* out, int width, int height);
void nbody(const float* body, float* force, int n);
void black_scholes(const float* spot, const float* strike, const float* years, float* call,
                   float* put, float rate, float vol, int n);
void mandelbrot(int* out, int width, int height, int limit);
void collatz(const unsigned* start, unsigned* steps, int n);
void sort_blocks(int* data, int n, int block);
void softmax(const float* in, float* out, int width, int rows);
void crc32(const unsigned char* in, unsigned* out, int length, int count);
void lower_bounds(const int* sorted, int n, const int* key, int* at, int keys);

/// c += a * b
void product(const float* a, const float* b, float* c, int n);

// With vectors, as clients' own code for processors; n is a multiple of 32.
void product_of_vectors(const float* a, const float* b, float* c, int n);
void forces_of_vectors(const float* particle, float* force, int n, float limit);

/// The speed of `count` threads of plain C++ that use hardly any memory over that of one thread.
double speed_of_threads(unsigned count);

}  // namespace lode::bench
