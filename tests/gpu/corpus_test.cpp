// Runs the corpus on a GPU and on the software device, from the same compilation: both must be
// right and agree.
#include "tests/corpus/corpus.hpp"

#include <lode/lode.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace lode;

namespace {

template <class T>
T value(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().describe());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// A corpus device on top of any lode device.
class RuntimeDevice final : public corpus::Device {
public:
    RuntimeDevice(lode::Device device, Library library)
        : device_(std::move(device)),
          library_(std::move(library)),
          stream_(value(device_.create_stream())) {}

    std::uint64_t allocate(std::size_t bytes) override {
        auto buffer = value(device_.alloc<std::byte>(bytes));
        const auto address = static_cast<std::uint64_t>(buffer.native());
        buffers_.emplace(address, std::move(buffer));
        return address;
    }
    void upload(std::uint64_t to, std::span<const std::byte> bytes) override {
        if (const auto buffer = buffers_.find(to); buffer != buffers_.end())
            return value(buffer->second.copy_from(bytes));
        value(library_.write_global(name_of(to), bytes.data(), bytes.size()));
    }
    void download(std::span<std::byte> bytes, std::uint64_t from) override {
        if (const auto buffer = buffers_.find(from); buffer != buffers_.end())
            return value(buffer->second.copy_to(bytes));
        value(library_.read_global(name_of(from), bytes.data(), bytes.size()));
    }
    std::uint64_t global(std::string_view name) override {
        const auto address = static_cast<std::uint64_t>(value(library_.global(name)).address);
        globals_.emplace(address, name);
        return address;
    }
    void launch(std::string_view name, corpus::Shape grid, corpus::Shape block,
                const corpus::Arguments& arguments, unsigned shared, bool cooperative) override {
        const auto kernel = value(library_.kernel(name));
        std::vector<std::byte> bytes(arguments.bytes().begin(), arguments.bytes().end());
        std::vector<void*> pointers;
        for (const auto& slot : value(kernel.parameters()))
            pointers.push_back(bytes.data() + slot.offset);
        value(kernel.launch(stream_,
                            {.grid = {grid.x, grid.y, grid.z},
                             .block = {block.x, block.y, block.z},
                             .dynamic_shared_bytes = shared,
                             .cooperative = cooperative},
                            pointers));
        value(stream_.sync());
    }

private:
    const std::string& name_of(std::uint64_t address) const {
        const auto found = globals_.find(address);
        if (found == globals_.end()) throw std::runtime_error("no buffer begins at this address");
        return found->second;
    }

    lode::Device device_;
    Library library_;
    Stream stream_;
    std::map<std::uint64_t, DeviceBuffer<std::byte>> buffers_;
    std::map<std::uint64_t, std::string> globals_;
};

/// The distance of two values in units in the last place, from their bits.
template <class Bits>
std::uint64_t ulp_distance(Bits a, Bits b) {
    using Signed = std::make_signed_t<Bits>;
    const auto ordered = [](Bits bits) {
        const auto number = static_cast<Signed>(bits);
        return number < 0 ? static_cast<Signed>(std::numeric_limits<Signed>::min() - number)
                          : number;
    };
    const auto x = ordered(a);
    const auto y = ordered(b);
    return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                 : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

constexpr std::uint64_t different = std::numeric_limits<std::uint64_t>::max();

std::uint64_t distance(const corpus::Recorded& a, const corpus::Recorded& b) {
    if (a.bytes == b.bytes) return 0;
    if (a.bytes.size() != b.bytes.size() || a.real_size == 0) return different;
    std::uint64_t most = 0;
    for (std::size_t at = 0; at < a.bytes.size(); at += a.real_size) {
        std::uint64_t ulp = 0;
        if (a.real_size == 4) {
            float x = 0;
            float y = 0;
            std::memcpy(&x, a.bytes.data() + at, 4);
            std::memcpy(&y, b.bytes.data() + at, 4);
            if (x == y || (x != x && y != y)) continue;
            ulp = ulp_distance(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y));
        } else {
            double x = 0;
            double y = 0;
            std::memcpy(&x, a.bytes.data() + at, 8);
            std::memcpy(&y, b.bytes.data() + at, 8);
            if (x == y || (x != x && y != y)) continue;
            ulp = ulp_distance(std::bit_cast<std::uint64_t>(x), std::bit_cast<std::uint64_t>(y));
        }
        most = std::max(most, ulp);
    }
    return most;
}

/// One device, and each source loaded once.
class Machine {
public:
    explicit Machine(Runtime runtime)
        : runtime_(std::move(runtime)), device_(value(runtime_.device())) {}

    [[nodiscard]] const lode::Device& device() const { return device_; }
    [[nodiscard]] const Runtime& runtime() const { return runtime_; }

    /// Runs a case; returns the values that it compared.
    std::vector<corpus::Recorded> run(const corpus::Case& one, const Image& image) {
        const auto known = libraries_.find(one.source);
        const Library library =
            known != libraries_.end() ? known->second : value(device_.load(image));
        libraries_.emplace(one.source, library);
        RuntimeDevice device(device_, library);
        corpus::Check check;
        one.run(device, check);
        CHECK(check.compared() > 0);
        for (const auto& difference : check.differences())
            FAIL_CHECK(std::string(one.name) << " on " << device_.name() << ": " << difference);
        return check.recorded();
    }

private:
    Runtime runtime_;
    lode::Device device_;
    std::map<std::string_view, Library> libraries_;
};

}  // namespace

TEST_CASE("gpu corpus: the software device and the GPU give the same results") {
    ::setenv("LODE_DRIVER", "libcuda.so.1", 0);
    auto real = Runtime::open();
    if (!real || real->device_count() == 0) {
        MESSAGE("skipped: " << (real ? "no device" : real.error().message));
        return;
    }
    Machine gpu(*std::move(real));
    ::setenv("LODE_EMULATOR_DEVICES", Arch(gpu.device().cc()).to_string().c_str(), 0);
    auto emulated = Runtime::open({.driver = {.emulator = true}});
    if (!emulated) FAIL(emulated.error().describe());
    Machine software(*std::move(emulated));
    const Arch arch(gpu.device().cc());
    if (gpu.device().cc() != software.device().cc()) {
        MESSAGE("skipped: the software device presents a different architecture than the GPU");
        return;
    }

    // Only cases with .approx instructions may differ. Sums of forces and differences of prices
    // lose leading digits, so one ulp of an operand becomes many of the result.
    const std::map<std::string_view, std::uint64_t> most_ulp{{"softmax", 4},
                                                             {"float_functions", 2},
                                                             {"nbody", 256},
                                                             {"black_scholes", 16},
                                                             {"black_scholes_double", 16}};
    std::string table = fmt::format(
        "| Source | Case | Values | {} against the software device |\n| --- | --- | --- | --- |\n",
        gpu.device().name());
    std::map<std::string_view, std::shared_ptr<const Image>> images;
    for (const auto& one : corpus::all_cases()) {
        INFO(one.name, " of ", one.source);
        auto& image = images[one.source];
        if (!image) {
            CompileOptions options;
            options.line_info = true;
            options.extra_flags = {"--device-int128"};
            const auto source = Source::file(std::string(LODE_SOURCE_DIR "/tests/corpus/kernels/") +
                                             std::string(one.source));
            image = value(gpu.runtime().compiler().compile(source, arch, options, {})).image;
        }
        const auto on_gpu = gpu.run(one, *image);
        const auto on_software = software.run(one, *image);
        REQUIRE(on_gpu.size() == on_software.size());
        std::uint64_t most = 0;
        std::size_t values = 0;
        for (std::size_t k = 0; k < on_gpu.size(); ++k) {
            most = std::max(most, distance(on_gpu[k], on_software[k]));
            values += on_gpu[k].count;
        }
        const std::string verdict = most == 0           ? "the same bits"
                                    : most == different ? "differ"
                                                        : fmt::format("at most {} ulp", most);
        table += fmt::format("| {} | {} | {} | {} |\n", one.source, one.name, values, verdict);
        const auto limit = most_ulp.find(one.name);
        CHECK_MESSAGE(most <= (limit == most_ulp.end() ? 0 : limit->second), verdict);
    }
    MESSAGE("\n" << table);
    if (const char* path = std::getenv("LODE_CORPUS_TABLE")) std::ofstream(path) << table;
}
