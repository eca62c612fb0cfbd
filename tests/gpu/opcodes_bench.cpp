// Runs the opcode families on a lode device through the driver: a GPU or the software device.
#include "tests/gpu/opcodes_bench.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace lode::emulator::exec::testing {

namespace {

class DeviceBench final : public Bench {
public:
    DeviceBench(Runtime runtime, Device device, Stream stream)
        : runtime_(std::move(runtime)), device_(std::move(device)), stream_(std::move(stream)) {}

    std::string load(const std::string& ptx) override {
        kernel_.reset();
        const auto loaded =
            Image::from_ptx(ptx, "k")
                .and_then([&](Image image) { return device_.load(std::move(image)); })
                .and_then([](const Library& library) { return library.kernel("k"); });
        if (!loaded) return loaded.error().describe();
        kernel_ = *loaded;
        ++loaded_;
        return {};
    }
    // A device may lack what its architecture lacks.
    bool may_lack(const std::string& why) override {
        if (lacking_++ == 0) first_ = why;
        return true;
    }
    [[nodiscard]] bool is_executor() const override { return false; }
    [[nodiscard]] std::string summary() const override {
        std::string text = std::to_string(loaded_) + " kernels ran on " + device_.name() + ".";
        if (lacking_ != 0) {
            text +=
                " " + std::to_string(lacking_) + " weren't loaded, the first because: " + first_;
        }
        return text;
    }

    Ended run(std::uint32_t blocks, std::uint32_t threads, std::span<std::byte> in,
              std::span<std::byte> out, std::span<const std::byte> last, std::uint64_t) override {
        const auto done = run_on_device(blocks, threads, in, out, last);
        if (done) return {};
        return {Fault::launch_failed, done.error().describe()};
    }

private:
    Status run_on_device(std::uint32_t blocks, std::uint32_t threads, std::span<std::byte> in,
                         std::span<std::byte> out, std::span<const std::byte> last) {
        auto from = device_.upload(std::span<const std::byte>(in));
        if (!from) return tl::unexpected(std::move(from).error());
        auto to = device_.upload(std::span<const std::byte>(out));
        if (!to) return tl::unexpected(std::move(to).error());
        auto from_address = static_cast<std::uint64_t>(from->native());
        auto to_address = static_cast<std::uint64_t>(to->native());
        std::vector<std::byte> value(last.begin(), last.end());
        void* parameters[] = {&from_address, &to_address, value.data()};
        if (auto done =
                kernel_->launch(stream_, {.grid = {blocks}, .block = {threads}}, parameters);
            !done)
            return done;
        if (auto done = stream_.sync(); !done) return done;
        if (auto done = from->copy_to(in); !done) return done;
        return to->copy_to(out);
    }

    Runtime runtime_;
    Device device_;
    Stream stream_;
    std::optional<UntypedKernel> kernel_;
    std::size_t loaded_ = 0;
    std::size_t lacking_ = 0;
    std::string first_;
};

}  // namespace

std::unique_ptr<Bench> make_device_bench(Runtime runtime, std::string& why) {
    if (runtime.device_count() == 0) {
        why = "no device";
        return nullptr;
    }
    auto device = runtime.device();
    if (!device) {
        why = device.error().message;
        return nullptr;
    }
    auto stream = device->create_stream();
    if (!stream) {
        why = stream.error().message;
        return nullptr;
    }
    return std::make_unique<DeviceBench>(std::move(runtime), *std::move(device),
                                         *std::move(stream));
}

std::unique_ptr<Bench> make_bench(std::string& why) {
    auto runtime = Runtime::open();
    if (!runtime) {
        why = runtime.error().message;
        return nullptr;
    }
    return make_device_bench(*std::move(runtime), why);
}

}  // namespace lode::emulator::exec::testing
