// cuBLAS, opened at run time, as the yardstick for the matrix product.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/variants.hpp>

#include <cstdint>
#include <memory>

namespace lode::bench {

/// A cuBLAS handle on a device's primary context. Use it on the thread that made it.
class Cublas {
public:
    /// not_found when no library opens, with what the loader says.
    static Result<Cublas> open(const Device& device);

    enum class Element { f16, bf16 };

    /// C = A · Bᵀ in halves with single-precision sums, as the families gemm and gemm_bf16 do it.
    [[nodiscard]] Status multiply(StreamRef stream, Element element, const Problem& problem,
                                  const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* c);

private:
    struct State;
    explicit Cublas(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace lode::bench
