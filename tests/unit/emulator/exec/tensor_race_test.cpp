// The race check of tensor copies: their boxes in shared and in global memory.
#include "emulator/memory/tensor_map.hpp"
#include "tests/unit/emulator/exec/checked.hpp"

namespace lode::emulator::exec {

using testing::Checked;

namespace {

struct alignas(64) BoxMap {
    std::uint8_t bytes[128] = {};
};

/// Boxes of 8 x 4 words of a plane of 16 x 8. A swizzle exchanges chunks of 16 bytes in them.
constexpr const char* box_head = R"(
struct alignas(64) Map { unsigned char bytes[128]; };
struct Box {
    const Map* map;
    unsigned at, barrier;
    __device__ void load(int x, int y) const {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(barrier)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
            "[%1, {%2, %3}], [%4];" ::"r"(at), "l"(map), "r"(x), "r"(y), "r"(barrier)
            : "memory");
    }
    __device__ void wait(unsigned phase) const {
        asm volatile(
            "{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
            "@!p bra again; }" ::"r"(barrier), "r"(phase) : "memory");
    }
    // Gives up when the barrier is a phase ahead.
    __device__ void wait_for_a_while(unsigned phase) const {
        unsigned done = 0;
        for (int k = 0; k < 1000 && done == 0; ++k)
            asm volatile(
                "{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(barrier), "r"(phase) : "memory");
    }
    __device__ void store(int x, int y) const {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     ::"l"(map), "r"(x), "r"(y), "r"(at) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __device__ void add(int x, int y) const {
        asm volatile(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], "
            "[%3];" ::"l"(map), "r"(x), "r"(y), "r"(at) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
};
#define FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define WAIT_ALL asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
extern "C" __global__ void k(const __grid_constant__ Map map, unsigned* plane, unsigned* out) {
    __shared__ alignas(256) unsigned room[32];
    __shared__ alignas(8) unsigned long long bar;
    const unsigned t = threadIdx.x;
    const Box box{&map, (unsigned)__cvta_generic_to_shared(room),
                  (unsigned)__cvta_generic_to_shared(&bar)};
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(box.barrier));
    __syncthreads();
)";

std::string found_in_boxes(const std::string& body, std::uint64_t seed, unsigned blocks,
                           TensorSwizzle swizzle = TensorSwizzle::none) {
    Checked rig(box_head + body + "\n}\n");
    rig.options.checks.race = true;
    rig.options.seed = seed;
    const auto plane = rig.words(128, 1);
    const auto out = rig.words(1024);
    TensorMap map;
    map.element = TensorElement::uint32;
    map.axes = 2;
    map.address = plane;
    map.strides[0] = 64;
    map.last_coordinate = {15, 7};
    map.box = {8, 4};
    map.steps = {1, 1};
    map.swizzle = swizzle;
    BoxMap bytes;
    std::memcpy(bytes.bytes, &map, sizeof map);
    return rig.found({blocks}, {64}, bytes, plane, out);
}

void expect_box_race(const std::string& body, std::string_view part, unsigned blocks = 1) {
    for (const std::uint64_t seed : {0, 5}) {
        const std::string found = found_in_boxes(body, seed, blocks);
        CAPTURE(body);
        INFO(found);
        CHECK(found.find(" race: it ") != std::string::npos);
        CHECK(found.find(part) != std::string::npos);
        CHECK(found.find("checked.cu:") != std::string::npos);
    }
}

void expect_right_boxes(const std::string& body, unsigned blocks = 1) {
    for (const TensorSwizzle swizzle : {TensorSwizzle::none, TensorSwizzle::bytes_32}) {
        for (const std::uint64_t seed : {0, 1, 7}) {
            CAPTURE(body);
            CAPTURE(seed);
            CHECK(found_in_boxes(body, seed, blocks, swizzle) == "");
        }
    }
}

}  // namespace

TEST_CASE("tensor races: a box that isn't waited for") {
    expect_box_race("if (t == 0) box.load(0, 0);\n__syncthreads();\nout[t] = room[t % 32];",
                    "what an asynchronous copy by thread (0,0,0) has written");
    expect_right_boxes("if (t == 0) box.load(0, 0);\nbox.wait(0);\nout[t] = room[t % 32];");
    // One thread waits for all.
    expect_right_boxes(
        "if (t == 0) { box.load(0, 0); box.wait(0); }\n__syncthreads();\nout[t] = room[t % 32];");
}

TEST_CASE("tensor races: a box that is loaded again while others read it") {
    expect_box_race(R"(for (int i = 0; i < 2; ++i) {
    if (t == 0) box.load(4 * i, i);
    box.wait_for_a_while(i);
    out[64 * i + t] = room[t % 32];
})",
                    "race: it writes what thread (");
    expect_right_boxes(R"(for (int i = 0; i < 3; ++i) {
    if (t == 0) box.load(4 * i, i);
    box.wait(i % 2);
    out[64 * i + t] = room[t % 32];
    __syncthreads();
})");
}

TEST_CASE("tensor races: shared memory that changes before a store has read it") {
    const std::string begin =
        "if (t < 32) room[t] = t;\nFENCE;\n__syncthreads();\nif (t == 0) box.store(0, 0);\n";
    expect_box_race(begin + "__syncthreads();\nif (t < 32) room[t] = 0;",
                    "what an asynchronous copy by thread (0,0,0) has read");
    expect_right_boxes(begin +
                       "if (t == 0) WAIT_READ;\n__syncthreads();\nif (t < 32) room[t] = 0;");
}

TEST_CASE("tensor races: boxes in global memory") {
    const std::string begin = "if (t < 32) room[t] = t + blockIdx.x;\nFENCE;\n__syncthreads();\n";
    expect_box_race(begin + "if (t == 0) { box.store(0, 0); WAIT_ALL; }",
                    "it writes what thread (0,0,0) of block (", 2);
    expect_box_race(
        begin + "if (t == 0) box.store(0, 0);\n__syncthreads();\nout[t] = plane[t % 8];",
        "which hasn't been waited for");
    expect_box_race(
        "if (blockIdx.x == 0) plane[t] = 5;\nif (t == 0 && blockIdx.x == 1) "
        "box.load(0, 0);\nif (blockIdx.x == 1) box.wait(0);",
        "race: it ", 2);
    expect_right_boxes(begin +
                       "if (t == 0) { box.store(0, 0); WAIT_ALL; }\n__syncthreads();\n"
                       "out[t] = plane[t % 8];");
    // Boxes side by side, and sums of two blocks in one.
    expect_right_boxes(begin + "if (t == 0) { box.store(8 * blockIdx.x, 4); WAIT_ALL; }", 2);
    expect_right_boxes(begin + "if (t == 0) { box.add(0, 0); WAIT_ALL; }", 2);
}

namespace {

/// Thread 0 multiplies matrices of ones, 128 x 16 and 16 x 16 halves, and commits; then `between`.
std::string found_in_products(const std::string& between, std::uint64_t seed) {
    Checked rig(R"(
__device__ unsigned shared(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
__device__ unsigned long long descriptor(const void* at) {
    return 1ull << 46 | shared(at) >> 4 | 8ull << 16 | 16ull << 32;
}
#define WAIT asm volatile( \
    "{ .reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n" \
    "@!p bra again; }" ::"r"(shared(&done)) : "memory")
extern "C" __global__ void k(float* out) {
    __shared__ unsigned place;
    __shared__ alignas(128) unsigned a[1024], b[128];
    __shared__ alignas(8) unsigned long long done;
    const int t = threadIdx.x, warp = t / 32;
    for (int i = t; i < 1024; i += 128)
        a[i] = 0x3c003c00;
    b[t] = 0x3c003c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&done)));
    if (warp == 0)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;"
                     ::"r"(shared(&place)) : "memory");
    __syncthreads();
    const unsigned sums = place;
    if (t == 0) {
        asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, 0;"
                     ::"r"(sums), "l"(descriptor(a)), "l"(descriptor(b)),
                     "r"(1u << 4 | 16u / 8 << 17 | 128u / 16 << 24) : "memory");
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                     ::"r"(shared(&done)) : "memory");
    }
    float d = 1;
    )" + between + R"(
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];"
                 : "=f"(d) : "r"(sums + (warp << 21)) : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    out[t] = d;
    __syncthreads();
    if (warp == 0)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(sums));
}
)",
                1, "compute_100a");
    rig.options.checks.race = true;
    rig.options.seed = seed;
    const auto out = rig.words(128);
    return rig.found({1}, {128}, out);
}

}  // namespace

TEST_CASE("tensor races: sums in tensor memory are there once their commit is waited for") {
    for (const std::uint64_t seed : {0, 3}) {
        CHECK(found_in_products("WAIT;", seed) == "");
        CHECK(found_in_products("if (t == 0) WAIT;\n__syncthreads();", seed) == "");
        // Registers that are stored since are others.
        CHECK(found_in_products(
                  "if (t == 0) WAIT;\n__syncthreads();\nasm volatile(\"tcgen05.st.sync.aligned."
                  "32x32b.x1.b32 [%0], {%1};\" ::\"r\"(sums + (warp << 21)), \"f\"(d));",
                  seed) == "");
        const std::string found = found_in_products("__syncthreads();", seed);
        INFO(found);
        CHECK(found.find("race: it reads what an asynchronous operation by thread 0 of its "
                         "block writes at ") != std::string::npos);
        CHECK(found.find("of tensor memory\n  thread: (") != std::string::npos);
    }
}

}  // namespace lode::emulator::exec
