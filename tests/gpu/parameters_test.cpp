// Kernel parameters on a real device: layout, limits, signatures.
#include "tests/gpu/support.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

struct alignas(16) Float4 {
    float x, y, z, w;
};
struct alignas(8) Float2 {
    float x, y;
};

/// Fills the whole parameter space: 8 + 4 × 8189 = 32,764 bytes.
struct Big {
    unsigned values[8189];
};

/// `n` components with the alignment of CUDA's vector type, such as double3's.
template <class T, std::size_t n, std::size_t align>
struct alignas(align) Components {
    T values[n];
};

/// A struct whose bytes all differ from those of another seed.
template <class Value>
Value filled(unsigned char seed) {
    std::array<unsigned char, sizeof(Value)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<unsigned char>(seed + 7 * i);
    Value value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

template <class Value>
void append_bytes(std::vector<unsigned char>& bytes, const Value& value) {
    const auto* const from = reinterpret_cast<const unsigned char*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
}

/// A kernel that takes a char and a vector of each length in turn, and writes all of their bytes.
std::string vector_kernel(const std::string& type) {
    return "template <class T> __device__ unsigned char* put(unsigned char* out, const T& value) "
           "{\n"
           "    const unsigned char* from = reinterpret_cast<const unsigned char*>(&value);\n"
           "    for (int i = 0; i < sizeof(T); ++i) out[i] = from[i];\n"
           "    return out + sizeof(T);\n}\n"
           "extern \"C\" __global__ void k(unsigned char* out, char c1, " +
           type + "1 v1, char c2, " + type + "2 v2, char c3, " + type + "3 v3, char c4, " + type +
           "4 v4) {\n    out = put(put(put(put(out, c1), v1), c2), v2);\n"
           "    put(put(put(put(out, c3), v3), c4), v4);\n}\n";
}

/// Checks char1 … char4 and so on. The alignments are the guide's.
template <class T, std::size_t align1, std::size_t align2, std::size_t align3, std::size_t align4>
void check_vectors(const Device& device, const std::string& type) {
    CAPTURE(type);
    using One = Components<T, 1, align1>;
    using Two = Components<T, 2, align2>;
    using Three = Components<T, 3, align3>;
    using Four = Components<T, 4, align4>;
    using Signature = void(unsigned char*, char, One, char, Two, char, Three, char, Four);
    const auto kernel = load<Signature>(device, vector_kernel(type));

    const auto one = filled<One>(1);
    const auto two = filled<Two>(50);
    const auto three = filled<Three>(100);
    const auto four = filled<Four>(150);
    std::vector<unsigned char> expected{'a'};
    append_bytes(expected, one);
    expected.push_back('b');
    append_bytes(expected, two);
    expected.push_back('c');
    append_bytes(expected, three);
    expected.push_back('d');
    append_bytes(expected, four);

    auto out = require(device.alloc<unsigned char>(expected.size()));
    require(out.zero());
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, LaunchShape{}, out, 'a', one, 'b', two, 'c', three, 'd', four));
    CHECK(require(out.to_vector()) == expected);

    PackedArguments packed;
    require(packed.add(out.native()));
    require(packed.add('a'));
    require(packed.add(one));
    require(packed.add('b'));
    require(packed.add(two));
    require(packed.add('c'));
    require(packed.add(three));
    require(packed.add('d'));
    require(packed.add(four));
    CHECK(packed.slots() == require(kernel.untyped().parameters()));
    require(out.zero());
    require(kernel.untyped().launch(stream, LaunchShape{}, packed));
    CHECK(require(out.to_vector()) == expected);
}

}  // namespace

TEST_CASE("parameters: the driver packs parameters as the guide says, and the values arrive") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto untyped = require(device.load(Source::text(R"(
extern "C" __global__ void k(int i, float4 f4, char c, float f, double* p, float2 f2) {
    p[0] = i; p[1] = f4.x; p[2] = f4.w; p[3] = c; p[4] = f; p[5] = f2.x; p[6] = f2.y;
})",
                                                          "packing.cu"),
                                             "k"));
    const std::vector<ParameterSlot> expected{{0, 4}, {16, 16}, {32, 1}, {36, 4}, {40, 8}, {48, 8}};
    const auto slots = require(untyped.parameters());
    CHECK(slots == expected);

    auto out = require(device.alloc<double>(7));
    PackedArguments packed;
    require(packed.add(-5));
    require(packed.add(Float4{1.5F, 0, 0, 2.5F}));
    require(packed.add('c'));
    require(packed.add(3.5F));
    require(packed.add(out.native()));
    require(packed.add(Float2{4.5F, 5.5F}));
    CHECK(packed.size_bytes() == 56);
    CHECK(packed.slots() == expected);
    const auto stream = require(device.create_stream());
    require(untyped.launch(stream, LaunchShape{}, packed));
    const std::vector<double> values{-5, 1.5, 2.5, 'c', 3.5, 4.5, 5.5};
    CHECK(require(out.to_vector()) == values);

    // The same through the typed kernel, and with pointers.
    require(out.zero());
    const auto typed =
        require(Kernel<void(int, Float4, char, float, double*, Float2)>::from_untyped(untyped));
    require(typed.launch(stream, LaunchShape{}, -5, Float4{1.5F, 0, 0, 2.5F}, 'c', 3.5F, out,
                         Float2{4.5F, 5.5F}));
    CHECK(require(out.to_vector()) == values);

    require(out.zero());
    int i = -5;
    Float4 f4{1.5F, 0, 0, 2.5F};
    char c = 'c';
    float f = 3.5F;
    double* p = out.data();
    Float2 f2{4.5F, 5.5F};
    void* pointers[] = {&i, &f4, &c, &f, &p, &f2};
    require(untyped.launch(stream, LaunchShape{}, pointers));
    CHECK(require(out.to_vector()) == values);
}

TEST_CASE("parameters: 32,764 bytes arrive complete, and one more int is refused") {
    LODE_NEEDS_DEVICE(device, 0);
    const std::string body = R"(
struct Big { unsigned values[COUNT]; };
extern "C" __global__ void k(unsigned* out, const __grid_constant__ Big big) {
    unsigned sum = 0;
    for (int i = threadIdx.x; i < COUNT; i += blockDim.x) sum += big.values[i];
    atomicAdd(out, sum);
})";
    const auto kernel =
        load<void(unsigned*, Big)>(device, body, {.compile = {.definitions = {{"COUNT", "8189"}}}});
    auto out = require(device.alloc<unsigned>(1));
    require(out.zero());
    Big big{};
    unsigned expected = 0;
    for (unsigned i = 0; i < std::size(big.values); ++i) {
        big.values[i] = i * i + 1;
        expected += big.values[i];
    }
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.block = {128}}, out, big));
    CHECK(require(out.to_vector())[0] == expected);

    require(out.zero());
    PackedArguments packed;
    require(packed.add(out.native()));
    require(packed.add(big));
    CHECK(packed.size_bytes() == PackedArguments::max_bytes);
    require(kernel.untyped().launch(stream, {.block = {128}}, packed));
    CHECK(require(out.to_vector())[0] == expected);

    const auto error = require_error(device.load(
        Source::text(body, "big.cu"), "k", {.compile = {.definitions = {{"COUNT", "8190"}}}}));
    CHECK(error.code == Errc::compile_failed);
}

TEST_CASE("parameters: a wrong C++ signature is reported before a launch") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto untyped = require(device.load(
        Source::text("extern \"C\" __global__ void k(float a, const float* x, float* y, int n) {}",
                     "saxpy.cu"),
        "k"));
    CHECK(Kernel<void(float, const float*, float*, int)>::from_untyped(untyped));
    const auto count =
        require_error(Kernel<void(float, const float*, float*)>::from_untyped(untyped));
    CHECK(count.code == Errc::signature_mismatch);
    CHECK_CONTAINS(count.message, "the kernel has 4 parameters and C++ has 3");
    const auto size =
        require_error(Kernel<void(double, const float*, float*, int)>::from_untyped(untyped));
    CHECK_CONTAINS(size.message, "parameter 1 is f32 in the kernel and f64 in C++");
    const auto kind =
        require_error(Kernel<void(int, const float*, float*, int)>::from_untyped(untyped));
    CHECK_CONTAINS(kind.message, "parameter 1 is f32 in the kernel and i32 in C++");
    const auto last =
        require_error(Kernel<void(float, const float*, float*, float)>::from_untyped(untyped));
    CHECK_CONTAINS(last.message, "parameter 4 is i32 in the kernel and f32 in C++");
}

TEST_CASE("parameters: a kernel without parameters can be launched in every way") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void()>(device, "extern \"C\" __global__ void k() {}");
    const auto stream = require(device.create_stream());
    CHECK(require(kernel.untyped().parameters()).empty());
    require(kernel.launch(stream, LaunchShape{}));
    require(kernel.untyped().launch(stream, LaunchShape{}, std::span<void*>{}));
    require(kernel.untyped().launch(stream, LaunchShape{}, PackedArguments{}));
    require(stream.sync());
}

TEST_CASE("parameters: every vector type arrives, at the offset of the guide's alignment") {
    LODE_NEEDS_DEVICE(device, 0);
    // Programming Guide B.3.1, Table 3. A long has 64 bits, as on the host.
    static_assert(sizeof(long) == sizeof(long long));
    check_vectors<signed char, 1, 2, 1, 4>(device, "char");
    check_vectors<unsigned char, 1, 2, 1, 4>(device, "uchar");
    check_vectors<short, 2, 4, 2, 8>(device, "short");
    check_vectors<unsigned short, 2, 4, 2, 8>(device, "ushort");
    check_vectors<int, 4, 8, 4, 16>(device, "int");
    check_vectors<unsigned, 4, 8, 4, 16>(device, "uint");
    check_vectors<long, 8, 16, 8, 16>(device, "long");
    check_vectors<unsigned long, 8, 16, 8, 16>(device, "ulong");
    check_vectors<long long, 8, 16, 8, 16>(device, "longlong");
    check_vectors<unsigned long long, 8, 16, 8, 16>(device, "ulonglong");
    check_vectors<float, 4, 8, 4, 16>(device, "float");
    check_vectors<double, 8, 16, 8, 16>(device, "double");
}

TEST_CASE("parameters: a dim3 arrives as three numbers") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(char, Components<unsigned, 3, 4>, unsigned*)>(device, R"(
extern "C" __global__ void k(char c, dim3 size, unsigned* out) {
    out[0] = size.x; out[1] = size.y; out[2] = size.z; out[3] = c;
})");
    auto out = require(device.alloc<unsigned>(4));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, LaunchShape{}, 'x', Components<unsigned, 3, 4>{{5, 6, 7}}, out));
    CHECK(require(out.to_vector()) == std::vector<unsigned>{5, 6, 7, 'x'});
    const auto slots = require(kernel.untyped().parameters());
    CHECK(slots == std::vector<ParameterSlot>{{0, 1}, {4, 12}, {16, 8}});
}

TEST_CASE("parameters: a struct of another alignment than the vector's is refused") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto untyped = require(device.load(
        Source::text("extern \"C\" __global__ void k(char c, float4 v, char d) {}", "aligned.cu"),
        "k"));
    CHECK(Kernel<void(char, Components<float, 4, 16>, char)>::from_untyped(untyped));
    const auto error =
        require_error(Kernel<void(char, Components<float, 4, 4>, char)>::from_untyped(untyped));
    CHECK(error.code == Errc::signature_mismatch);
}
