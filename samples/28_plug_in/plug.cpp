// The plug-in: its kernels come from the packs beside it, and it compiles nothing at run time. No
// error leaves it as an exception.
#include <lode/lode.hpp>

#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <lode_embedded/kernels.hpp>

namespace {

using Triple = lode::Kernel<void(float*, int)>;

/// What the plug-in keeps between calls.
struct Opened {
    lode::Runtime runtime;
    lode::Device device;
    lode::Stream stream;
    Triple triple;
};

std::filesystem::path folder_of_plug() {
    Dl_info here{};
    return ::dladdr(reinterpret_cast<const void*>(&folder_of_plug), &here) == 0
               ? std::filesystem::path()
               : std::filesystem::path(here.dli_fname).parent_path();
}

lode::CacheOptions packs_alone() {
    lode::CacheOptions cache;  // No folder: the user's cache isn't touched.
    cache.policy = lode::JitPolicy::forbid;
    std::error_code unreadable;
    for (const auto& file : std::filesystem::directory_iterator(folder_of_plug(), unreadable))
        if (file.path().extension() == ".pack") cache.packs.push_back(file.path());
    cache.events = [](const lode::CompileEvent& event) {
        if (event.report != nullptr) {
            std::printf("%s: %s\n", event.report->source.c_str(),
                        event.report->to_string().c_str());
        }
    };
    return cache;
}

lode::Result<Opened> open() {
    auto runtime = lode::Runtime::open(
        {.emulator_fallback = true, .cache = packs_alone(), .log = lode::Log::to_stderr()});
    if (!runtime) return tl::unexpected(std::move(runtime).error());
    auto device = runtime->device();
    if (!device) return tl::unexpected(std::move(device).error());
    auto stream = device->create_stream();
    if (!stream) return tl::unexpected(std::move(stream).error());
    auto triple = device->load<void(float*, int)>(lode_embedded::kernels()[0].source(), "triple");
    if (!triple) return tl::unexpected(std::move(triple).error().in("opening the plug-in"));
    return Opened{*std::move(runtime), *std::move(device), *std::move(stream), *std::move(triple)};
}

lode::Status triple_on_device(std::span<float> values) {
    // Made once, also if threads call together, and never destroyed: the driver may end first.
    static const auto& opened = *new auto(open());
    if (!opened) return tl::unexpected(opened.error());
    const auto x = opened->device.upload(values);
    if (!x) return tl::unexpected(x.error());
    const auto launched = opened->triple.launch(opened->stream, lode::cover(values.size()), *x,
                                                static_cast<int>(values.size()));
    if (!launched) return launched;
    return x->copy_to(values);  // Waits for the kernel.
}

}  // namespace

/// Returns 0, or 1 after a message on stderr.
extern "C" [[gnu::visibility("default")]] int plug_triple(float* values, int count) {
    const auto done = triple_on_device({values, static_cast<std::size_t>(count)});
    if (done) return 0;
    std::fprintf(stderr, "plug: %s\n", done.error().describe().c_str());
    return 1;
}
