// A host that loads a plug-in with another version of lode, and uses its own in turns with it:
//
//   host PLUGIN global|local FOLDER NVRTC OTHER_NVRTC VERSION
//
// FOLDER has answer.cuh and gets the cache, which both share. OTHER_NVRTC is a copy of NVRTC, and
// VERSION is the plug-in's. With one argument it prints the path of NVRTC.
#include "compile.hpp"

#include <lode/lode.hpp>

#include <cstdio>
#include <thread>

#include <dlfcn.h>

namespace {

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

/// Runs a kernel on the software device.
void run_kernel(const char* folder) {
    const auto runtime = lode::unwrap(lode::Runtime::open());
    require(runtime.driver().is_emulator(), "LODE_DRIVER isn't emulator.");
    const auto device = lode::unwrap(runtime.device(0));
    lode::KernelOptions options;
    options.compile.include_folders = {folder};
    const auto store = lode::unwrap(device.load<void(int*)>(
        lode::Source::text("#include \"answer.cuh\"\n"
                           "extern \"C\" __global__ void store(int* to) { *to = ANSWER; }"),
        "store", options));
    auto result = lode::unwrap(device.alloc<int>(1));
    lode::unwrap(store.launch(device.default_stream(), {}, result));
    require(lode::unwrap(result.to_vector()).front() == 42, "The kernel's result is wrong.");
}

using Compile = void(const char* nvrtc, const char* folder, int step, char* text);

int run(char** arguments) {
    const bool is_global = std::string(arguments[2]) == "global";
    const char* const folder = arguments[3];
    const char* const nvrtcs[] = {arguments[4], arguments[5]};
    void* const plugin = ::dlopen(arguments[1], RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
    require(plugin != nullptr, "The plug-in can't be opened.");
    auto* const in_plugin = reinterpret_cast<Compile*>(::dlsym(plugin, "plugin_compile"));
    require(in_plugin != nullptr, "The plug-in has no plugin_compile.");

    const std::string theirs = arguments[6];
    const std::string own = LODE_TEXT_OF(LODE_VERSION_NUMBERS);
    const auto by_host = [&](int nvrtc, int step) {
        const std::string answer = compile(nvrtcs[nvrtc], folder, step);
        require(answer == own + ": new", "The host: " + answer);
    };
    const auto by_plugin = [&](int nvrtc, int step) {
        char answer[1000];
        in_plugin(nvrtcs[nvrtc], folder, step, answer);
        // The plug-in's own version doesn't take the host's entries for its own.
        require(answer == theirs + ": new", std::string("The plug-in: ") + answer);
    };

    // Both put their functions into NVRTC at the same time.
    std::string failure;
    std::jthread other([&] {
        try {
            by_plugin(0, 1);
        } catch (const std::exception& problem) {
            failure = problem.what();
        }
    });
    by_host(0, 1);
    other.join();
    require(failure.empty(), failure);
    // Both orders, and each again with what the other one left.
    by_host(0, 2);
    by_plugin(0, 2);
    by_plugin(1, 3);
    by_host(1, 3);
    by_host(0, 4);
    by_plugin(0, 4);
    run_kernel(folder);
    ::dlclose(plugin);
    by_host(0, 5);
    by_host(1, 6);
    run_kernel(folder);
    std::printf("The host has %s.\n", own.c_str());
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count == 2) {
            std::puts(lode::unwrap(lode::Compiler().info()).path.c_str());
            return 0;
        }
        require(count == 7, "Six arguments are needed.");
        return run(arguments);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
