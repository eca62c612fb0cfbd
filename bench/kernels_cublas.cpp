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

}  // namespace

struct Cublas::State {
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

Result<Cublas> Cublas::open(const Device& device) {
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
    return Cublas(std::move(state));
}

Status Cublas::multiply(StreamRef stream, Element element, const Problem& problem,
                        const std::uint16_t* a, const std::uint16_t* b, std::uint16_t* c) {
    const auto scope = ContextScope::enter(state_->device);
    if (!scope) return tl::unexpected(scope.error());
    if (auto set = check(state_->set_stream(state_->handle, stream.native()), "cublasSetStream");
        !set)
        return set;
    const auto m = static_cast<int>(problem.x);
    const auto n = static_cast<int>(problem.y);
    const auto k = static_cast<int>(problem.z);
    const int type = element == Element::bf16 ? real_16bf : real_16f;
    const float one = 1;
    const float zero = 0;
    // Row-major C is column-major Cᵀ = B · Aᵀ.
    return check(state_->gemm(state_->handle, operation_t, operation_n, n, m, k, &one, b, type, k,
                              a, type, k, &zero, c, type, n, compute_32f, algorithm_default),
                 "cublasGemmEx");
}

}  // namespace lode::bench
