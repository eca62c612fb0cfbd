// A compiler for a language of its own: formulas become NVVM IR, which lode compiles with libNVVM,
// of a toolkit or of NVIDIA's wheel nvidia-nvvm.
//
//     cmake -B build && cmake --build build && build/29_nvvm_ir
//     x x * 1 + : f(0.5) = 1.25
//     x 2 * sin : f(0.5) = 0.841471
#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using lode::unwrap;

namespace {

constexpr const char* head = R"(target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @__nv_sinf(float)
define void @f(float* %from, float* %to) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %in = getelementptr float, float* %from, i32 %i
  %out = getelementptr float, float* %to, i32 %i
  %x = load float, float* %in
)";
constexpr const char* tail = R"(  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*, float*)* @f, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
)";

/// The kernel to[i] = f(from[i]) for a formula in reverse Polish notation, such as "x 2 * sin".
std::string ir_of(const std::string& formula) {
    std::istringstream words(formula);
    std::ostringstream body;
    std::vector<std::string> stack;
    const auto pop = [&] {
        const std::string top = stack.at(stack.size() - 1);
        stack.pop_back();
        return top;
    };
    for (std::string word; words >> word;) {
        const std::string result = "%t" + std::to_string(body.tellp());
        if (word == "x") {
            stack.emplace_back("%x");
        } else if (word == "+" || word == "*") {
            const std::string b = pop(), a = pop();
            body << result << (word == "+" ? " = fadd" : " = fmul") << " float " << a << ", " << b;
            stack.push_back(result);
        } else if (word == "sin") {
            body << result << " = call float @__nv_sinf(float " << pop() << ")";
            stack.push_back(result);
        } else {
            std::ostringstream bits;  // LLVM writes a number as the bits of a double.
            bits << "0x" << std::hex << std::bit_cast<std::uint64_t>(double{std::stof(word)});
            stack.push_back(bits.str());
        }
        body << "\n";
    }
    return head + body.str() + "  store float " + pop() + ", float* %out\n" + tail;
}

}  // namespace

int main() try {
    const auto runtime =
        unwrap(lode::Runtime::open({.emulator_fallback = true, .log = lode::Log::to_stderr()}));
    const auto device = unwrap(runtime.device());
    const auto stream = unwrap(device.create_stream());
    const auto from = unwrap(device.upload(std::vector<float>{0.5F}));
    const auto to = unwrap(device.alloc<float>(1));
    for (const std::string formula : {"x x * 1 +", "x 2 * sin"}) {
        const auto f = unwrap(device.load<void(const float*, float*)>(
            lode::Source::nvvm_ir(ir_of(formula), "formula.ll"), "f"));
        unwrap(f.launch(stream, {.grid = 1, .block = 1}, from, to));
        const float y = unwrap(to.to_vector())[0];
        const float right = formula == "x 2 * sin" ? std::sin(1.0F) : 1.25F;
        if (std::abs(y - right) > 1e-6F) throw std::runtime_error("a wrong result");
        std::printf("%s : f(0.5) = %g\n", formula.c_str(), y);
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
