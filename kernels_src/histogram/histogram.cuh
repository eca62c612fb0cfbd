// The loop over the values, shared by all rows of the histogram.
#pragma once

namespace {

/// Calls count(value) for this thread's share of the values of block `index` of `blocks`, with
/// `loads` 16-byte loads in flight.
template <unsigned loads, class Count>
__device__ void for_share(const unsigned* __restrict__ values, unsigned long long n, unsigned index,
                          unsigned blocks, Count count) {
    const unsigned long long step = static_cast<unsigned long long>(blocks) * blockDim.x;
    const unsigned long long first =
        index * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
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
    for (; i + (loads - 1) * step < vectors; i += loads * step) {
        uint4 fours[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            fours[j] = wide[i + j * step];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j)
            count_four(fours[j]);
    }
    for (; i < vectors; i += step)
        count_four(wide[i]);
    for (i = vectors * 4 + first; i < n; i += step)
        count(values[i]);
}

}  // namespace
