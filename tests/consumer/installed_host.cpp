// A host of an installed lode: it runs a kernel on the software device, with nothing but
// LODE_DRIVER=emulator set. With any argument, it compiles one in lode-worker.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>

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

int compile() {
    lode::CacheOptions options;
    options.mode = lode::CacheMode::off;
    options.workers.policy = lode::WorkerPolicy::always;
    const lode::CachedCompiler compiler({}, options);
    const auto source = lode::Source::text("extern \"C\" __global__ void empty() {}");
    const auto compiled = lode::unwrap(compiler.compile(source, *lode::Arch::parse("sm_80")));
    std::printf("A worker has compiled %zu bytes.\n", compiled.image->cubin.size());
    return 0;
}

}  // namespace

int main(int count, char** /*arguments*/) {
    try {
        return count > 1 ? compile() : run();
    } catch (const lode::Exception& exception) {
        std::fprintf(stderr, "%s\n", exception.what());
        return 1;
    }
}
