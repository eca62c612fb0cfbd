// A small host application, as a user of lode would write it. It prints what it found, and succeeds
// with or without a driver, a compiler or a GPU.
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr const char* ptx =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry noop(.param .u32 noop_param_0)\n{\n ret;\n}\n";

int run() {
    const auto image = lode::unwrap(lode::Image::from_ptx(ptx, "noop.ptx"));
    const auto* noop = image.signature_of("noop");
    if (noop == nullptr || noop->parameters.size() != 1) return 1;
    std::printf("image: %s, kernel %s\n", image.arch.to_string().c_str(), noop->kernel.c_str());
    std::printf("digest: %s\n", lode::sha256(image.ptx).to_hex().c_str());

    const lode::ComputeCapability supported[] = {{8, 0}, {9, 0}};
    const auto target = lode::unwrap(lode::choose_target({8, 6}, supported));
    std::printf("target: %s\n", target.arch.to_string().c_str());

    const lode::Compiler compiler;
    if (const auto info = compiler.info()) {
        const auto compiled =
            lode::unwrap(compiler.compile(lode::Source::text("extern \"C\" __global__ void k() {}"),
                                          *lode::Arch::parse("sm_80")));
        std::printf("compiled by %s: %zu bytes\n", compiled.compiler.c_str(),
                    compiled.cubin.size());
    } else {
        std::printf("no compiler: %s\n", std::string(to_string(info.error().code)).c_str());
    }
    if (const auto runtime = lode::Runtime::open()) {
        std::printf("devices: %d\n", runtime->device_count());
    } else {
        std::printf("no driver: %s\n", std::string(to_string(runtime.error().code)).c_str());
    }
    return 0;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const lode::Exception& exception) {
        std::fprintf(stderr, "%s\n", exception.what());
        return 1;
    }
}
