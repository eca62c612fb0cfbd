// Compiled with -O3 in every build configuration.
#include "bench/emulator/natives.hpp"

namespace lode::bench {

void product(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < n; ++k) {
            for (int j = 0; j < n; ++j)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    }
}

}  // namespace lode::bench
