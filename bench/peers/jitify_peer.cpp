// jitify2's part of compile_peers.py, which builds it.
//
//     jitify_peer KERNELS ARCH[,ARCH…] THREADS [INCLUDE_FOLDER…]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <jitify2.hpp>

namespace {

std::string kernel(std::size_t number) {
    return "#include <cub/block/block_reduce.cuh>\n"
           "extern \"C\" __global__ void k(const int* in, int* out) {\n"
           "    using Reduce = cub::BlockReduce<int, 128>;\n"
           "    __shared__ typename Reduce::TempStorage storage;\n"
           "    const int sum = Reduce(storage).Sum(in[threadIdx.x] * " +
           std::to_string(number) +
           ");\n"
           "    if (threadIdx.x == 0) *out = sum;\n"
           "}\n";
}

/// jitify2 asks the driver about architectures, on each thread with a current context.
void make_context_current() {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return;
    const auto call = [&](const char* name, auto... arguments) {
        if (void* const function = ::dlsym(driver, name))
            (void)reinterpret_cast<int (*)(decltype(arguments)...)>(function)(arguments...);
    };
    void* context = nullptr;
    call("cuInit", 0U);
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
}

}  // namespace

int main(int count, char** values) {
    if (count < 4) return 2;
    const std::size_t kernels = std::strtoul(values[1], nullptr, 10);
    std::vector<std::string> archs;
    std::istringstream list(values[2]);
    for (std::string arch; std::getline(list, arch, ',');)
        archs.push_back(arch);
    const std::size_t threads = std::strtoul(values[3], nullptr, 10);
    std::vector<std::string> folders;
    for (int i = 4; i < count; ++i)
        folders.push_back(std::string("-I") + values[i]);

    const auto compile = [&](const std::string& source, const std::string& arch) -> std::size_t {
        auto options = folders;
        options.push_back("-std=c++17");
        options.push_back("-arch=sm_" + arch);
        const auto compiled = jitify2::Program("k.cu", source)->preprocess(options)->compile();
        // With some options it makes PTX, which linking turns into machine code.
        const auto size = compiled->cubin().size();
        return size > 0 ? size : compiled->link()->cubin().size();
    };
    make_context_current();
    (void)compile("extern \"C\" __global__ void warm_up() {}", archs.front());
    const auto start = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> smallest{~std::size_t{0}};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&] {
            make_context_current();
            for (std::size_t i = next++; i < kernels * archs.size(); i = next++) {
                const auto size = compile(kernel(i / archs.size() + 1), archs[i % archs.size()]);
                for (auto least = smallest.load();
                     size < least && !smallest.compare_exchange_weak(least, size);) {
                }
            }
        });
    }
    for (auto& thread : running)
        thread.join();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    std::printf("{\"seconds\": %f, \"images\": %zu, \"smallest\": %zu}\n", spent.count(),
                kernels * archs.size(), smallest.load());
}
