// cuBLAS, opened at run time: the reference for the matrix product.
#pragma once

#include <lode/base/error.hpp>
#include <lode/runtime/device.hpp>
#include <lode/runtime/stream.hpp>
#include <lode/runtime/variants.hpp>

#include <cstdint>
#include <memory>

namespace lode::bench {

/// A cuBLAS handle on a device's primary context. Use it only on the thread that created it.
class Cublas {
public:
    /// not_found if no library can be opened, with the loader's message.
    static Result<Cublas> open(const Device& device);

    enum class Element { f16, bf16 };

    /// C = A · Bᵀ in 16-bit floats with single-precision sums, like the families gemm and
    /// gemm_bf16.
    [[nodiscard]] Status multiply(StreamRef stream, Element element, const Problem& problem,
                                  const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* c);

private:
    struct State;
    explicit Cublas(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace lode::bench
