// A host of an installed lode: it runs a kernel on the software device, with nothing but
// LODE_DRIVER=emulator set. With the argument compile, it compiles one in lode-worker; with here,
// in its own process.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <string_view>

namespace {

constexpr const char* ptx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry set(.param .u64 to) {
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    st.global.u32 [%rd1], 42;
    ret;
})";

int run() {
    const auto runtime = lode::unwrap(lode::Runtime::open());
    if (!runtime.driver().is_emulator()) return 1;
    const auto device = lode::unwrap(runtime.device(0));
    const auto set = lode::unwrap(device.load<void(unsigned*)>(lode::Source::ptx(ptx), "set"));
    auto result = lode::unwrap(device.alloc<unsigned>(1));
    lode::unwrap(set.launch(device.default_stream(), {}, result));
    std::printf("%s: %u\n", device.name().c_str(), lode::unwrap(result.to_vector()).front());
    return 0;
}

int compile(lode::WorkerPolicy policy) {
    lode::CacheOptions options;
    options.mode = lode::CacheMode::off;
    options.workers.policy = policy;
    const lode::CachedCompiler compiler({}, options);
    const auto source = lode::Source::text("extern \"C\" __global__ void empty() {}");
    const auto compiled = lode::unwrap(compiler.compile(source, *lode::Arch::parse("sm_80")));
    const bool is_here = policy == lode::WorkerPolicy::never;
    std::printf("%s has compiled %zu bytes.\n", is_here ? "The host" : "A worker",
                compiled.image->cubin.size());
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count == 1) return run();
        const bool is_here = std::string_view(arguments[1]) == "here";
        return compile(is_here ? lode::WorkerPolicy::never : lode::WorkerPolicy::always);
    } catch (const lode::Exception& exception) {
        std::fprintf(stderr, "%s\n", exception.what());
        return 1;
    }
}
