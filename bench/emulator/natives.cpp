#include "bench/emulator/natives.hpp"

#include <algorithm>
#include <cmath>

namespace lode::bench {

void saxpy(float a, const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i)
        y[i] = a * x[i] + y[i];
}
void scale4(const float* in, float* out, float s, int n) {
    for (int i = 0; i < 4 * n; ++i)
        out[i] = in[i] * s;
}
int sum(const int* in, int n) {
    int total = 0;
    for (int i = 0; i < n; ++i)
        total += in[i];
    return total;
}
float sum(const float* in, int n) {
    float total = 0;
    for (int i = 0; i < n; ++i)
        total += in[i];
    return total;
}
void scan(const int* in, int* out, int n, int block) {
    int total = 0;
    for (int i = 0; i < n; ++i) {
        if (i % block == 0) total = 0;
        total += in[i];
        out[i] = total;
    }
}
void histogram(const unsigned char* in, unsigned* bins, int n) {
    for (int i = 0; i < n; ++i)
        ++bins[in[i]];
}
void transpose(const float* in, float* out, int width, int height) {
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x)
            out[x * height + y] = in[y * width + x];
    }
}
void matmul(const float* a, const float* b, float* c, int n) {
    std::fill(c, c + n * n, 0.0f);
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < n; ++k) {
            for (int j = 0; j < n; ++j)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    }
}
void stencil5(const float* in, float* out, int width, int height) {
    for (int y = 1; y < height - 1; ++y) {
        for (int x = 1; x < width - 1; ++x) {
            const int i = y * width + x;
            out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        }
    }
}
void stencil3(const float* in, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        const float left = i > 0 ? in[i - 1] : 0;
        const float right = i + 1 < n ? in[i + 1] : 0;
        out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
    }
}
void life(const unsigned char* in, unsigned char* out, int width, int height) {
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            int total = 0;
            for (int dy = -1; dy <= 1; ++dy) {
                for (int dx = -1; dx <= 1; ++dx) {
                    const int nx = (x + dx + width) % width;
                    const int ny = (y + dy + height) % height;
                    total += in[ny * width + nx];
                }
            }
            total -= in[y * width + x];
            out[y * width + x] = total == 3 || (total == 2 && in[y * width + x] != 0) ? 1 : 0;
        }
    }
}
void nbody(const float* body, float* force, int n) {
    for (int i = 0; i < n; ++i) {
        float fx = 0;
        float fy = 0;
        float fz = 0;
        for (int j = 0; j < n; ++j) {
            const float dx = body[4 * j] - body[4 * i];
            const float dy = body[4 * j + 1] - body[4 * i + 1];
            const float dz = body[4 * j + 2] - body[4 * i + 2];
            const float d2 = dx * dx + dy * dy + dz * dz + 0.01f;
            const float inv = 1.0f / std::sqrt(d2);
            const float s = body[4 * j + 3] * inv * inv * inv;
            fx += dx * s;
            fy += dy * s;
            fz += dz * s;
        }
        force[4 * i] = fx;
        force[4 * i + 1] = fy;
        force[4 * i + 2] = fz;
    }
}
namespace {
float cdf(float d) {
    return 0.5f * std::erfc(-d * 0.70710678f);
}
}  // namespace
void black_scholes(const float* spot, const float* strike, const float* years, float* call,
                   float* put, float rate, float vol, int n) {
    for (int i = 0; i < n; ++i) {
        const float root = std::sqrt(years[i]);
        const float d1 =
            (std::log(spot[i] / strike[i]) + (rate + 0.5f * vol * vol) * years[i]) / (vol * root);
        const float d2 = d1 - vol * root;
        const float discount = std::exp(-rate * years[i]);
        call[i] = spot[i] * cdf(d1) - strike[i] * discount * cdf(d2);
        put[i] = strike[i] * discount * cdf(-d2) - spot[i] * cdf(-d1);
    }
}
void mandelbrot(int* out, int width, int height, int limit) {
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const float cr = -2.0f + 3.0f * static_cast<float>(x) / static_cast<float>(width);
            const float ci = -1.5f + 3.0f * static_cast<float>(y) / static_cast<float>(height);
            float zr = 0;
            float zi = 0;
            int k = 0;
            for (; k < limit && zr * zr + zi * zi < 4.0f; ++k) {
                const float t = zr * zr - zi * zi + cr;
                zi = 2.0f * zr * zi + ci;
                zr = t;
            }
            out[y * width + x] = k;
        }
    }
}
void collatz(const unsigned* start, unsigned* steps, int n) {
    for (int i = 0; i < n; ++i) {
        unsigned long long v = start[i];
        unsigned k = 0;
        for (; v != 1; ++k)
            v = v % 2 == 0 ? v / 2 : 3 * v + 1;
        steps[i] = k;
    }
}
void sort_blocks(int* data, int n, int block) {
    for (int i = 0; i < n; i += block)
        std::sort(data + i, data + i + block);
}
void softmax(const float* in, float* out, int width, int rows) {
    for (int r = 0; r < rows; ++r) {
        const float* row = in + r * width;
        const float top = *std::max_element(row, row + width);
        float total = 0;
        for (int k = 0; k < width; ++k)
            total += std::exp(row[k] - top);
        for (int k = 0; k < width; ++k)
            out[r * width + k] = std::exp(row[k] - top) / total;
    }
}
void crc32(const unsigned char* in, unsigned* out, int length, int count) {
    for (int i = 0; i < count; ++i) {
        unsigned crc = ~0u;
        for (int k = 0; k < length; ++k) {
            crc ^= in[i * length + k];
            for (int b = 0; b < 8; ++b)
                crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1)));
        }
        out[i] = ~crc;
    }
}
void lower_bounds(const int* sorted, int n, const int* key, int* at, int keys) {
    for (int i = 0; i < keys; ++i) {
        at[i] = static_cast<int>(std::lower_bound(sorted, sorted + n, key[i]) - sorted);
    }
}

}  // namespace lode::bench
