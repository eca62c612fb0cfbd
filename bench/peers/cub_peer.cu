// CUB's algorithms, called through the C interface of cub_peer.h.
#include "cub_peer.h"

#include <climits>
#include <cstring>

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cub/version.cuh>

namespace {

constexpr int missing = -1;

struct IsAboveZero {
    template <class T>
    __host__ __device__ bool operator()(const T& value) const {
        return value > T{0};
    }
};

/// A call and where it runs.
struct Work {
    const lode_cub_call& call;
    void* scratch;
    size_t& bytes;
    cudaStream_t stream;

    [[nodiscard]] bool is(const char* algorithm) const {
        return std::strcmp(call.algorithm, algorithm) == 0;
    }
    [[nodiscard]] int n() const { return static_cast<int>(call.n); }
    template <class T>
    [[nodiscard]] const T* in() const {
        return static_cast<const T*>(call.in);
    }
    template <class T>
    [[nodiscard]] T* out() const {
        return static_cast<T*>(call.out);
    }
};

/// Sums. Integers are unsigned, because those of signed ones may not wrap.
template <class T>
int sums(const Work& work) {
    if (work.is("reduce"))
        return cub::DeviceReduce::Sum(work.scratch, work.bytes, work.in<T>(), work.out<T>(),
                                      work.n(), work.stream);
    if (work.is("scan"))
        return cub::DeviceScan::InclusiveSum(work.scratch, work.bytes, work.in<T>(), work.out<T>(),
                                             work.n(), work.stream);
    return missing;
}

template <class T>
int orders(const Work& work) {
    const auto& call = work.call;
    if (work.is("histogram"))
        return cub::DeviceHistogram::HistogramEven(work.scratch, work.bytes, work.in<T>(),
                                                   work.out<unsigned>(), call.bins + 1, T{0},
                                                   static_cast<T>(call.bins), work.n(), work.stream);
    if (work.is("sort_keys"))
        return cub::DeviceRadixSort::SortKeys(work.scratch, work.bytes, work.in<T>(), work.out<T>(),
                                              work.n(), 0, static_cast<int>(sizeof(T)) * CHAR_BIT,
                                              work.stream);
    if (work.is("sort_pairs"))
        return cub::DeviceRadixSort::SortPairs(
            work.scratch, work.bytes, work.in<T>(), work.out<T>(),
            static_cast<const unsigned*>(call.in_values), static_cast<unsigned*>(call.out_values),
            work.n(), 0, static_cast<int>(sizeof(T)) * CHAR_BIT, work.stream);
    auto* const count = static_cast<unsigned*>(call.count);
    if (work.is("select"))
        return cub::DeviceSelect::If(work.scratch, work.bytes, work.in<T>(), work.out<T>(), count,
                                     work.n(), IsAboveZero{}, work.stream);
    if (work.is("partition"))
        return cub::DevicePartition::If(work.scratch, work.bytes, work.in<T>(), work.out<T>(), count,
                                        work.n(), IsAboveZero{}, work.stream);
    return missing;
}

}  // namespace

extern "C" int lode_cub_peer(const lode_cub_call* call, void* scratch, size_t* scratch_bytes,
                             void* stream) {
    if (call->n > INT_MAX) return missing;
    const Work work{*call, scratch, *scratch_bytes, static_cast<cudaStream_t>(stream)};
    const bool is_sum = work.is("reduce") || work.is("scan");
    const auto type_is = [&](const char* type) { return std::strcmp(call->type, type) == 0; };
    if (type_is("int32")) return is_sum ? sums<unsigned>(work) : orders<int>(work);
    if (type_is("float")) return is_sum ? sums<float>(work) : orders<float>(work);
    if (type_is("int64"))
        return is_sum ? sums<unsigned long long>(work) : orders<long long>(work);
    if (type_is("double")) return is_sum ? sums<double>(work) : missing;
    return missing;
}

extern "C" int lode_cub_version(void) {
    return CUB_VERSION;
}
