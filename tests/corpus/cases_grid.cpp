// Cases across warps and blocks: votes, groups, atomics, locks, calls.
#include <algorithm>
#include <bit>
#include <numeric>

#include <tests/corpus/corpus.hpp>

namespace lode::corpus {

namespace {

void votes(Device& device, Check& check) {
    const auto in = integers(64, 40, 0, 100);
    const auto out = device.zeros<unsigned>(64 * 8);
    device.launch("votes", {1}, {64}, Arguments::of(device.put(in), out));
    std::vector<unsigned> want(64 * 8);
    for (unsigned w = 0; w < 2; ++w) {
        const int* v = in.data() + w * 32;
        unsigned odd = 0;
        unsigned two = 0;
        unsigned four = 0;
        bool any = false;
        bool same = true;
        for (unsigned i = 0; i < 32; ++i) {
            odd |= static_cast<unsigned>(v[i] & 1) << i;
            two |= static_cast<unsigned>((v[i] >> 1) & 1) << i;
            four |= static_cast<unsigned>((v[i] >> 2) & 1) << i;
            any = any || v[i] > 90;
            same = same && v[i] % 2 == v[0] % 2;
        }
        for (unsigned i = 0; i < 32; ++i) {
            unsigned* const o = want.data() + (w * 32 + i) * 8;
            o[0] = odd;
            o[1] = (any ? 1u : 0u) + 2;
            for (unsigned k = 0; k < 32; ++k) {
                o[2] |= static_cast<unsigned>(v[k] % 4 == v[i] % 4) << k;
            }
            o[3] = same || w == 1 ? ~0u ^ 5u : 0;
            o[4] = static_cast<unsigned>(v[i * 7 % 32]);
            o[5] = static_cast<unsigned>(v[(i & 16) | ((i ^ 5) & 15)]);
            o[6] = static_cast<unsigned>(i % 8 >= 3 ? v[i - 3] : v[i]);
            o[7] = i < 16 ? two & 0xffff : four & 0xffff0000;
        }
    }
    check.equal("out", device.get<unsigned>(out, want.size()), want);
}

void counts(Device& device, Check& check) {
    const auto in = integers(100, 41, 0, 50);
    const auto out = device.zeros<int>(300);
    device.launch("counts", {1}, {100}, Arguments::of(device.put(in), out));
    const auto thirds =
        static_cast<int>(std::ranges::count_if(in, [](int v) { return v % 3 == 0; }));
    const int any = std::ranges::find(in, 17) != in.end() ? 1 : 0;
    std::vector<int> want;
    for (int k = 0; k < 100; ++k)
        want.insert(want.end(), {thirds, 1, any});
    check.equal("out", device.get<int>(out, 300), want);
}

void tile_sums(Device& device, Check& check) {
    const auto in = integers(256, 42, -99, 99);
    const auto out = device.zeros<int>(32);
    device.launch("tile_sums", {2}, {128}, Arguments::of(device.put(in), out));
    std::vector<int> want;
    for (auto at = in.begin(); at != in.end(); at += 8) {
        want.push_back(std::accumulate(at, at + 8, 0));
    }
    check.equal("out", device.get<int>(out, 32), want);
}

void tile_reduce(Device& device, Check& check) {
    const auto in = integers(256, 43, -99, 99);
    const auto out = device.zeros<int>(16);
    device.launch("tile_reduce", {2}, {128}, Arguments::of(device.put(in), out));
    std::vector<int> want;
    for (auto at = in.begin(); at != in.end(); at += 16) {
        want.push_back(*std::max_element(at, at + 16));
    }
    check.equal("out", device.get<int>(out, 16), want);
}

void coalesced_count(Device& device, Check& check) {
    const int n = 500;
    const auto in = integers(n, 44, 0, 99);
    const auto count = device.zeros<int>(1);
    device.launch("coalesced_count", {4}, {128}, Arguments::of(device.put(in), count, n));
    const auto want = static_cast<int>(std::ranges::count_if(in, [](int v) { return v % 2 == 0; }));
    check.equal("count", device.get<int>(count, 1), {want});
}

void grid_steps(Device& device, Check& check) {
    const int n = 320;
    auto data = integers(n, 45, 0, 9);
    const auto at = device.put(data);
    device.launch("grid_steps", {5}, {64}, Arguments::of(at, 6, n), 0, true);
    for (int s = 0; s < 6; ++s) {
        const auto old = data;
        for (std::size_t i = 0; i < n; ++i)
            data[i] += old[(i + n - 1) % n];
    }
    check.equal("data", device.get<int>(at, n), data);
}

void std_atomics(Device& device, Check& check) {
    const auto out = device.zeros<int>(5);
    const auto sum = device.zeros<float>(1);
    const auto wide = device.zeros<unsigned long long>(3);
    device.launch("std_atomics", {3}, {96}, Arguments::of(out, sum, wide));
    const int n = 288;
    int inc = 0;
    int dec = 0;
    unsigned long long bits = 0;
    for (int k = 0; k < n; ++k) {
        inc = inc >= 9 ? 0 : inc + 1;
        dec = dec == 0 || dec > 9 ? 9 : dec - 1;
        bits ^= 1ull << (k % 64);
    }
    check.equal("out", device.get<int>(out, 5), {n * (n - 1) / 2, n - 1, 2 * n, inc, dec});
    check.equal("sum", device.get<float>(sum, 1), {n * 0.5f});
    check.equal("wide", device.get<unsigned long long>(wide, 3),
                {static_cast<unsigned long long>(n) << 33,
                 static_cast<unsigned long long>(n - 1) << 20, bits});
}

void std_barrier(Device& device, Check& check) {
    const auto out = device.zeros<int>(256);
    device.launch("std_barrier", {2}, {128}, Arguments::of(out));
    std::vector<int> v(128);
    std::iota(v.begin(), v.end(), 0);
    for (int k = 0; k < 4; ++k) {
        const auto old = v;
        for (std::size_t i = 0; i < 128; ++i)
            v[i] += old[(i + 1) % 128];
    }
    auto want = v;
    want.insert(want.end(), v.begin(), v.end());
    check.equal("out", device.get<int>(out, 256), want);
}

void spin_lock(Device& device, Check& check) {
    const auto lock = device.zeros<int>(1);
    const auto counter = device.zeros<int>(1);
    device.launch("spin_lock", {4}, {64}, Arguments::of(lock, counter));
    check.equal("counter", device.get<int>(counter, 1), {256});
}

void wait_for_last(Device& device, Check& check) {
    const auto flag = device.zeros<int>(1);
    const auto out = device.zeros<int>(1);
    device.launch("wait_for_last", {12}, {32}, Arguments::of(flag, out));
    check.equal("out", device.get<int>(out, 1), {42});
}

int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

void recursion(Device& device, Check& check) {
    const auto out = device.zeros<int>(64);
    device.launch("recursion", {1}, {64}, Arguments::of(out));
    std::vector<int> want;
    for (int k = 0; k < 64; ++k)
        want.push_back(fibonacci(k % 12));
    check.equal("out", device.get<int>(out, 64), want);
}

void virtual_calls(Device& device, Check& check) {
    const auto out = device.zeros<float>(64);
    device.launch("virtual_calls", {1}, {64}, Arguments::of(out));
    std::vector<float> want;
    for (int k = 0; k < 64; ++k) {
        const auto side = static_cast<float>(k);
        want.push_back(k % 2 != 0 ? side * side : 3.0f * side * side);
    }
    check.equal("out", device.get<float>(out, 64), want);
}

void pointers(Device& device, Check& check) {
    const auto out = device.zeros<int>(96);
    device.launch("pointers", {1}, {96}, Arguments::of(out, 7));
    std::vector<int> want;
    for (int t = 0; t < 96; ++t) {
        auto v = static_cast<unsigned>(t);
        for (int k = 0; k < 7; ++k) {
            const auto b = static_cast<unsigned>(k + 1);
            const int which = (t + k) % 3;
            v = which == 0 ? v + b : (which == 1 ? v * b : v - b);
        }
        want.push_back(static_cast<int>(v));
    }
    check.equal("out", device.get<int>(out, 96), want);
}

void by_value(Device& device, Check& check) {
    const auto out = device.zeros<int>(64);
    device.launch("by_value", {1}, {64}, Arguments::of(out));
    std::vector<int> want;
    for (int t = 0; t < 64; ++t) {
        const int turns = t % 4 + 1;
        const int added = turns * (turns - 1) / 2;
        want.push_back(t % 6 + 1 + added + static_cast<int>(0.5 * (1 << turns)) + 'a' + turns);
    }
    check.equal("out", device.get<int>(out, 64), want);
}

void local_array(Device& device, Check& check) {
    const auto in = integers(32, 46, -500, 500);
    const auto out = device.zeros<int>(64);
    device.launch("local_array", {1}, {64}, Arguments::of(device.put(in), out));
    std::vector<int> want;
    for (std::size_t t = 0; t < 64; ++t) {
        std::vector<int> a;
        for (std::size_t k = 0; k < 24; ++k)
            a.push_back(in[(t + k) % 32]);
        std::ranges::sort(a);
        want.push_back(a[t % 24]);
    }
    check.equal("out", device.get<int>(out, 64), want);
}

void heap(Device& device, Check& check) {
    const auto out = device.zeros<int>(96);
    device.launch("heap", {1}, {96}, Arguments::of(out, out));
    std::vector<int> want;
    for (int t = 0; t < 96; ++t)
        want.push_back(t * (t + 1) / 2);
    check.equal("out", device.get<int>(out, 96), want);
}

}  // namespace

void add_grid_cases(std::vector<Case>& cases) {
    cases.push_back({"votes", "warps.cu", votes});
    cases.push_back({"counts", "warps.cu", counts});
    cases.push_back({"tile_sums", "groups.cu", tile_sums});
    cases.push_back({"tile_reduce", "groups.cu", tile_reduce});
    cases.push_back({"coalesced_count", "groups.cu", coalesced_count});
    cases.push_back({"grid_steps", "groups.cu", grid_steps});
    cases.push_back({"std_atomics", "atomics.cu", std_atomics});
    cases.push_back({"std_barrier", "atomics.cu", std_barrier});
    cases.push_back({"spin_lock", "atomics.cu", spin_lock});
    cases.push_back({"wait_for_last", "atomics.cu", wait_for_last});
    cases.push_back({"recursion", "calls.cu", recursion});
    cases.push_back({"virtual_calls", "calls.cu", virtual_calls});
    cases.push_back({"pointers", "calls.cu", pointers});
    cases.push_back({"by_value", "calls.cu", by_value});
    cases.push_back({"local_array", "calls.cu", local_array});
    cases.push_back({"heap", "calls.cu", heap});
}

}  // namespace lode::corpus
