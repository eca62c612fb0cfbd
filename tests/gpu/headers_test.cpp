// Headers that kernel source includes: what they declare also works when it runs.
#include "tests/gpu/support.hpp"

#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

using namespace lode;
using namespace lode::test;

TEST_CASE("headers: std::mutex excludes the threads of a device, and call_once calls once") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(int*)>(device, R"(
#include <mutex>
__device__ std::mutex guard;
__device__ std::mutex other;
__device__ std::once_flag once;
extern "C" __global__ void k(int* out) {
    std::call_once(once, [&](int by) { out[1] += by; }, 3);
    {
        std::lock_guard<std::mutex> lock(guard);
        out[0] = out[0] + 1;
    }
    {
        std::scoped_lock both(other, guard);
        out[2] = out[2] + 1;
    }
    std::unique_lock<std::mutex> tried(guard, std::try_to_lock);
    if (tried) out[3] = 1;
})");
    const auto out = require(device.upload(std::vector<int>(4, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{4, 1, 1}, {64, 1, 1}}, out));
    REQUIRE(stream.sync());
    CHECK(require(out.to_vector()) == std::vector<int>{256, 3, 256, 1});
}

TEST_CASE("headers: times of <ctime> are those of the global timer, which counts from 1970") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(long long*)>(device, R"(
#include <ctime>
extern "C" __global__ void k(long long* out) {
    std::timespec now;
    out[0] = std::timespec_get(&now, TIME_UTC) == TIME_UTC && std::timespec_get(&now, 77) == 0;
    out[1] = std::time(nullptr) - now.tv_sec;
    out[2] = now.tv_sec;
    out[3] = now.tv_nsec;
    out[4] = std::clock() - std::clock() <= 0;
})");
    const auto out = require(device.upload(std::vector<long long>(5, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, out));
    REQUIRE(stream.sync());
    const auto values = require(out.to_vector());
    CHECK(values[0] == 1);
    CHECK(values[1] >= 0);
    CHECK(values[1] <= 1);
    // The device's timer may run apart from the host's clock, but it is the same day.
    CHECK(std::abs(values[2] - static_cast<long long>(std::time(nullptr))) < 24LL * 3600);
    CHECK(values[3] >= 0);
    CHECK(values[3] < 1'000'000'000);
    CHECK(values[4] == 1);
}

TEST_CASE("headers: std::string_view searches and compares") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(const char*, int*)>(device, R"(
#include <string_view>
using namespace std::string_view_literals;
extern "C" __global__ void k(const char* text, int* out) {
    std::string_view view(text);
    out[0] = view.size();
    out[1] = view.find("cd"sv);
    out[2] = view.find('x') == std::string_view::npos;
    out[3] = view.rfind('a');
    out[4] = view.substr(2, 3) == "cda"sv && view < "abd"sv && view.compare("abc"sv) > 0;
    view.remove_prefix(1);
    out[5] = view.front() == 'b' && view.back() == 'b' && view.find_first_of("dc"sv) == 1;
})");
    const std::string text = "abcdab";
    const auto in = require(device.upload(std::vector<char>(text.c_str(), text.c_str() + 7)));
    const auto out = require(device.upload(std::vector<int>(6, 0)));
    const auto stream = require(device.create_stream());
    REQUIRE(kernel.launch(stream, {{1, 1, 1}, {1, 1, 1}}, in, out));
    REQUIRE(stream.sync());
    CHECK(require(out.to_vector()) == std::vector<int>{6, 2, 1, 4, 1, 1});
}
