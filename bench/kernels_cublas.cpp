#include "kernels_cublas.hpp"

#include <lode/runtime/context.hpp>

#include <string>
#include <utility>

#include <dlfcn.h>

namespace lode::bench {
namespace {

// The C interface of cuBLAS. Source: cublas_api.h and library_types.h of CUDA 13.0.
using Handle = struct cublasContext*;
constexpr int operation_n = 0;
constexpr int operation_t = 1;
constexpr int real_16f = 2;
constexpr int real_16bf = 14;
constexpr int compute_32f = 68;
constexpr int algorithm_default = -1;

Status check(int status, std::string_view call) {
    if (status == 0) return {};
    return fail(Errc::driver_failed,
                std::string(call) + " fails with status " + std::to_string(status) + ".");
}

/// A handle on a device's primary context.
struct State {
    explicit State(Device on) : device(std::move(on)) {}
    ~State() {
        if (handle == nullptr) return;
        if (const auto scope = ContextScope::enter(device)) destroy(handle);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    template <class Function>
    bool find(void* library, Function& function, const char* name) {
        function = reinterpret_cast<Function>(::dlsym(library, name));
        return function != nullptr;
    }

    Device device;
    Handle handle = nullptr;
    int (*create)(Handle*) = nullptr;
    int (*destroy)(Handle) = nullptr;
    int (*set_stream)(Handle, NativeStream) = nullptr;
    int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*,
                int, int, const void*, void*, int, int, int, int) = nullptr;
};

/// C = A · Bᵀ in 16-bit floats with single-precision sums.
Status multiply(const State& state, StreamRef stream, int type, const Problem& problem,
                const kernels::WorkloadData& data) {
    const auto scope = ContextScope::enter(state.device);
    if (!scope) return tl::unexpected(scope.error());
    if (auto set = check(state.set_stream(state.handle, stream.native()), "cublasSetStream"); !set)
        return set;
    const auto m = static_cast<int>(problem.x);
    const auto n = static_cast<int>(problem.y);
    const auto k = static_cast<int>(problem.z);
    const float one = 1;
    const float zero = 0;
    // Row-major C is column-major Cᵀ = B · Aᵀ.
    return check(state.gemm(state.handle, operation_t, operation_n, n, m, k, &one, data.inputs[1],
                            type, k, data.inputs[0], type, k, &zero, data.outputs[0], type, n,
                            compute_32f, algorithm_default),
                 "cublasGemmEx");
}

class Cublas final : public Peer {
public:
    Cublas(std::shared_ptr<State> state, int type) : state_(std::move(state)), type_(type) {}

    Result<PeerCall> prepare(const kernels::Workload& workload) override {
        return [state = state_, type = type_, problem = workload.problem(), data = workload.data()](
                   StreamRef stream) { return multiply(*state, stream, type, problem, data); };
    }

private:
    std::shared_ptr<State> state_;
    int type_;
};

}  // namespace

Result<std::unique_ptr<Peer>> open_cublas(const Device& device, std::string_view family) {
    void* library = nullptr;
    std::string account;
    for (const char* name :
         {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"}) {
        library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) break;
        account += std::string("\n  ") + ::dlerror();
    }
    if (library == nullptr)
        return fail(Errc::not_found, "No cuBLAS library can be opened." + account);

    auto state = std::make_shared<State>(device);
    if (!state->find(library, state->create, "cublasCreate_v2") ||
        !state->find(library, state->destroy, "cublasDestroy_v2") ||
        !state->find(library, state->set_stream, "cublasSetStream_v2") ||
        !state->find(library, state->gemm, "cublasGemmEx"))
        return fail(Errc::not_found, "The cuBLAS library lacks an entry point.");
    const auto scope = ContextScope::enter(device);
    if (!scope) return tl::unexpected(scope.error());
    if (auto created = check(state->create(&state->handle), "cublasCreate"); !created)
        return tl::unexpected(std::move(created).error());
    return std::make_unique<Cublas>(std::move(state), family == "gemm_bf16" ? real_16bf : real_16f);
}

}  // namespace lode::bench
