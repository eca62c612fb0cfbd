// Pitched memory: allocation, copies of boxes, fills, and kernels that walk its rows.
#include "tests/gpu/support.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

using namespace lode;
using namespace lode::test;

namespace {

std::vector<int> counted(BoxExtent extent) {
    std::vector<int> values(extent.volume());
    std::iota(values.begin(), values.end(), 0);
    return values;
}

/// Checks that a call is refused with this part in its message.
template <class T>
void check_box_refused(Result<T> result, std::string_view part) {
    const Error error = require_error(std::move(result));
    CHECK(error.code == Errc::invalid_argument);
    CHECK_CONTAINS(error.message, part);
}

}  // namespace

TEST_CASE("pitched: a kernel walks the rows of a plane") {
    LODE_NEEDS_DEVICE(device, 0);
    // The loop of Programming Guide 3.2.2, with one thread for each row.
    const auto kernel = load<void(float*, std::size_t, int, int)>(device, R"(
extern "C" __global__ void k(float* plane, size_t pitch, int width, int height) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    float* const row = reinterpret_cast<float*>(reinterpret_cast<char*>(plane) + y * pitch);
    for (int x = 0; x < width; ++x) row[x] = 2 * row[x] + y;
})");
    constexpr int width = 64;
    constexpr int height = 64;
    auto plane = require(PitchedBuffer<float>::allocate(device, {width, height}));
    CHECK(plane.pitch() >= width * sizeof(float));
    CHECK(plane.extent() == BoxExtent{width, height, 1});
    std::vector<float> values(width * height);
    std::iota(values.begin(), values.end(), 0.0F);
    require(plane.span().copy_from(values));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, cover(height, 32), plane, plane.pitch(), width, height));
    std::vector<float> expected(values.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = 2 * values[i] + static_cast<float>(i / width);
    CHECK(require(plane.span().to_vector()) == expected);
}

TEST_CASE("pitched: a kernel walks the slices of a cube") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto kernel = load<void(float*, std::size_t, int, int, int)>(device, R"(
extern "C" __global__ void k(float* cube, size_t pitch, int width, int height, int depth) {
    const int z = blockIdx.x * blockDim.x + threadIdx.x;
    if (z >= depth) return;
    char* const slice = reinterpret_cast<char*>(cube) + z * pitch * height;
    for (int y = 0; y < height; ++y) {
        float* const row = reinterpret_cast<float*>(slice + y * pitch);
        for (int x = 0; x < width; ++x) row[x] += z;
    }
})");
    constexpr int side = 64;
    constexpr BoxExtent extent{side, side, side};
    auto cube = require(PitchedBuffer<float>::allocate(device, extent));
    require(cube.span().fill(0.5F));
    const auto stream = require(device.create_stream());
    require(kernel.launch(stream, cover(side, 32), cube.span(), cube.pitch(), side, side, side));
    const auto values = require(cube.span().to_vector());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
        wrong += values[i] != 0.5F + static_cast<float>(i / (side * side)) ? 1 : 0;
    CHECK(values.size() == extent.volume());
    CHECK(wrong == 0);
}

TEST_CASE("pitched: boxes are copied between host and device in every direction") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    constexpr BoxExtent whole{7, 5, 3};
    constexpr BoxExtent part{3, 2, 2};
    constexpr BoxOffset from{4, 3, 1};
    constexpr BoxOffset to{1, 2, 0};
    const auto index = [&](BoxOffset base, std::size_t x, std::size_t y, std::size_t z) {
        return ((base.z + z) * whole.height + base.y + y) * whole.width + base.x + x;
    };
    const auto source = counted(whole);
    std::vector<int> expected(whole.volume(), -1);
    for (std::size_t z = 0; z < part.depth; ++z) {
        for (std::size_t y = 0; y < part.height; ++y) {
            for (std::size_t x = 0; x < part.width; ++x)
                expected[index(to, x, y, z)] = source[index(from, x, y, z)];
        }
    }
    auto first = require(PitchedBuffer<int>::allocate(device, whole));
    auto second = require(PitchedBuffer<int>::allocate(device, whole));
    require(first.span().copy_from(source));
    const auto here = require(require(HostBox<const int>::over(source, whole)).box(from, part));
    for (const bool later : {false, true}) {
        // From the host.
        require(second.span().fill(-1));
        auto target = require(second.span().box(to, part));
        require(later ? target.copy_from_async(stream, here) : target.copy_from(here));
        require(stream.sync());
        CHECK(require(second.span().to_vector()) == expected);
        // On the device.
        require(second.span().fill(-1));
        const PitchedSpan<const int> there = require(first.span().box(from, part));
        require(later ? target.copy_from_async(stream, there) : target.copy_from(there));
        require(stream.sync());
        CHECK(require(second.span().to_vector()) == expected);
        // To the host.
        std::vector<int> back(whole.volume(), -1);
        const auto box = require(require(HostBox<int>::over(back, whole)).box(to, part));
        require(later ? there.copy_to_async(stream, box) : there.copy_to(box));
        require(stream.sync());
        CHECK(back == expected);
    }
}

TEST_CASE("pitched: fills set the elements of a box and nothing else") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    constexpr BoxExtent whole{6, 4, 3};
    const auto check = [&](auto before, auto after) {
        using T = decltype(before);
        auto buffer = require(PitchedBuffer<T>::allocate(device, whole));
        for (const bool later : {false, true}) {
            require(later ? buffer.span().fill_async(stream, before) : buffer.span().fill(before));
            const auto part = require(buffer.span().box({2, 1, 1}, {3, 2, 2}));
            require(later ? part.fill_async(stream, after) : part.fill(after));
            require(stream.sync());
            const auto values = require(buffer.span().to_vector());
            CHECK(std::ranges::count(values, after) == 12);
            CHECK(std::ranges::count(values, before) == 60);
            CHECK(require(require(buffer.span().row(1, 1)).to_vector()) ==
                  std::vector<T>{before, before, after, after, after, before});
            require(later ? part.zero_async(stream) : part.zero());
            require(stream.sync());
            CHECK(std::ranges::count(require(buffer.span().to_vector()), T{}) == 12);
        }
    };
    check('a', 'b');
    check(std::int16_t{-2}, std::int16_t{300});
    check(1.5F, -4.0F);
}

TEST_CASE("pitched: elements of 8 and 12 bytes are copied and zeroed") {
    LODE_NEEDS_DEVICE(device, 0);
    struct Point {
        float x, y, z;
        bool operator==(const Point&) const = default;
    };
    constexpr BoxExtent extent{5, 3, 2};
    std::vector<Point> points(extent.volume());
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i] = {static_cast<float>(i), 1, 2};
    auto buffer = require(PitchedBuffer<Point>::allocate(device, extent));
    require(buffer.span().copy_from(points));
    CHECK(require(buffer.span().to_vector()) == points);
    require(buffer.span().zero());
    CHECK(require(buffer.span().to_vector()) == std::vector<Point>(extent.volume()));
    auto doubles = require(PitchedBuffer<double>::allocate(device, {3, 2}));
    require(doubles.span().copy_from(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}));
    CHECK(require(require(doubles.span().row(1)).to_vector()) == std::vector{4.0, 5.0, 6.0});
}

TEST_CASE("pitched: what doesn't fit is refused") {
    LODE_NEEDS_DEVICE(device, 0);
    const auto stream = require(device.create_stream());
    auto buffer = require(PitchedBuffer<int>::allocate(device, {4, 3, 2}));
    auto other = require(PitchedBuffer<int>::allocate(device, {4, 3, 1}));
    const auto span = buffer.span();
    check_box_refused(span.box({1, 0, 0}, {4, 1, 1}), "A box of 4 x 1 x 1 elements at (1, 0, 0)");
    check_box_refused(span.box({0, 0, 1}, {1, 1, SIZE_MAX}), "exceeds the box of 4 x 3 x 2");
    check_box_refused(span.row(3), "at (0, 3, 0)");
    check_box_refused(span.copy_from(other), "box of 4 x 3 x 1 elements can't be copied");
    std::vector<int> host(23);
    check_box_refused(span.copy_from(host), "Host memory of 23 elements");
    check_box_refused(span.copy_to(host), "a box of 4 x 3 x 2 elements");
    check_box_refused(HostBox<int>::over(host, {SIZE_MAX, 2, 1}), "Host memory of 23 elements");
    check_box_refused(PitchedBuffer<char>::allocate(device, {std::size_t{1} << 33, 1}),
                      ", the largest pitch of ");
    const Error too_much =
        require_error(PitchedBuffer<char>::allocate(device, {1 << 20, std::size_t{1} << 40}));
    CHECK(too_much.code == Errc::out_of_memory);
    CHECK_CONTAINS(too_much.message, "exceeds the free memory");
    CHECK(require_error(PitchedBuffer<int>::allocate(device, {SIZE_MAX / 2, SIZE_MAX, 1})).code ==
          Errc::out_of_memory);

    PitchedBuffer<int> empty;
    CHECK_FALSE(empty);
    check_box_refused(empty.span().zero(), "The buffer is empty");
    check_box_refused(empty.span().copy_from(std::vector<int>{}), "The buffer is empty");
    check_box_refused(empty.span().fill_async(stream, 1), "The buffer is empty");
    auto moved = std::move(other);
    CHECK(moved);
    CHECK_FALSE(other);  // NOLINT(bugprone-use-after-move): it is empty.
    auto none = require(PitchedBuffer<int>::allocate(device, {0, 3, 1}));
    CHECK(none);
    CHECK(none.data() == nullptr);
    require(none.span().zero());
    CHECK(require(none.span().to_vector()).empty());
}

TEST_CASE("pitched: boxes are copied between devices") {
    LODE_NEEDS_DEVICE(device, 0);
    LODE_NEEDS_DEVICE(peer, 1);
    constexpr BoxExtent extent{5, 4, 3};
    auto here = require(PitchedBuffer<int>::allocate(device, extent));
    auto there = require(PitchedBuffer<int>::allocate(peer, extent));
    const auto values = counted(extent);
    require(here.span().copy_from(values));
    require(there.span().copy_from(here));
    CHECK(require(there.span().to_vector()) == values);
    for (const Device& either : {device, peer}) {
        require(there.span().zero());
        const auto stream = require(either.create_stream());
        require(there.span().copy_from_async(stream, here));
        require(stream.sync());
        CHECK(require(there.span().to_vector()) == values);
    }
    const auto stream = require(peer.create_stream());
    check_box_refused(here.span().zero_async(stream), "but the stream belongs to device 1");
}
