// What clients' own code for processors does: compiled with -O3 for processors with AVX2, like the
// code that they make at run time.
#include "bench/emulator/natives.hpp"

#include <cmath>

namespace lode::bench {

namespace {

constexpr int width = 8;
using Vector = float __attribute__((vector_size(width * sizeof(float)), aligned(4)));

}  // namespace

void product_of_vectors(const float* a, const float* b, float* c, int n) {
    constexpr int rows = 4;
    constexpr int columns = 2;  // In vectors.
    for (int y = 0; y < n; y += rows) {
        for (int x = 0; x < n; x += columns * width) {
            Vector sum[rows][columns] = {};
            for (int k = 0; k < n; ++k) {
                const auto* const from = reinterpret_cast<const Vector*>(b + k * n + x);
                for (int i = 0; i < rows; ++i) {
                    for (int j = 0; j < columns; ++j)
                        sum[i][j] += a[(y + i) * n + k] * from[j];
                }
            }
            for (int i = 0; i < rows; ++i) {
                for (int j = 0; j < columns; ++j)
                    reinterpret_cast<Vector*>(c + (y + i) * n + x)[j] = sum[i][j];
            }
        }
    }
}

void forces_of_vectors(const float* particle, float* force, int n, float limit) {
    constexpr int many = 32;
    for (int first = 0; first < n; first += many) {
        float me[4][many];
        float sum[3][many] = {};
        for (int i = 0; i < many; ++i) {
            for (int k = 0; k < 4; ++k)
                me[k][i] = particle[4 * (first + i) + k];
        }
        for (int at = 0; at < n; ++at) {
            const float* const other = particle + std::ptrdiff_t{4} * at;
            for (int i = 0; i < many; ++i) {
                const float x = other[0] - me[0][i];
                const float y = other[1] - me[1][i];
                const float z = other[2] - me[2][i];
                const float square = x * x + y * y + z * z;
                const bool near = (square < limit) & (at != first + i);
                const float inverse2 = 1 / square;
                const float inverse = std::sqrt(inverse2);
                const float sixth = inverse2 * inverse2 * inverse2;
                const float pull =
                    (sixth * (12 * sixth - 6) + me[3][i] * other[3] * inverse) * inverse2;
                const float taken = near ? pull : 0;
                sum[0][i] -= x * taken;
                sum[1][i] -= y * taken;
                sum[2][i] -= z * taken;
            }
        }
        for (int i = 0; i < many; ++i) {
            for (int k = 0; k < 4; ++k)
                force[4 * (first + i) + k] = k < 3 ? sum[k][i] : 0;
        }
    }
}

}  // namespace lode::bench
