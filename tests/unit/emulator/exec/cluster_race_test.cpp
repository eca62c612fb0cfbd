// Races between the blocks of a cluster, in distributed shared memory and in global memory.
#include "tests/unit/emulator/exec/checked.hpp"

namespace lode::emulator::exec {

using testing::Checked;

namespace {

constexpr const char* cluster_head = R"(
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(unsigned* a, unsigned* b) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ unsigned mine[64];
    unsigned* const theirs = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
    const unsigned t = threadIdx.x, rank = cluster.block_rank(), i = blockIdx.x * 64 + t;
)";

struct ClusterRig : Checked {
    explicit ClusterRig(const std::string& body) : Checked(cluster_head + body + "\n}\n") {
        options.checks.race = true;
    }
    /// The findings on four blocks of 64 threads, on one worker.
    std::string findings_of(std::uint64_t seed) {
        options.seed = seed;
        return found({4}, {64}, words(256), words(256, 1));
    }
};

void expect_no_race(const std::string& body) {
    ClusterRig rig(body);
    for (const std::uint64_t seed : {0, 1, 7}) {
        CAPTURE(body);
        CAPTURE(seed);
        CHECK(rig.findings_of(seed) == "");
    }
}

/// A race must be found, with a text that contains `part`.
void expect_cluster_race(const std::string& body, std::string_view part) {
    ClusterRig rig(body);
    for (const std::uint64_t seed : {0, 5}) {
        const std::string found = rig.findings_of(seed);
        CAPTURE(body);
        INFO(found);
        CHECK(found.find(" race: it ") != std::string::npos);
        CHECK(found.find(part) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("cluster races: the cluster's barrier orders shared and global memory") {
    expect_no_race(
        "mine[t] = t; cluster.sync(); a[i] = theirs[63 - t]; cluster.sync(); mine[t] = 1;");
    expect_no_race("a[i] = t; cluster.sync(); b[i] = a[i ^ 64];");
    expect_no_race("theirs[t] = rank; cluster.sync(); a[i] = mine[63 - t]; cluster.sync();");
    expect_no_race(
        "for (int k = 0; k < 3; ++k) {\nmine[t] = k; cluster.sync(); a[i] += theirs[t ^ 1]; "
        "cluster.sync(); }");
}

TEST_CASE("cluster races: atomics of the cluster don't race with each other") {
    expect_no_race(
        "mine[t] = 0; cluster.sync(); atomicAdd(&theirs[t % 4], 1u); atomicAdd(&mine[t % 4], 1u);\n"
        "cluster.sync(); a[i] = mine[t];");
}

TEST_CASE("cluster races: a flag in shared memory of another block, with release and acquire") {
    expect_no_race(R"(if (t == 0) { mine[0] = 0; mine[1] = 0; }
cluster.sync();
if (rank == 0 && t == 0) {
    theirs[1] = 7;
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    atomicExch(&theirs[0], 1u);
}
if (rank == 1 && t == 0) {
    while (atomicAdd(&mine[0], 0u) == 0) {}
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    a[i] = mine[1];
}
cluster.sync();)");
}

TEST_CASE("cluster races: an mbarrier of another block orders what arrived before") {
    expect_no_race(R"(__shared__ unsigned long long bar;
const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
cluster.sync();
theirs[t] = rank + t;
unsigned remote;
asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(at), "r"(rank ^ 1));
asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
unsigned done = 0;
while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at) : "memory");
a[i] = mine[63 - t];
cluster.sync();)");
}

TEST_CASE("cluster races: a relaxed arrival orders only what a fence has made visible") {
    const auto meet = [](std::string_view arrival) {
        return "asm volatile(\"barrier.cluster.arrive" + std::string(arrival) +
               ".aligned; barrier.cluster.wait.acquire.aligned;\" ::: \"memory\");\n";
    };
    const std::string relaxed = meet(".relaxed");
    const std::string write = "mine[t] = t;\n";
    const std::string read = "a[i] = theirs[63 - t];\ncluster.sync();\n";
    const std::string fence = "asm volatile(\"fence.acq_rel.cluster;\" ::: \"memory\");\n";
    expect_cluster_race(write + relaxed + read, "of shared memory, ");
    expect_cluster_race(fence + write + relaxed + read, "of shared memory, ");
    // Also within a block.
    expect_cluster_race(write + relaxed + "a[i] = mine[63 - t];", "into the variable ");
    expect_no_race(write + meet(".release") + read);
    expect_no_race(write + meet("") + read);
    expect_no_race(write + fence + relaxed + read);
    expect_no_race("a[i] = t;\n__threadfence();\n" + relaxed + "b[i] = a[i ^ 64];");
    // One warp's release isn't the other's.
    const std::string mixed = write + "if (t < 32) { " + meet("") + "} else { " + relaxed + "}\n";
    expect_no_race(mixed + "if (t < 32) a[i] = theirs[31 - t];\ncluster.sync();");
    expect_cluster_race(mixed + "if (t < 32) a[i] = theirs[63 - t];\ncluster.sync();",
                        "of shared memory, ");
    // The usual start of mbarriers.
    expect_no_race(R"(__shared__ unsigned long long bar;
const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
)" + relaxed + R"(unsigned remote;
asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(at), "r"(rank ^ 1));
asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
unsigned done = 0;
while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(at) : "memory");
cluster.sync();)");
}

TEST_CASE("cluster races: a missing barrier of the cluster is found") {
    expect_cluster_race(
        "cluster.sync();\nmine[t] = t;\n__syncthreads();\na[i] = theirs[t];\n"
        "cluster.sync();",
        "of shared memory, ");
    expect_cluster_race(
        "mine[t] = 1; cluster.sync(); a[i] = theirs[t];\nmine[t] = 2;\ncluster.sync();",
        "of shared memory, ");
    expect_cluster_race("a[i] = t;\n__syncthreads();\nb[i] = a[i ^ 64];", "of block (");
    expect_cluster_race(
        "cluster.sync();\nif (t == 0) *cluster.map_shared_rank(&mine[3], 0) = rank;\n"
        "cluster.sync();\nif (t == 0) a[i] = mine[3];",
        "of shared memory, ");
}

}  // namespace lode::emulator::exec
