// One device's share of the samples, its copy of the weights, and the kernels.
#pragma once

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdint>
#include <set>
#include <vector>

#include <lode_embedded/kernels.hpp>

namespace sample {

inline constexpr int features = 64;
inline constexpr int samples = 1 << 13;  ///< On each device.

/// The weight that training must find.
inline float true_weight(int feature) {
    return static_cast<float>(feature % 7 - 3);
}

/// A number in [-1, 1) for each sample and feature.
inline float feature_of(std::uint64_t index) {
    std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9U;
    return static_cast<float>(mixed >> 40) / static_cast<float>(1 << 23) - 1.0f;
}

template <class... Arguments>
auto load(const lode::Device& device, const char* name) {
    return lode::unwrap(
        device.load<void(Arguments...)>(lode_embedded::kernels()[0].source(), name));
}

/// The number of different architectures.
inline int architectures_of(const lode::Runtime& runtime) {
    std::set<lode::ComputeCapability> all;
    for (int k = 0; k < runtime.device_count(); ++k)
        all.insert(lode::unwrap(runtime.device(k)).cc());
    return static_cast<int>(all.size());
}

struct Replica {
    /// The share number `rank` of `world`.
    Replica(lode::Device its_device, int rank, int world)
        : device(std::move(its_device)),
          stream(lode::unwrap(device.create_stream())),
          ready(lode::unwrap(device.create_event({.timing = false}))),
          taken(lode::unwrap(device.create_event({.timing = false}))),
          residuals(load<const float*, const float*, const float*, float*, int, int>(device,
                                                                                     "residuals")),
          gradients(load<const float*, const float*, float*, int>(device, "gradients")),
          add_shares(load<const float*, float*, int, int>(device, "add_shares")),
          step(load<float*, const float*, float, int>(device, "step")),
          r(lode::unwrap(device.alloc<float>(samples))),
          gradient(lode::unwrap(device.alloc<float>(features))),
          shares(lode::unwrap(device.alloc<float>(std::size_t(world) * features))),
          sum(lode::unwrap(device.alloc<float>(features))),
          weights(lode::unwrap(device.upload(std::vector<float>(features)))) {
        std::vector<float> host_x(std::size_t{features} * samples);
        std::vector<float> host_y(samples);
        for (int f = 0; f < features; ++f) {
            for (int i = 0; i < samples; ++i) {
                const auto global = std::uint64_t(rank) * samples + std::uint64_t(i);
                const float value = feature_of(global * features + std::uint64_t(f));
                host_x[std::size_t(f) * samples + std::size_t(i)] = value;
                host_y[std::size_t(i)] += value * true_weight(f);
            }
        }
        x = lode::unwrap(device.upload(host_x));
        y = lode::unwrap(device.upload(host_y));
    }

    /// Enqueues the gradient of this share.
    void enqueue_gradient() const {
        lode::unwrap(
            residuals.launch(stream, lode::cover(samples), x, y, weights, r, samples, features));
        lode::unwrap(gradients.launch(stream, {.grid = {features}, .block = {256}}, x, r, gradient,
                                      samples));
    }
    /// Enqueues the sum of the shares.
    void enqueue_sum(int world) const {
        lode::unwrap(
            add_shares.launch(stream, lode::cover(features), shares, sum, world, features));
    }

    lode::Device device;
    lode::Stream stream;
    lode::Event ready;  ///< The gradient has been computed.
    lode::Event taken;  ///< This device has the gradients of all.
    lode::Kernel<void(const float*, const float*, const float*, float*, int, int)> residuals;
    lode::Kernel<void(const float*, const float*, float*, int)> gradients;
    lode::Kernel<void(const float*, float*, int, int)> add_shares;
    lode::Kernel<void(float*, const float*, float, int)> step;
    mutable lode::DeviceBuffer<float> x, y, r, gradient, shares, sum, weights;
};

}  // namespace sample
