// Clusters: special registers, shared memory of other blocks, barriers, asynchronous stores and
// copies between blocks. The host computes every result.
#include "tests/gpu/support.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

#define LODE_NEEDS_CLUSTERS(device) \
    LODE_NEEDS_DEVICE(device, 0);   \
    LODE_NEEDS((device).properties().cluster_launch, "the device has no clusters")

using Words = std::vector<unsigned>;

Words run(const Device& device, const char* source, const LaunchShape& shape, std::size_t results,
          const Words& given) {
    const auto kernel = load<void(unsigned*, const unsigned*)>(device, source);
    const auto stream = require(device.create_stream());
    auto out = require(device.alloc<unsigned>(results));
    require(out.zero());
    const auto in = require(device.upload(given));
    require(kernel.launch(stream, shape, out, in));
    require(stream.sync());
    return require(out.to_vector());
}

constexpr const char* identities = R"(
extern "C" __global__ void k(unsigned* out, const unsigned*) {
    unsigned v[15];
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[0]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[1]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(v[2]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[3]));
    asm("mov.u32 %0, %%nclusterid.y;" : "=r"(v[4]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(v[5]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[6]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[7]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(v[8]));
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[9]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[10]));
    asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(v[11]));
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[12]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[13]));
    asm("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(v[14]));
    if (threadIdx.x != 31) return;
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    for (unsigned i = 0; i < 15; ++i) out[block * 15 + i] = v[i];
})";

Words expected_identities(Dim3 grid, Dim3 cluster, unsigned is_explicit) {
    Words all;
    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                const Dim3 in{x % cluster.x, y % cluster.y, z % cluster.z};
                const unsigned rank = (in.z * cluster.y + in.y) * cluster.x + in.x;
                for (const unsigned value :
                     {x / cluster.x, y / cluster.y, z / cluster.z, grid.x / cluster.x,
                      grid.y / cluster.y, grid.z / cluster.z, in.x, in.y, in.z, cluster.x,
                      cluster.y, cluster.z, rank, cluster.x * cluster.y * cluster.z, is_explicit})
                    all.push_back(value);
            }
        }
    }
    return all;
}

// Every block reads and updates the memory of the next one with accesses of all widths, through
// generic addresses and, below, through addresses of .shared::cluster.
constexpr const char* neighbours = R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned* out, const unsigned* in) {
    __shared__ uint4 room[64];
    __shared__ unsigned counter, least, swapped;
    __shared__ unsigned long long wide;
    auto* words = reinterpret_cast<unsigned*>(room);
    const auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), count = cluster.num_blocks(), t = threadIdx.x;
    const unsigned block = blockIdx.x;
    for (unsigned i = t; i < 256; i += blockDim.x) words[i] = in[i] + rank;
    if (t == 0) { counter = 0; least = 1000; swapped = 7 + rank; wide = 0; }
    cluster.sync();
    const unsigned next = (rank + 1) % count;
    const auto* theirs = cluster.map_shared_rank(room, next);
    const uint4 q = theirs[t];
    const auto* bytes = reinterpret_cast<const unsigned char*>(theirs);
    const auto* halves = reinterpret_cast<const unsigned short*>(theirs);
    const auto* pairs = reinterpret_cast<const unsigned long long*>(theirs);
    unsigned sum = q.x + 3 * q.y + 5 * q.z + 7 * q.w + bytes[t] + halves[t] +
                   static_cast<unsigned>(pairs[t] >> 16);
    unsigned address, there, direct, owner;
    asm("{.reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a;}" : "=r"(address) : "l"(words + t));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(next));
    asm volatile("ld.shared::cluster.u32 %0, [%1+4];" : "=r"(direct) : "r"(there));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(there));
    sum = sum * 31 + direct * 17 + owner + cluster.query_shared_rank(theirs) * 100;
    sum += __isShared(words) * 1000;
    atomicAdd(cluster.map_shared_rank(&counter, next), t);
    atomicMin(cluster.map_shared_rank(&least, next), t + rank);
    atomicAdd(cluster.map_shared_rank(&wide, next), 1ull << 33);
    unsigned there_counter;
    asm("{.reg .u64 a; cvta.to.shared::cluster.u64 a, %1; cvt.u32.u64 %0, a;}"
        : "=r"(there_counter) : "l"(cluster.map_shared_rank(&counter, next)));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" :: "r"(there_counter), "r"(2));
    if (t == 5) sum += atomicExch(cluster.map_shared_rank(&swapped, next), 99u) * 65536;
    cluster.sync();
    cluster.map_shared_rank(words, next)[t] = sum;  // Words that nobody reads any more.
    cluster.sync();
    out[block * 70 + t] = words[t];
    if (t == 0) {
        out[block * 70 + 64] = counter;
        out[block * 70 + 65] = least;
        out[block * 70 + 66] = swapped;
        out[block * 70 + 67] = static_cast<unsigned>(wide >> 33);
        out[block * 70 + 68] = cluster.map_shared_rank(words, rank) == words;
        out[block * 70 + 69] = rank;
    }
})";

Words expected_neighbours(const Words& in, unsigned blocks, unsigned count) {
    Words all;
    for (unsigned block = 0; block < blocks; ++block) {
        const unsigned rank = block % count;
        const unsigned before = (rank + count - 1) % count;  // The block that wrote this one.
        const auto word = [&](unsigned i) { return in[i] + rank; };
        for (unsigned t = 0; t < 64; ++t) {
            const unsigned byte = word(t / 4) >> (8 * (t % 4)) & 0xff;
            const unsigned half = word(t / 2) >> (16 * (t % 2)) & 0xffff;
            const unsigned pair = word(2 * t) >> 16 | word(2 * t + 1) << 16;
            unsigned sum = word(4 * t) + 3 * word(4 * t + 1) + 5 * word(4 * t + 2) +
                           7 * word(4 * t + 3) + byte + half + pair;
            sum = sum * 31 + word(t + 1) * 17 + rank + rank * 100 + 1000;
            if (t == 5) sum += (7 + rank) * 65536;
            all.push_back(sum);
        }
        for (const unsigned value : {64 * 63 / 2 + 64 * 2u, before, 99u, 64u, 1u, rank})
            all.push_back(value);
    }
    return all;
}

// A barrier in two halves, many times: each block adds what the others have published.
constexpr const char* halves = R"(
extern "C" __global__ void k(unsigned* out, const unsigned* in) {
    __shared__ unsigned room[2];
    unsigned rank, count;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    unsigned address;
    asm("{.reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a;}" : "=r"(address) : "l"(room));
    unsigned sum = in[rank];
    for (unsigned step = 0; step < 20; ++step) {
        if (threadIdx.x == 0) room[step % 2] = sum;
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        unsigned own = 0;
        for (unsigned i = 0; i < 10; ++i) own += (sum >> i) & step;
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        for (unsigned other = 0; other < count; ++other) {
            unsigned value;
            asm volatile("{.reg .u32 a; mapa.shared::cluster.u32 a, %1, %2; ld.shared::cluster.u32 %0, [a];}"
                         : "=r"(value) : "r"(address + step % 2 * 4), "r"(other));
            sum = sum * 3 + value;
        }
        sum += own;
    }
    if (threadIdx.x >= blockDim.x / 2) {  // Half of the threads leave before the last barrier.
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
        return;
    }
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
})";

Words expected_halves(const Words& in, unsigned blocks, unsigned threads, unsigned count) {
    Words sums(in.begin(), in.begin() + count);
    for (unsigned step = 0; step < 20; ++step) {
        const Words published = sums;
        for (unsigned& sum : sums) {
            unsigned own = 0;
            for (unsigned i = 0; i < 10; ++i)
                own += (sum >> i) & step;
            for (const unsigned value : published)
                sum = sum * 3 + value;
            sum += own;
        }
    }
    Words all;
    for (unsigned block = 0; block < blocks; ++block)
        all.insert(all.end(), threads, sums[block % count]);
    return all;
}

// mbarriers of other blocks: arrivals, st.async, red.async, bulk copies between blocks, and one
// from global memory to several blocks.
constexpr const char* transfers = R"(
__device__ unsigned at(const void* p) {
    unsigned a;
    asm("{.reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a;}" : "=r"(a) : "l"(p));
    return a;
}
__device__ unsigned mapped(const void* p, unsigned rank) {
    unsigned a;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(at(p)), "r"(rank));
    return a;
}
__device__ void wait(const void* barrier, unsigned parity) {
    asm volatile("{.reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W;}"
                 :: "r"(at(barrier)), "r"(parity) : "memory");
}
__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
extern "C" __global__ void k(unsigned* out, const unsigned* in) {
    __shared__ alignas(16) unsigned long long arrived, stored, copied;
    __shared__ alignas(128) unsigned words[64], from[64], bulk[64], cast[64];
    __shared__ unsigned sums[8];
    unsigned rank, count;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    const unsigned t = threadIdx.x, next = (rank + 1) % count;
    from[t] = in[t] * (rank + 1);
    words[t] = bulk[t] = cast[t] = 0;
    if (t < 8) sums[t] = t < 4 ? 100 : 0xff;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(&arrived)), "r"(count * 2 * 64));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&stored)));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&copied)));
        asm volatile("fence.mbarrier_init.release.cluster;");
        // 64 words of st.async, and red.async of 8 threads twice.
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&stored)), "r"(256 + 64));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(&copied)), "r"(256 + 256));
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_sync();
    for (unsigned other = 0; other < count; ++other) {
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(mapped(&arrived, other)) : "memory");
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0], 1;" :: "r"(mapped(&arrived, other)) : "memory");
    }
    wait(&arrived, 0);
    const unsigned signal = mapped(&stored, next);
    if (t % 4 == 0) {
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];"
                     :: "r"(mapped(words + t, next)), "r"(t), "r"(t * 3 + rank), "r"(t * 5), "r"(~t), "r"(signal) : "memory");
    }
    if (t < 8) {
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                     :: "r"(mapped(sums + t % 4, next)), "r"(t + rank), "r"(signal) : "memory");
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [%0], %1, [%2];"
                     :: "r"(mapped(sums + 4 + t % 4, next)), "r"(t == 1 ? 0xf0 + rank : 0xffffu), "r"(signal) : "memory");
    }
    wait(&stored, 0);
    if (t == 0) {
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(mapped(bulk, next)), "r"(at(from)), "r"(mapped(&copied, next)) : "memory");
        if (rank < 4) {  // Each of four blocks sends a quarter to all.
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 64, [%2], %3;"
                         :: "r"(at(cast + rank * 16)), "l"(in + 64 + rank * 16), "r"(at(&copied)), "h"(static_cast<unsigned short>((1u << count) - 1)) : "memory");
        }
    }
    wait(&copied, 0);
    unsigned* to = out + blockIdx.x * 200;
    to[t] = words[t];
    to[64 + t] = bulk[t];
    to[128 + t] = cast[t];
    if (t < 8) to[192 + t] = sums[t];
    cluster_sync();
})";

Words expected_transfers(const Words& in, unsigned blocks, unsigned count) {
    Words all;
    for (unsigned block = 0; block < blocks; ++block) {
        const unsigned before = (block % count + count - 1) % count;
        for (unsigned t = 0; t < 64; t += 4) {
            for (const unsigned value : {t, t * 3 + before, t * 5, ~t})
                all.push_back(value);
        }
        for (unsigned t = 0; t < 64; ++t)
            all.push_back(in[t] * (before + 1));
        all.insert(all.end(), in.begin() + 64, in.begin() + 128);
        for (unsigned t = 0; t < 4; ++t)
            all.push_back(100 + t + t + 4 + 2 * before);
        for (unsigned t = 0; t < 4; ++t)
            all.push_back(t == 1 ? 0xff & (0xf0 + before) : 0xff);
    }
    return all;
}

Words inputs(std::size_t count) {
    Words made(count);
    std::uint32_t state = 12345;
    for (unsigned& value : made)
        value = state = state * 1664525U + 1013904223U;
    return made;
}

}  // namespace

TEST_CASE("clusters: special registers tell each block's place") {
    LODE_NEEDS_CLUSTERS(device);
    struct Case {
        Dim3 grid, cluster;
    };
    for (const Case& one : {Case{{4, 4, 2}, {2, 2, 1}},
                            {{4, 4, 2}, {1, 2, 2}},
                            {{8}, {8}},
                            {{2, 3, 4}, {1, 3, 2}},
                            {{6, 2, 2}, {2, 1, 2}}}) {
        const Dim3 grid = one.grid;
        const Dim3 cluster = one.cluster;
        CAPTURE(grid.to_string());
        CAPTURE(cluster.to_string());
        const auto out = run(device, identities, {.grid = grid, .block = {32}, .cluster = cluster},
                             grid.volume() * 15, {0});
        CHECK(out == expected_identities(grid, cluster, 1));
    }
    const auto plain =
        run(device, identities, {.grid = {4, 2, 3}, .block = {32}}, std::size_t{24} * 15, {0});
    CHECK(plain == expected_identities({4, 2, 3}, {1, 1, 1}, 0));
}

TEST_CASE("clusters: blocks read and update each other's shared memory") {
    LODE_NEEDS_CLUSTERS(device);
    const Words in = inputs(256);
    for (const unsigned count : {1u, 2u, 3u, 4u, 8u}) {
        CAPTURE(count);
        const unsigned blocks = count * 5;
        const auto out =
            run(device, neighbours, {.grid = {blocks}, .block = {64}, .cluster = {count}},
                std::size_t{blocks} * 70, in);
        CHECK(out == expected_neighbours(in, blocks, count));
    }
}

TEST_CASE("clusters: a barrier in two halves orders the blocks") {
    LODE_NEEDS_CLUSTERS(device);
    const Words in = inputs(8);
    for (const unsigned count : {1u, 2u, 4u, 8u}) {
        for (const unsigned threads : {32u, 96u, 256u}) {
            CAPTURE(count);
            CAPTURE(threads);
            const unsigned blocks = count * 3;
            const auto out =
                run(device, halves, {.grid = {blocks}, .block = {threads}, .cluster = {count}},
                    std::size_t{blocks} * threads, in);
            CHECK(out == expected_halves(in, blocks, threads, count));
        }
    }
}

TEST_CASE("clusters: stores, reductions and bulk copies signal other blocks' mbarriers") {
    LODE_NEEDS_CLUSTERS(device);
    const Words in = inputs(128);
    for (const unsigned count : {4u, 8u}) {
        CAPTURE(count);
        const unsigned blocks = count * 4;
        const auto out =
            run(device, transfers, {.grid = {blocks}, .block = {64}, .cluster = {count}},
                std::size_t{blocks} * 200, in);
        CHECK(out == expected_transfers(in, blocks, count));
    }
}

TEST_CASE("clusters: sixteen blocks, where the device allows them") {
    LODE_NEEDS_CLUSTERS(device);
    const LaunchAttributes large{.non_portable_cluster = true};
    const auto kernel = load<void(unsigned*, const unsigned*)>(device, neighbours);
    const LaunchShape shape{.grid = {16}, .block = {64}, .attributes = &large};
    LODE_NEEDS(require(max_cluster_size(kernel.untyped(), shape)) == 16,
               "the device has no clusters of 16 blocks");
    LaunchShape with = shape;
    with.cluster = {16};
    const Words in = inputs(256);
    CHECK(run(device, neighbours, with, std::size_t{16} * 70, in) ==
          expected_neighbours(in, 16, 16));
}
