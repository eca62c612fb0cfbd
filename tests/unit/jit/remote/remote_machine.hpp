// A machine of a fleet, for tests.
#pragma once

#include "tests/unit/jit/cache/fake_compiler.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <utility>

namespace LODE_NAMESPACE::cache {

inline constexpr const char* header = "#pragma once\nint answer = 42;\n";
inline constexpr const char* text = "#include \"answer.h\"\n__global__ void kernel() {}\n";

/// A machine: a cache folder and a checkout of its own.
class RemoteMachine {
public:
    explicit RemoteMachine(std::string url) : url_(std::move(url)) {
        scratch.write("src/answer.h", header);
        scratch.write("src/kernel.cu", text);
        settle();
    }
    /// A process that starts now.
    [[nodiscard]] FakeProcess process(const std::function<void(CacheOptions&)>& change = {}) const {
        CacheOptions options;
        options.folder = scratch / "cache";
        options.remote.url = url_;
        options.remote.first_byte = std::chrono::milliseconds(2000);  // For slow machines.
        options.remote.drain = std::chrono::seconds(20);
        if (change) change(options);
        return FakeProcess(std::move(options));
    }
    [[nodiscard]] Source source() const { return Source::file(scratch / "src/kernel.cu"); }
    /// Compiles in a process that ends afterwards.
    [[nodiscard]] std::string tier() const { return process().tier(source()); }

    Scratch scratch;

private:
    std::string url_;
};

}  // namespace LODE_NAMESPACE::cache
