// A host that ends at a given moment of its work: lode_exit_host OBJECTS WORK END MICROSECONDS.
//   OBJECTS  global, local or leaked: where the compiler, the runtime and what they return live
//   WORK     tasks, threads, failures, link, launch or c: what is in progress at the end
//   END      return, exit, thread_exit (another thread calls exit), quick_exit, signal, or
//            thread (the thread that works ends first)
#include "base/process_end.hpp"

#include <lode/lode.h>
#include <lode/lode.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace {

std::atomic<int> counter = 0;
/// The libraries that the work needs are loaded.
std::atomic<bool> is_loaded = false;

/// A source that nobody has compiled yet, in no earlier run either.
std::string fresh_code() {
    return fmt::format("extern \"C\" __global__ void k(int* out) {{ out[0] = {}; out[1] = {}; }}",
                       ::getpid(), ++counter);
}
lode::Source fresh() {
    return lode::Source::text(fresh_code(), "fresh.cu");
}

lode::Arch arch() {
    return lode::Arch(lode::ComputeCapability(9, 0));
}

/// What a host holds. Threads that work share it.
struct Objects {
    std::shared_ptr<lode::CachedCompiler> compiler;
    std::vector<lode::Pending<lode::CachedImage>> pending;
    std::shared_ptr<lode::Runtime> runtime;
};

void fail(const lode::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    std::exit(1);
}

void compile_in_tasks(Objects& objects) {
    for (int i = 0; i < 12; ++i)
        objects.pending.push_back(objects.compiler->compile_async({fresh(), arch()}));
    if (std::getenv("LODE_EXIT_AFTER_LOAD") != nullptr)
        is_loaded = objects.pending.front().get().has_value();
}

void compile_in_threads(Objects& objects) {
    for (int i = 0; i < 2; ++i) {
        std::thread([compiler = objects.compiler] {
            while (compiler->compile(fresh(), arch()))
                is_loaded = true;
        }).detach();
    }
}

/// Compilations that the assembler refuses.
void fail_in_threads(Objects& objects) {
    std::thread([compiler = objects.compiler] {
        while (!lode::is_process_ending()) {
            const auto code = fmt::format(
                "struct P {{ int v[9000]; }}; extern \"C\" __global__ void k(P p, int* o) {{ o[{}] "
                "= "
                "p.v[0]; }}",
                ++counter);
            static_cast<void>(compiler->compile(lode::Source::text(code, "big.cu"), arch()));
            is_loaded = true;
        }
    }).detach();
}

void link_in_threads(Objects& objects) {
    std::thread([compiler = objects.compiler] {
        const lode::Linker linker;
        for (;;) {
            const auto image = compiler->compile(fresh(), arch(), {.relocatable = true});
            if (!image || !linker.link(*image->image, arch())) return;
            is_loaded = true;
        }
    }).detach();
}

void launch(Objects& objects) {
    auto runtime = lode::Runtime::open();
    if (!runtime) fail(runtime.error());
    objects.runtime = std::make_shared<lode::Runtime>(*std::move(runtime));
    auto device = objects.runtime->device();
    if (!device) fail(device.error());
    std::thread([runtime = objects.runtime, device = *std::move(device)] {
        for (;;) {
            const auto kernel = device.load<void(int*)>(fresh(), "k");
            const auto buffer = device.alloc<int>(2);
            const auto stream = device.create_stream();
            if (!kernel || !buffer || !stream) return;
            for (int i = 0; i < 100; ++i)
                static_cast<void>(kernel->launch(*stream, {1, 32}, *buffer));
            if (!stream->sync()) return;
            is_loaded = true;
        }
    }).detach();
}

/// The C interface, whose runtime stays open.
void compile_in_c() {
    lode_runtime* runtime = nullptr;
    if (lode_runtime_open(nullptr, &runtime) != LODE_OK) std::exit(1);
    std::thread([runtime] {
        for (;;) {
            const std::string code = fresh_code();
            lode_source source{};
            source.size = sizeof source;
            source.cuda = code.c_str();
            lode_image* image = nullptr;
            if (lode_compile(runtime, &source, "sm_90", nullptr, &image) != LODE_OK) return;
            lode_image_free(image);
            is_loaded = true;
        }
    }).detach();
}

Objects global;

void start(Objects& objects, std::string_view work) {
    if (work == "launch") return launch(objects);
    if (work == "c") return compile_in_c();
    auto options = lode::CacheOptions::from_environment();
    if (!options) fail(options.error());
    objects.compiler =
        std::make_shared<lode::CachedCompiler>(lode::CompilerSearch{}, *std::move(options));
    if (work == "tasks") return compile_in_tasks(objects);
    if (work == "threads") return compile_in_threads(objects);
    if (work == "failures") return fail_in_threads(objects);
    if (work == "link") return link_in_threads(objects);
    std::exit(1);
}

void end(std::string_view how) {
    if (how == "exit") std::exit(0);
    if (how == "quick_exit") std::quick_exit(0);
    if (how == "signal") std::raise(SIGTERM);
    if (how == "thread_exit") std::thread([] { std::exit(0); }).join();
}

}  // namespace

int main(int count, char** words) {
    if (count != 5) return 2;
    const std::string_view place = words[1];
    const std::string_view work = words[2];
    const std::string_view how = words[3];
    const std::chrono::microseconds moment(std::atol(words[4]));
    Objects local;
    Objects& objects = place == "local" ? local : place == "leaked" ? *new Objects : global;
    const auto run = [&] {
        start(objects, work);
        while (std::getenv("LODE_EXIT_AFTER_LOAD") != nullptr && !is_loaded)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::this_thread::sleep_for(moment);
    };
    if (how == "thread") {
        std::thread(run).join();
    } else {
        run();
    }
    end(how);
    return 0;
}
