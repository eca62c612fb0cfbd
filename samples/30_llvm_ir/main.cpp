// Loads a kernel in LLVM IR, such as `clang -S -emit-llvm` and rustc write, and compiles it with
// the libLLVM of the system (Debian: libllvm14 or newer).
//
//     cmake -B build && cmake --build build && build/30_llvm_ir
//     1 2 3 becomes 2 4 6
//
// An argument is a file of IR with another void scale(float* x, float a, int n).
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using lode::unwrap;

namespace {

constexpr const char* scale = R"(target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @scale(ptr %x, float %a, i32 %n) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %done
work:
  %at = getelementptr float, ptr %x, i32 %i
  %old = load float, ptr %at
  %new = fmul float %old, %a
  store float %new, ptr %at
  br label %done
done:
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @scale, !"kernel", i32 1}
)";

/// With typed pointers, for LLVM 14.
std::string in_older_words(std::string code) {
    const auto replace = [&](const std::string& old, const std::string& by) {
        for (auto at = code.find(old); at != std::string::npos; at = code.find(old, at + by.size()))
            code.replace(at, old.size(), by);
    };
    replace("ptr @scale", "void (float*, float, i32)* @scale");
    replace("ptr %", "float* %");
    return code;
}

}  // namespace

int main(int count, char** arguments) try {
    constexpr auto llvm_ir = lode::Source::Language::llvm_ir;
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto llvm = unwrap(runtime.compiler().info(llvm_ir));
    const bool is_old = llvm.version_major < 15;
    const auto source =
        count > 1 ? lode::Source::file(arguments[1], llvm_ir)
                  : lode::Source::llvm_ir(is_old ? in_older_words(scale) : scale, "scale.ll");
    const auto kernel = unwrap(device.load<void(float*, float, int)>(source, "scale"));
    const auto x = unwrap(device.upload(std::vector<float>{1, 2, 3}));
    const auto stream = unwrap(device.create_stream());
    unwrap(kernel.launch(stream, {.grid = 1, .block = 32}, x, 2.0F, 3));
    unwrap(stream.sync());
    const auto doubled = unwrap(x.to_vector());
    if (doubled != std::vector<float>{2, 4, 6}) throw std::runtime_error("a wrong result");
    std::printf("1 2 3 becomes %g %g %g\n", doubled[0], doubled[1], doubled[2]);
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
