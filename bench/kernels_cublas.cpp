#include "kernels_cublas.hpp"

#include "gemm/product.hpp"
#include "kernels_measure.hpp"

#include <lode/runtime/context.hpp>
#include <lode/runtime/kernel.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace lode::bench {
namespace {

using kernels::gemm::Product;

// The C interface of cublasLt. Source: cublasLt.h, cublas_api.h and library_types.h of CUDA 13.0.
using Handle = struct cublasLtContext*;
struct Opaque;  // Descriptors and layouts.
constexpr int compute_32f = 68;
constexpr int real_32f = 0;
constexpr int operation_n = 0;
constexpr int operation_t = 1;
constexpr int attribute_transa = 3;
constexpr int attribute_transb = 4;
constexpr int attribute_epilogue = 7;
constexpr int attribute_bias_pointer = 8;
constexpr int attribute_fast_accumulation = 25;
constexpr int preference_workspace = 1;
constexpr int epilogue_relu_bias = 6;
struct Algorithm {
    std::uint64_t data[8];
};
struct Heuristic {
    Algorithm algorithm;
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

Status check(int status, std::string_view call) {
    if (status == 0) return {};
    return fail(Errc::driver_failed, fmt::format("{} fails with status {}.", call, status));
}

int type_of(const kernels::ElementFormat& format) {
    constexpr int real_16f = 2;
    constexpr int real_16bf = 14;
    constexpr int real_e4m3 = 28;
    switch (format.type) {
        case TensorType::f16:
            return real_16f;
        case TensorType::bf16:
            return real_16bf;
        default:
            return real_e4m3;
    }
}

/// The library, and a handle and workspace on a device's primary context.
struct Library {
    Library(Device on, DeviceBuffer<std::uint8_t> memory)
        : device(std::move(on)), workspace(std::move(memory)) {}
    ~Library() {
        if (handle == nullptr) return;
        if (const auto scope = ContextScope::enter(device)) destroy(handle);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    template <class Function>
    bool find(void* library, Function& function, const char* name) {
        function = reinterpret_cast<Function>(::dlsym(library, name));
        return function != nullptr;
    }

    Device device;
    DeviceBuffer<std::uint8_t> workspace;
    Handle handle = nullptr;
    int (*create)(Handle*) = nullptr;
    int (*destroy)(Handle) = nullptr;
    int (*create_description)(Opaque**, int compute, int scale) = nullptr;
    int (*destroy_description)(Opaque*) = nullptr;
    int (*set_attribute)(Opaque*, int, const void*, std::size_t) = nullptr;
    int (*create_layout)(Opaque**, int type, std::uint64_t rows, std::uint64_t columns,
                         std::int64_t pitch) = nullptr;
    int (*destroy_layout)(Opaque*) = nullptr;
    int (*create_preference)(Opaque**) = nullptr;
    int (*destroy_preference)(Opaque*) = nullptr;
    int (*set_preference)(Opaque*, int, const void*, std::size_t) = nullptr;
    int (*heuristics)(Handle, Opaque*, Opaque*, Opaque*, Opaque*, Opaque*, Opaque*, int, Heuristic*,
                      int*) = nullptr;
    int (*multiply)(Handle, Opaque*, const void* alpha, const void* a, Opaque*, const void* b,
                    Opaque*, const void* beta, const void* c, Opaque*, void* d, Opaque*,
                    const Algorithm*, void* workspace, std::size_t, NativeStream) = nullptr;
};

Result<std::shared_ptr<Library>> open_library(const Device& device) {
    void* opened = nullptr;
    std::string account;
    for (const char* name :
         {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"}) {
        opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (opened != nullptr) break;
        account += std::string("\n  ") + ::dlerror();
    }
    if (opened == nullptr)
        return fail(Errc::not_found, "No cublasLt library can be opened." + account);
    constexpr std::size_t workspace_bytes = std::size_t{64} << 20;
    auto workspace = device.alloc<std::uint8_t>(workspace_bytes);
    if (!workspace) return tl::unexpected(workspace.error());
    auto lt = std::make_shared<Library>(device, *std::move(workspace));
    if (!lt->find(opened, lt->create, "cublasLtCreate") ||
        !lt->find(opened, lt->destroy, "cublasLtDestroy") ||
        !lt->find(opened, lt->create_description, "cublasLtMatmulDescCreate") ||
        !lt->find(opened, lt->destroy_description, "cublasLtMatmulDescDestroy") ||
        !lt->find(opened, lt->set_attribute, "cublasLtMatmulDescSetAttribute") ||
        !lt->find(opened, lt->create_layout, "cublasLtMatrixLayoutCreate") ||
        !lt->find(opened, lt->destroy_layout, "cublasLtMatrixLayoutDestroy") ||
        !lt->find(opened, lt->create_preference, "cublasLtMatmulPreferenceCreate") ||
        !lt->find(opened, lt->destroy_preference, "cublasLtMatmulPreferenceDestroy") ||
        !lt->find(opened, lt->set_preference, "cublasLtMatmulPreferenceSetAttribute") ||
        !lt->find(opened, lt->heuristics, "cublasLtMatmulAlgoGetHeuristic") ||
        !lt->find(opened, lt->multiply, "cublasLtMatmul"))
        return fail(Errc::not_found, "The cublasLt library lacks an entry point.");
    const auto scope = ContextScope::enter(device);
    if (!scope) return tl::unexpected(scope.error());
    if (auto created = check(lt->create(&lt->handle), "cublasLtCreate"); !created)
        return tl::unexpected(std::move(created).error());
    return lt;
}

/// One product as cublasLt describes it: row-major C is column-major Cᵀ = B · Aᵀ.
class Multiplication {
public:
    static Result<std::shared_ptr<Multiplication>> make(std::shared_ptr<Library> library,
                                                        const Product& product,
                                                        const Problem& problem) {
        std::shared_ptr<Multiplication> made(new Multiplication(std::move(library)));
        return made->describe(product, problem).map([&] { return made; });
    }
    ~Multiplication() {
        const auto scope = ContextScope::enter(lt_->device);
        if (!scope) return;
        for (Opaque* layout : {a_, b_, c_}) {
            if (layout != nullptr) lt_->destroy_layout(layout);
        }
        if (description_ != nullptr) lt_->destroy_description(description_);
    }
    Multiplication(const Multiplication&) = delete;
    Multiplication& operator=(const Multiplication&) = delete;

    /// RELU_BIAS, with a bias in C's type.
    [[nodiscard]] Status add_relu_of_biased(const void* bias) {
        return set(attribute_epilogue, epilogue_relu_bias).and_then([&] {
            return set(attribute_bias_pointer, bias);
        });
    }

    /// Measures what the heuristics propose and keeps the fastest.
    [[nodiscard]] Status choose(const kernels::WorkloadData& data) {
        const auto scope = ContextScope::enter(lt_->device);
        if (!scope) return tl::unexpected(scope.error());
        Opaque* preference = nullptr;
        if (auto made =
                check(lt_->create_preference(&preference), "cublasLtMatmulPreferenceCreate");
            !made)
            return made;
        const std::size_t bytes = lt_->workspace.size();
        std::array<Heuristic, 8> proposals{};
        int found = 0;
        auto asked =
            check(lt_->set_preference(preference, preference_workspace, &bytes, sizeof(bytes)),
                  "cublasLtMatmulPreferenceSetAttribute");
        if (asked) {
            asked =
                check(lt_->heuristics(lt_->handle, description_, b_, a_, c_, c_, preference,
                                      static_cast<int>(proposals.size()), proposals.data(), &found),
                      "cublasLtMatmulAlgoGetHeuristic");
        }
        lt_->destroy_preference(preference);
        if (!asked) return asked;
        if (found == 0) return fail(Errc::not_supported, "cublasLt proposes no algorithm.");
        constexpr std::size_t rounds = 7;
        auto meter = Meter::create(lt_->device, rounds);
        if (!meter) return tl::unexpected(meter.error());
        std::optional<double> best;
        for (int i = 0; i < found; ++i) {
            const Algorithm& candidate = proposals[static_cast<std::size_t>(i)].algorithm;
            const auto times = meter->alone(
                [&](StreamRef stream, std::size_t) { return multiply(stream, data, candidate); });
            if (!times || (best && times->median >= *best)) continue;
            best = times->median;
            algorithm_ = candidate;
        }
        if (best) return {};
        return fail(Errc::not_supported, "Every algorithm that cublasLt proposes fails.");
    }

    [[nodiscard]] const Algorithm& algorithm() const noexcept { return algorithm_; }
    void set_algorithm(const Algorithm& chosen) noexcept { algorithm_ = chosen; }

    [[nodiscard]] Status multiply(StreamRef stream, const kernels::WorkloadData& data) const {
        return multiply(stream, data, algorithm_);
    }

private:
    explicit Multiplication(std::shared_ptr<Library> library) : lt_(std::move(library)) {}

    template <class T>
    Status set(int attribute, const T& value) {
        return check(lt_->set_attribute(description_, attribute, &value, sizeof(value)),
                     "cublasLtMatmulDescSetAttribute");
    }

    Status describe(const Product& product, const Problem& problem) {
        const auto scope = ContextScope::enter(lt_->device);
        if (!scope) return tl::unexpected(scope.error());
        const std::uint64_t m = problem.x;
        const std::uint64_t n = problem.y;
        const std::uint64_t k = problem.z;
        const auto layout = [&](Opaque** to, const kernels::ElementFormat& format,
                                std::uint64_t rows, std::uint64_t columns) {
            return check(lt_->create_layout(to, type_of(format), rows, columns,
                                            static_cast<std::int64_t>(rows)),
                         "cublasLtMatrixLayoutCreate");
        };
        alpha_ = product.scale;
        return check(lt_->create_description(&description_, compute_32f, real_32f),
                     "cublasLtMatmulDescCreate")
            .and_then([&] {
                return set(attribute_transa, product.b_n_major ? operation_n : operation_t);
            })
            .and_then([&] {
                return set(attribute_transb, product.a_m_major ? operation_t : operation_n);
            })
            .and_then([&]() -> Status {
                if (product.in.bytes != 1) return {};
                return set(attribute_fast_accumulation, std::int8_t{1});
            })
            .and_then([&] {
                return product.a_m_major ? layout(&a_, product.in, m, k)
                                         : layout(&a_, product.in, k, m);
            })
            .and_then([&] {
                return product.b_n_major ? layout(&b_, product.in, n, k)
                                         : layout(&b_, product.in, k, n);
            })
            .and_then([&] { return layout(&c_, product.out, n, m); });
    }

    [[nodiscard]] Status multiply(StreamRef stream, const kernels::WorkloadData& data,
                                  const Algorithm& algorithm) const {
        const auto scope = ContextScope::enter(lt_->device);
        if (!scope) return tl::unexpected(scope.error());
        const float zero = 0;
        return check(
            lt_->multiply(lt_->handle, description_, &alpha_, data.inputs[1], b_, data.inputs[0],
                          a_, &zero, data.outputs[0], c_, data.outputs[0], c_, &algorithm,
                          lt_->workspace.data(), lt_->workspace.size(), stream.native()),
            "cublasLtMatmul");
    }

    std::shared_ptr<Library> lt_;
    Opaque* description_ = nullptr;
    Opaque* a_ = nullptr;
    Opaque* b_ = nullptr;
    Opaque* c_ = nullptr;
    Algorithm algorithm_{};
    float alpha_ = 1;
};

/// Kernels for bfloat16: a bias in that type, and an epilogue in a pass of its own, for rows that
/// are multiples of 8.
constexpr const char* epilogue_source = R"(
__device__ float to_float(unsigned half) { return __uint_as_float(half << 16); }
__device__ unsigned to_halves(float low, float high) {
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
__device__ float relu(float x) { return fmaxf(x, 0.0F); }
__device__ float silu(float x) { return x / (1.0F + __expf(-x)); }
extern "C" __global__ void bias_to_bf16(unsigned short* to, const float* bias, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = static_cast<unsigned short>(to_halves(bias[i], 0.0F) & 0xffffU);
}
extern "C" __global__ void apply(uint4* c, const float* operand, unsigned long long eights,
                                 unsigned n) {
    const unsigned long long stride = 1ULL * gridDim.x * blockDim.x;
    for (unsigned long long i = 1ULL * blockIdx.x * blockDim.x + threadIdx.x; i < eights;
         i += stride) {
        uint4 v = c[i];
        unsigned* const words = &v.x;
        const unsigned first = static_cast<unsigned>(i * 8 % n);
        for (unsigned w = 0; w < 4; ++w) {
            float y[2];
            for (unsigned h = 0; h < 2; ++h) {
                const unsigned column = first + w * 2 + h;
                const float x = to_float(words[w] >> 16 * h & 0xffffU);
                y[h] = LODE_GEMM_EPILOGUE;
            }
            words[w] = to_halves(y[0], y[1]);
        }
        c[i] = v;
    }
}
)";

class Cublas final : public Peer {
public:
    Cublas(std::shared_ptr<Library> library, const Product& product, bool with_kernel)
        : lt_(std::move(library)), product_(product), with_kernel_(with_kernel) {}

    Result<PeerCall> prepare(const kernels::Workload& workload) override {
        const auto& problem = workload.problem();
        const auto data = workload.data();
        auto product = Multiplication::make(lt_, product_, problem);
        if (!product) return tl::unexpected(product.error());
        std::shared_ptr<DeviceBuffer<std::uint16_t>> bias;
        if (!product_.epilogue.empty() && !with_kernel_) {
            auto converted = convert_bias(data, problem);
            if (!converted) return tl::unexpected(converted.error());
            bias = std::make_shared<DeviceBuffer<std::uint16_t>>(*std::move(converted));
            if (auto added = (*product)->add_relu_of_biased(bias->data()); !added)
                return tl::unexpected(std::move(added).error());
        }
        if (chosen_ && chosen_->first == problem) {
            (*product)->set_algorithm(chosen_->second);
        } else if (auto chosen = (*product)->choose(data); !chosen) {
            return tl::unexpected(std::move(chosen).error());
        }
        chosen_.emplace(problem, (*product)->algorithm());
        if (!with_kernel_) {
            return [product = *product, data, bias](StreamRef stream) {
                return product->multiply(stream, data);
            };
        }
        if (problem.y % 8 != 0) {
            return fail(
                Errc::not_supported,
                fmt::format("The kernel needs n to be a multiple of 8; it is {}.", problem.y));
        }
        auto apply = load<void(void*, const void*, unsigned long long, unsigned)>("apply");
        if (!apply) return tl::unexpected(apply.error());
        const auto blocks = static_cast<unsigned>(lt_->device.properties().multiprocessors) * 16;
        return [product = *product, data, apply = *apply, problem, blocks](StreamRef stream) {
            return product->multiply(stream, data).and_then([&] {
                return apply.launch(stream, {.grid = {blocks}, .block = {256}}, data.outputs[0],
                                    data.inputs[2], problem.x * problem.y / 8,
                                    static_cast<unsigned>(problem.y));
            });
        };
    }

private:
    template <class Signature>
    Result<Kernel<Signature>> load(const char* name) const {
        KernelOptions options;
        options.compile.definitions = product_.definitions();
        return lt_->device.load<Signature>(Source::text(epilogue_source, "epilogue.cu"), name,
                                           options);
    }

    [[nodiscard]] Result<DeviceBuffer<std::uint16_t>> convert_bias(
        const kernels::WorkloadData& data, const Problem& problem) const {
        const auto kernel = load<void(void*, const void*, unsigned)>("bias_to_bf16");
        if (!kernel) return tl::unexpected(kernel.error());
        auto bias = lt_->device.alloc<std::uint16_t>(problem.y);
        if (!bias) return bias;
        const auto stream = lt_->device.create_stream();
        if (!stream) return tl::unexpected(stream.error());
        auto done = kernel
                        ->launch(*stream, cover(problem.y), static_cast<void*>(bias->data()),
                                 data.inputs[2], static_cast<unsigned>(problem.y))
                        .and_then([&] { return stream->sync(); });
        if (!done) return tl::unexpected(std::move(done).error());
        return bias;
    }

    std::shared_ptr<Library> lt_;
    const Product& product_;
    bool with_kernel_;
    std::optional<std::pair<Problem, Algorithm>> chosen_;  ///< For the data sets of a problem.
};

}  // namespace

std::vector<PeerOffer> cublas_peers(const Device& device, std::string_view family) {
    const Product* const product = kernels::gemm::find_product(family);
    if (product == nullptr) return {};
    const auto library = open_library(device);
    const auto offer = [&](const char* name, bool with_kernel) -> PeerOffer {
        if (!library) return {name, tl::unexpected(library.error())};
        return {name, std::make_unique<Cublas>(*library, *product, with_kernel)};
    };
    std::vector<PeerOffer> offers;
    // The library has one of the epilogues here: relu(x + bias).
    if (product->epilogue.empty() || product->family == "gemm_bf16_relu")
        offers.push_back(offer("cuBLAS", false));
    if (!product->epilogue.empty()) offers.push_back(offer("cuBLAS+kernel", true));
    return offers;
}

}  // namespace lode::bench
