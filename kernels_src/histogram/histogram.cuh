// The pass over the values that every row of the histogram shares.
#pragma once

namespace {

constexpr unsigned threads = 512;

/// Calls count(value) for this thread's share, with two 16-byte loads in flight.
template <class Count>
__device__ void for_share(const unsigned* __restrict__ values, unsigned long long n, Count count) {
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * threads;
    const unsigned long long first =
        blockIdx.x * static_cast<unsigned long long>(threads) + threadIdx.x;
    const unsigned long long vectors =
        reinterpret_cast<unsigned long long>(values) % 16 == 0 ? n / 4 : 0;
    const auto* const wide = reinterpret_cast<const uint4*>(values);
    const auto count_four = [&](const uint4& four) {
        count(four.x);
        count(four.y);
        count(four.z);
        count(four.w);
    };
    unsigned long long i = first;
    for (; i + step < vectors; i += 2 * step) {
        const uint4 a = wide[i];
        const uint4 b = wide[i + step];
        count_four(a);
        count_four(b);
    }
    for (; i < vectors; i += step)
        count_four(wide[i]);
    for (i = vectors * 4 + first; i < n; i += step)
        count(values[i]);
}

}  // namespace
