// Tensor copies: tiles and im2col, loads, stores and reductions, with every swizzle, elements
// outside of the tensor and steps between elements. The host computes every byte.
#include "tests/gpu/support.hpp"
#include "tests/gpu/tensor_model.hpp"

#include <lode/runtime/tensor_map.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

using namespace lode;
using namespace lode::test;

namespace {

/// A kernel that loads `job.bytes` bytes by an instruction, and copies all of its shared memory to
/// `out`; or that fills its shared memory from `out` and stores by the instruction.
std::string source_of(std::uint32_t axes, const std::string& instruction, bool loads, bool im2col) {
    std::string coordinates;
    for (std::uint32_t k = 0; k < axes; ++k)
        coordinates += fmt::format("{}%{}", k == 0 ? "" : ", ", 3 + k);
    std::string offsets;
    if (im2col && loads) {
        for (std::uint32_t k = 0; k + 2 < axes; ++k)
            offsets += fmt::format("{}%{}", k == 0 ? ", {" : ", ", 8 + k);
        offsets += "}";
    }
    const std::string operands =
        loads ? fmt::format("[%0], [%1, {{{}}}], [%2]{}", coordinates, offsets)
              : fmt::format("[%1, {{{}}}], [%0]", coordinates);
    const std::string issue = fmt::format(
        R"(asm volatile("{} {};" :: "r"(to), "l"(map), "r"(signal), "r"(job.at[0]), "r"(job.at[1]),
           "r"(job.at[2]), "r"(job.at[3]), "r"(job.at[4]), "h"(job.offsets[0]), "h"(job.offsets[1]),
           "h"(job.offsets[2]) : "memory");)",
        instruction, operands);
    return R"(
struct alignas(64) Map { char opaque[128]; };
struct Job { int at[5]; unsigned short offsets[4]; unsigned bytes; };
__device__ unsigned address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
extern "C" __global__ void k(const Map* map, const __grid_constant__ Job job, unsigned* out) {
    __shared__ alignas(1024) unsigned room[8192];
    __shared__ alignas(8) unsigned long long barrier;
    const unsigned to = address(room), signal = address(&barrier);
)" +
           std::string(loads ? R"(
    for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x) room[i] = 0xcdcdcdcd;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(signal));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(signal), "r"(job.bytes));
        )" + issue + R"(
    }
    unsigned done = 0;
    for (unsigned tries = 0; tries < 10000 && !done; ++tries)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(signal) : "memory");
    for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x) out[i] = room[i];
    if (threadIdx.x == 0) out[8192] = done;
)"
                             : R"(
    for (unsigned i = threadIdx.x; i < 8192; i += blockDim.x) room[i] = out[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        )" + issue + R"(
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
)") + "}\n";
}

using CopyKernel = Kernel<void(const TensorMap*, Job, unsigned*)>;

class Bench {
public:
    explicit Bench(const Device& device)
        : device_(device), stream_(require(device.create_stream())) {}

    /// Runs an instruction on a tensor; `tensor` and `room` are copied to the device and back.
    template <class Tensor>
    void run(std::uint32_t axes, const std::string& instruction, bool loads, bool im2col,
             Tensor tensor, const Job& job, Bytes& memory, Bytes& room) {
        const std::string source = source_of(axes, instruction, loads, im2col);
        auto found = std::ranges::find(kernels_, source, &Loaded::source);
        if (found == kernels_.end()) {
            kernels_.push_back(
                {source, load<void(const TensorMap*, Job, unsigned*)>(device_, source)});
            found = kernels_.end() - 1;
        }
        auto held = require(device_.upload(memory));
        auto out = require(device_.upload(room));
        tensor.layout.address = reinterpret_cast<NativeDevicePointer>(held.data());
        const auto map =
            require(device_.upload(std::vector{require(encode_tensor_map(device_, tensor))}));
        require(found->kernel.launch(stream_, {.grid = {1}, .block = {64}}, map, job,
                                     reinterpret_cast<unsigned*>(out.data())));
        require(stream_.sync());
        memory = require(held.to_vector());
        room = require(out.to_vector());
    }

private:
    struct Loaded {
        std::string source;
        CopyKernel kernel;
    };
    const Device& device_;
    Stream stream_;
    std::vector<Loaded> kernels_;
};

#define LODE_NEEDS_TENSOR_COPIES(device) \
    LODE_NEEDS_DEVICE(device, 0);        \
    LODE_NEEDS(has_tensor_maps(device), "the device has no tensor copies")

/// The first difference, for messages; -1 if there is none.
std::int64_t first_difference(const Bytes& a, const Bytes& b, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        if (a[k] != b[k]) return static_cast<std::int64_t>(k);
    }
    return -1;
}

}  // namespace

TEST_CASE("tensor copies: tiles of one to five dimensions, with every swizzle") {
    LODE_NEEDS_TENSOR_COPIES(device);
    Bench bench(device);
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const auto axes = static_cast<std::uint32_t>(1 + round % 5);
        const TiledTensor tensor = random_tiles(random, axes);
        const Job job = random_job(random, tensor);
        Bytes memory = random_bytes(random, memory_of(tensor.layout));
        const Bytes expected = loaded(tensor, job, memory);
        Bytes room(room_bytes + 4);
        bench.run(axes,
                  fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.tile."
                              "mbarrier::complete_tx::bytes",
                              axes),
                  true, false, tensor, job, memory, room);
        CAPTURE(round);
        CAPTURE(to_string(tensor.layout.type));
        CAPTURE(static_cast<int>(tensor.layout.swizzle));
        CHECK(room[room_bytes] == 1);
        CHECK(first_difference(room, expected, room_bytes) == -1);
    }
}

TEST_CASE("tensor copies: stores leave out what lies outside the tensor") {
    LODE_NEEDS_TENSOR_COPIES(device);
    Bench bench(device);
    std::mt19937 random(2);
    for (int round = 0; round < 150; ++round) {
        const auto axes = static_cast<std::uint32_t>(1 + round % 5);
        TiledTensor tensor = random_tiles(random, axes);
        tensor.layout.fill = TensorFill::zero;
        Job job = random_job(random, tensor);
        for (std::int32_t& at : job.at)  // Devices refuse stores with negative coordinates.
            at = std::max(at, 0);
        Bytes memory = random_bytes(random, memory_of(tensor.layout));
        Bytes room = random_bytes(random, room_bytes + 4);
        Bytes expected = memory;
        // The first dimension ends with a whole chunk of 16 bytes.
        const std::uint32_t size = size_of(tensor.layout.type);
        TensorLayout whole = tensor.layout;
        whole.extents[0] = (whole.extents[0] * size + 15) / 16 * 16 / size;
        const auto elements = elements_of(tensor, job);
        const auto places = places_of(tensor.layout, tensor.box[0], elements.size());
        for (std::size_t k = 0; k < elements.size(); ++k) {
            const std::int64_t to = position_of(whole, elements[k]);
            if (to >= 0) std::memcpy(&expected[to], &room[places[k]], size);
        }
        bench.run(axes,
                  fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group", axes),
                  false, false, tensor, job, memory, room);
        CAPTURE(round);
        CHECK(first_difference(memory, expected, memory.size()) == -1);
    }
}

namespace {

template <class T>
T reduced(const std::string& how, T old, T value) {
    if constexpr (std::is_integral_v<T>) {  // Sums of integers wrap.
        using Unsigned = std::make_unsigned_t<T>;
        if (how == "add")
            return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
    } else if (how == "add") {
        return old + value;
    }
    if (how == "min") return std::min(old, value);
    if (how == "max") return std::max(old, value);
    if constexpr (std::is_unsigned_v<T>) {
        if (how == "and") return old & value;
        if (how == "or") return old | value;
        if (how == "xor") return old ^ value;
        if (how == "inc") return old >= value ? 0 : static_cast<T>(old + 1);
        if (how == "dec") return old == 0 || old > value ? value : static_cast<T>(old - 1);
    }
    return old;
}

template <class T>
void check_reduction(Bench& bench, std::mt19937& random, const std::string& how, TensorType type) {
    CAPTURE(how);
    CAPTURE(to_string(type));
    TiledTensor tensor{.layout = {.type = type,
                                  .extents = {24, 10},
                                  .strides_bytes = {24 * sizeof(T) + 16},
                                  .swizzle = TensorSwizzle::bytes_128},
                       .box = {static_cast<std::uint32_t>(128 / sizeof(T)), 8}};
    tensor.layout.strides_bytes[0] = (tensor.layout.strides_bytes[0] + 15) / 16 * 16;
    tensor.layout.element_strides = {1, 1};
    const Job job{.at = {static_cast<std::int32_t>(16 / sizeof(T)), 4}};
    const auto value = [&] {
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(between(random, -1000, 1000)) / T{8};
        return static_cast<T>(random());
    };
    Bytes memory(memory_of(tensor.layout));
    Bytes room(room_bytes + 4);
    for (std::size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T)) {
        const T one = value();
        std::memcpy(&memory[at], &one, sizeof one);
    }
    for (std::size_t at = 0; at < room_bytes; at += sizeof(T)) {
        const T one = value();
        std::memcpy(&room[at], &one, sizeof one);
    }
    Bytes expected = memory;
    std::uint32_t offset = 0;
    for (const Place& one : elements_of(tensor, job)) {
        const std::int64_t to = position_of(tensor.layout, one);
        if (to >= 0) {  // The rows consist of whole chunks of 16 bytes.
            T old;
            T given;
            std::memcpy(&old, &expected[to], sizeof old);
            std::memcpy(&given, &room[place_of(offset, tensor.layout.swizzle)], sizeof given);
            old = reduced(how, old, given);
            std::memcpy(&expected[to], &old, sizeof old);
        }
        offset += sizeof(T);
    }
    bench.run(
        2, fmt::format("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.tile.bulk_group", how),
        false, false, tensor, job, memory, room);
    CHECK(first_difference(memory, expected, memory.size()) == -1);
}

}  // namespace

TEST_CASE("tensor copies: reductions of every type") {
    LODE_NEEDS_TENSOR_COPIES(device);
    Bench bench(device);
    std::mt19937 random(3);
    for (const std::string how : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
        check_reduction<std::uint32_t>(bench, random, how, TensorType::u32);
    for (const std::string how : {"add", "min", "max"})
        check_reduction<std::int32_t>(bench, random, how, TensorType::i32);
    for (const std::string how : {"add", "min", "max", "and", "or", "xor"})
        check_reduction<std::uint64_t>(bench, random, how, TensorType::u64);
    for (const std::string how : {"min", "max"})
        check_reduction<std::int64_t>(bench, random, how, TensorType::i64);
    check_reduction<float>(bench, random, "add", TensorType::f32);
    check_reduction<double>(bench, random, "add", TensorType::f64);
}

TEST_CASE("tensor copies: columns of pixels for im2col") {
    LODE_NEEDS_TENSOR_COPIES(device);
    Bench bench(device);
    std::mt19937 random(4);
    for (int round = 0; round < 120; ++round) {
        const auto axes = static_cast<std::uint32_t>(3 + round % 3);
        Im2colTensor tensor;
        tensor.layout = random_layout(random, axes, random() % 2 == 0);
        tensor.layout.element_strides.back() = 1;
        const std::uint32_t row = row_of(random, tensor.layout.swizzle);
        tensor.channels_per_pixel = row / size_of(tensor.layout.type);
        tensor.pixels_per_column =
            std::min(static_cast<std::uint32_t>(between(random, 1, 80)), room_bytes / 144);
        Job job;
        job.at[0] = aligned_first(random, tensor.layout);
        for (std::uint32_t axis = 1; axis + 1 < axes; ++axis) {
            // A filter with a border of zeros around the images.
            const std::int32_t border = between(random, 0, 2);
            const auto extent = static_cast<std::int32_t>(tensor.layout.extents[axis]);
            const std::int32_t filter = between(random, 1, std::min(3, extent + 2 * border));
            tensor.lower_corner.push_back(-border);
            tensor.upper_corner.push_back(border - filter + 1);
            const auto step = static_cast<std::int32_t>(tensor.layout.element_strides[axis]);
            const std::int32_t places = (extent + 2 * border - filter) / step;
            job.at[axis] = -border + step * between(random, 0, places);
            job.offsets[axis - 1] = static_cast<std::uint16_t>(between(random, 0, filter - 1));
        }
        job.at[axes - 1] =
            between(random, 0, static_cast<std::int32_t>(tensor.layout.extents[axes - 1]) - 1);
        job.bytes = tensor.pixels_per_column * row;
        Bytes memory = random_bytes(random, memory_of(tensor.layout));
        const Bytes expected = loaded(tensor, job, memory);
        Bytes room(room_bytes + 4);
        bench.run(axes,
                  fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.im2col."
                              "mbarrier::complete_tx::bytes",
                              axes),
                  true, true, tensor, job, memory, room);
        CAPTURE(round);
        CAPTURE(axes);
        CAPTURE(to_string(tensor.layout.type));
        CHECK(room[room_bytes] == 1);
        CHECK(first_difference(room, expected, room_bytes) == -1);
    }
}
