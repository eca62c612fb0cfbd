// Measures what a user's function costs in a library's kernel, by how it gets there: pasted into
// the source, linked as LTO-IR, linked as relocatable code, or called through a pointer.
//
//     lode_bench_lto_callback [sm_90]
//
// Registers, occupancy and size need no device: the target is then the argument. With a device it
// also measures times, as ratios to the pasted source.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace lode::bench {
namespace {

constexpr std::string_view user_code =
    "extern \"C\" __device__ float user_function(float x) { return 0.5F * x + 0.25F; }\n";
constexpr std::string_view declaration = "extern \"C\" __device__ float user_function(float x);\n";
constexpr std::string_view pointer =
    "__device__ float (*user_pointer)(float) = user_function;\n"
    "#define user_function (*user_pointer)\n";
constexpr std::string_view library_code = R"(
extern "C" __global__ void apply(const float* x, float* y, int n, int calls) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
#pragma unroll 1
    for (int k = 0; k < calls; ++k) value = user_function(value);
    y[i] = value;
}
)";

constexpr int elements = 1 << 24;
constexpr std::uint32_t block_threads = 256;
constexpr std::array calls_per_element{1, 256};

/// One way from the user's function to the kernel.
struct Way {
    std::string_view name;
    Image image;
};

Image compile(std::string code, const std::string& name, Arch arch, CompileOptions options = {}) {
    return unwrap(Compiler().compile(Source::text(std::move(code), name), arch, options));
}

Image link(Arch arch, const CompileOptions& options) {
    const std::array images{
        compile(std::string(declaration).append(library_code), "library.cu", arch, options),
        compile(std::string(user_code), "user.cu", arch, options)};
    return unwrap(Linker().link(images, arch, {.verbose = true}));
}

std::vector<Way> ways_for(Arch arch) {
    CompileOptions lto;
    lto.lto = true;
    CompileOptions relocatable;
    relocatable.relocatable = true;
    std::vector<Way> ways;
    ways.push_back(
        {"pasted", compile(std::string(user_code).append(library_code), "one.cu", arch)});
    ways.push_back({"LTO-IR", link(arch, lto)});
    ways.push_back({"relocatable code", link(arch, relocatable)});
    ways.push_back({"pointer", compile(std::string(user_code).append(pointer).append(library_code),
                                       "pointer.cu", arch)});
    return ways;
}

/// The value that the kernel computes for an element.
float reference(float value, int calls) {
    for (int k = 0; k < calls; ++k)
        value = std::fma(0.5F, value, 0.25F);
    return value;
}

/// The shortest time of a launch, in milliseconds; throws if a result is wrong.
double measure(const Device& device, const Image& image, const DeviceBuffer<float>& from,
               int calls) {
    const auto library = unwrap(device.load(image));
    const auto apply = unwrap(library.kernel<void(const float*, float*, int, int)>("apply"));
    const auto to = unwrap(device.alloc<float>(elements));
    const auto stream = unwrap(device.create_stream());
    const auto time =
        unwrap(time_work(device, stream, {.warm_ups = 3, .measurements = 21, .runs = 5}, [&] {
            return apply.launch(stream, cover(elements, block_threads), from, to, elements, calls);
        }));
    const auto result = unwrap(to.to_vector());
    constexpr int checked = 64;
    for (int i = 0; i < elements; i += elements / checked) {
        const float value = static_cast<float>(i) / elements;
        if (result[static_cast<std::size_t>(i)] != reference(value, calls))
            throw std::runtime_error(fmt::format("element {} is wrong", i));
    }
    return time.min_ms;
}

void print_costs(Arch arch, const std::vector<Way>& ways) {
    const auto limits = unwrap(multiprocessor_limits(arch.cc()));
    fmt::print("Compiled for {}, blocks of {} threads\n\n{:<18}{:>10}{:>8}{:>11}{:>14}\n",
               arch.to_string(), block_threads, "", "registers", "stack", "occupancy",
               "cubin, bytes");
    for (const auto& [name, image] : ways) {
        const KernelResources* const apply = image.resources_of("apply");
        if (apply == nullptr) throw std::runtime_error("the report of 'apply' is missing");
        const auto estimate = unwrap(
            estimate_occupancy(limits, BlockNeeds::of(*apply, static_cast<int>(block_threads))));
        fmt::print("{:<18}{:>10}{:>8}{:>11.2f}{:>14}\n", name, apply->registers, apply->stack_bytes,
                   estimate.fraction, image.cubin.size());
    }
}

void print_times(const Device& device, const std::vector<Way>& ways) {
    std::vector<float> values(elements);
    for (int i = 0; i < elements; ++i)
        values[static_cast<std::size_t>(i)] = static_cast<float>(i) / elements;
    const auto from = unwrap(device.upload(values));
    fmt::print("\n{}: ms, and the ratio to the pasted source\n\n{:<18}", device.properties().name,
               "");
    for (const int calls : calls_per_element)
        fmt::print("{:>24}", fmt::format("{} call(s) per element", calls));
    fmt::print("\n");
    std::array<double, calls_per_element.size()> pasted{};
    for (const auto& [name, image] : ways) {
        fmt::print("{:<18}", name);
        for (std::size_t i = 0; i < calls_per_element.size(); ++i) {
            const double ms = measure(device, image, from, calls_per_element[i]);
            if (&image == &ways.front().image) pasted[i] = ms;
            fmt::print("{:>24}", fmt::format("{:.4f}  {:.3f}", ms, ms / pasted[i]));
        }
        fmt::print("\n");
    }
}

void run(std::optional<std::string_view> target) {
    const auto runtime = Runtime::open();
    std::optional<Device> device;
    if (!target && runtime && !runtime->driver().is_emulator() && runtime->device_count() > 0)
        device = unwrap(runtime->device());
    const Arch arch = device ? Arch(device->properties().cc)
                             : unwrap(Arch::parse(std::string(target.value_or("sm_90"))));
    const auto ways = ways_for(arch);
    print_costs(arch, ways);
    if (device) {
        print_times(*device, ways);
    } else {
        fmt::print("\nTimes need a device.\n");
    }
}

}  // namespace
}  // namespace lode::bench

int main(int count, char** arguments) {
    try {
        lode::bench::run(count > 1 ? std::optional<std::string_view>(arguments[1]) : std::nullopt);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
