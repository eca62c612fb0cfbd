// From source to running code on a real device: compiling, loading, finding, globals.
#include "tests/gpu/support.hpp"

#include <array>
#include <numeric>
#include <span>

using namespace lode;
using namespace lode::test;

namespace {

constexpr const char* saxpy_source = R"(
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
})";

Source constant_writer(int value) {
    return Source::text(
        "extern \"C\" __global__ void k(int* out) { *out = " + std::to_string(value) + "; }",
        "constant.cu");
}

int run_writer(const Device& device, const UntypedKernel& untyped) {
    const auto kernel = require(Kernel<void(int*)>::from_untyped(untyped));
    const auto stream = require(device.create_stream());
    auto out = require(device.alloc<int>(1));
    require(out.zero());
    require(kernel.launch(stream, LaunchShape{}, out));
    return require(out.to_vector())[0];
}

}  // namespace

TEST_CASE("code: saxpy from source gives the right answer") {
    LODE_NEEDS_DEVICE(device, 0);
    constexpr int n = (1 << 20) + 3;
    const auto saxpy = require(device.load<void(float, const float*, float*, int)>(
        Source::text(saxpy_source, "saxpy.cu"), "saxpy"));
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), 0.0F);
    const auto x_there = require(device.upload(x));
    auto y_there = require(device.alloc<float>(n));
    require(y_there.fill(1.0F));
    const auto stream = require(device.create_stream());
    require(saxpy.launch(stream, cover(n, 256), 2.0F, x_there, y_there, n));
    const auto y = require(y_there.to_vector());
    std::size_t wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += y[i] == 2.0F * static_cast<float>(i) + 1.0F ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(saxpy.attributes().registers > 0);
    CHECK(saxpy.attributes().binary_version == device.cc().number());
}

TEST_CASE("code: name expressions find templates and namespaces") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto source = Source::text(R"(
namespace shop {
template <class T, int Factor> __global__ void scale(T* x, int n) {
    if (threadIdx.x < n) x[threadIdx.x] *= Factor;
}
})",
                                     "scale.cu");
    const std::string of_float = "shop::scale<float, 3>";
    const std::string of_double = "shop::scale<double, 5>";
    const auto image = require(device.compile(source, {.name_expressions = {of_float, of_double}}));
    const auto library = require(device.load(image));
    const auto floats = require(library.kernel<void(float*, int)>(of_float));
    const auto doubles = require(library.kernel<void(double*, int)>(of_double));
    CHECK(require(library.kernel_names()).size() == 2);

    const auto stream = require(device.create_stream());
    auto x = require(device.upload(std::vector<float>{1, 2}));
    auto y = require(device.upload(std::vector<double>{1, 2}));
    require(floats.launch(stream, {.block = {32}}, x, 2));
    require(doubles.launch(stream, {.block = {32}}, y, 2));
    CHECK(require(x.to_vector()) == std::vector<float>{3, 6});
    CHECK(require(y.to_vector()) == std::vector<double>{5, 10});

    const auto error = require_error(library.kernel("shop::scale<float, 4>"));
    CHECK(error.code == Errc::not_found);
    CHECK_CONTAINS(error.message, "Did you mean 'shop::scale<float, 3>'?");
}

TEST_CASE("code: two modules may have a kernel of the same name") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto one = require(device.load(constant_writer(11), "k"));
    const auto two = require(device.load(constant_writer(22), "k"));
    CHECK(run_writer(device, one) == 11);
    CHECK(run_writer(device, two) == 22);
}

TEST_CASE("code: globals are found, written and read, including pointers") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto source = Source::text(R"(
__constant__ float constData[256];
__device__ float devData;
__device__ float* devPointer;
extern "C" __global__ void k() {
    devPointer[threadIdx.x] = constData[threadIdx.x] + devData;
})",
                                     "globals.cu");
    const auto image = require(device.compile(
        source, {.name_expressions = {"&constData", "&devData", "&devPointer", "k"}}));
    const auto library = require(device.load(image));
    const auto kernel = require(library.kernel<void()>("k"));

    std::vector<float> data(256);
    std::iota(data.begin(), data.end(), 0.0F);
    const float added = 3.14F;
    auto out = require(device.alloc<float>(256));
    float* const pointer = out.data();
    CHECK(require(library.global("constData")).size == 1024);
    CHECK(require(library.global("&devData")).size == 4);
    require(library.write_global("constData", data.data(), 1024));
    require(library.write_global("devData", &added, sizeof(added)));
    require(library.write_global("devPointer", &pointer, sizeof(pointer)));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.block = {256}}));
    const auto result = require(out.to_vector());
    CHECK(result[0] == added);
    CHECK(result[255] == 255.0F + added);
    float back = 0;
    require(library.read_global("devData", &back, sizeof(back)));
    CHECK(back == added);
    CHECK(require_error(library.global("noData")).code == Errc::not_found);
    CHECK(require_error(library.write_global("devData", data.data(), 8)).code ==
          Errc::invalid_argument);
}

TEST_CASE("code: typed variables are written and read on a stream, in order with kernels") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto source = Source::text(R"(
__constant__ float factors[256];
__device__ float total[256];
__device__ float* place;
extern "C" __global__ void k() { total[threadIdx.x] += factors[threadIdx.x] + *place; })",
                                     "typed.cu");
    const auto library = require(device.load(require(
        device.compile(source, {.name_expressions = {"&factors", "&total", "&place", "k"}}))));
    const auto kernel = require(library.kernel<void()>("k"));
    const auto factors = require(library.global<float>("factors", 256));
    const auto total = require(library.global<float>("total"));
    const auto place = require(library.global<float*>("place", 1));
    CHECK(require_error(library.global<float>("factors", 255)).code == Errc::invalid_argument);
    CHECK(require_error(library.global<std::array<float, 7>>("total")).code ==
          Errc::invalid_argument);

    const auto added = require(device.upload({2.0F}));
    float* const address = const_cast<float*>(added.data());
    std::vector<float> first(256, 1.0F);
    std::vector<float> second(256, 10.0F);
    std::vector<float> result(256);
    const auto stream = require(device.create_stream());
    require(total.zero_async(stream));
    require(place.copy_from_async(stream, std::span(&address, 1)));
    require(factors.copy_from_async(stream, first));
    require(kernel.launch(stream, {.block = {256}}));
    require(factors.copy_from_async(stream, second));
    require(kernel.launch(stream, {.block = {256}}));
    require(total.copy_to_async(stream, result));
    require(stream.sync());
    CHECK(result == std::vector<float>(256, 15.0F));
}

TEST_CASE("code: a managed variable is read and written by both sides") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.properties().managed_memory, "the device has no managed memory");
    const auto source = Source::text(R"(
__managed__ int counters[4];
__device__ int plain;
extern "C" __global__ void k() { counters[threadIdx.x] += plain + 1; })",
                                     "managed.cu");
    const auto library = require(
        device.load(require(device.compile(source, {.name_expressions = {"&plain", "k"}}))));
    const auto kernel = require(library.kernel<void()>("k"));
    const auto counters = require(library.managed<int>("counters"));
    REQUIRE(counters.size() == 4);
    counters[2] = 40;
    require(require(library.global<int>("plain")).fill(1));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, {.block = {4}}));
    require(device.sync());
    CHECK(counters[2] == 42);
    CHECK(counters[0] == 2);
    const auto refused = require_error(library.managed<int>("plain"));
    CHECK(refused.code == Errc::not_found);
    CHECK(refused.message == "Image 'managed.cu' has no managed variable 'plain'.");
}

TEST_CASE("code: the driver compiles PTX on request") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto image = require(device.compile(constant_writer(33), {.name_expressions = {"k"}}));
    const auto library = require(device.load(image, {.verbose_log = true, .prefer_ptx = true}));
    MESSAGE("the driver's compiler says: ", library.load_log());
    CHECK(run_writer(device, require(library.kernel("k"))) == 33);
}

TEST_CASE("code: machine code of another architecture is refused alone and replaced with PTX") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS(device.cc().cc_major() > 8, "the device runs sm_80 code, or is older");
    const std::string names[] = {"k"};
    const Arch arch(ComputeCapability{8, 0});
    auto image =
        *require(machine()->compiler().compile(constant_writer(44), arch, {}, names)).image;
    const auto library = require(device.load(image));
    CHECK(run_writer(device, require(library.kernel("k"))) == 44);

    image.ptx.clear();
    const auto error = require_error(device.load(image));
    CHECK(error.code == Errc::unsupported_arch);
    CHECK_CONTAINS(error.message, "machine code (sm_80, ");

    // The same if the image claims the device's architecture: the driver's own error is understood.
    image.arch = Arch(device.cc());
    const auto by_driver = require_error(device.load(image));
    MESSAGE(by_driver.describe());
    CHECK((by_driver.code == Errc::unsupported_arch || by_driver.code == Errc::invalid_image));
}

TEST_CASE("code: the error for PTX that the driver refuses includes the driver's log") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto nonsense = require(Image::from_ptx(
        ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { nonsense.u32 1; }\n",
        "nonsense.ptx"));
    const auto invalid = require_error(device.load(nonsense));
    CHECK(invalid.code == Errc::link_failed);
    CHECK_CONTAINS(invalid.message, "the driver can't compile the PTX");
    CHECK_CONTAINS(invalid.log, "nonsense");

    // The software device accepts any version as long as it knows every instruction.
    const auto future = require(Image::from_ptx(
        ".version 99.0\n.target sm_75\n.address_size 64\n.entry k() { nonsense.u32 1; }\n",
        "future.ptx"));
    const auto too_new = require_error(device.load(future));
    MESSAGE(too_new.describe());
    CHECK(too_new.code == Errc::driver_too_old);
    CHECK_CONTAINS(too_new.message, "ISA 99.0");
}

TEST_CASE("code: repeated loading and unloading doesn't leak memory") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto image = require(device.compile(constant_writer(1), {.name_expressions = {"k"}}));
    const auto cycle = [&] {
        const auto library = require(device.load(image));
        CHECK(run_writer(device, require(library.kernel("k"))) == 1);
    };
    for (int i = 0; i < 8; ++i)
        cycle();
    const auto before = require(device.memory_info()).free_bytes;
    for (int i = 0; i < 64; ++i)
        cycle();
    const auto after = require(device.memory_info()).free_bytes;
    constexpr std::size_t slack = std::size_t{8} << 20;
    CHECK(after + slack >= before);
}
