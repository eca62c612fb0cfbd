// Launches on one device with a buffer of another. Exits with 0 if the launch is refused, and with
// 1 if it is accepted.
#include <lode/lode.hpp>

#include <cstdio>

namespace {

constexpr const char* text = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 to)
{
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [to];
st.global.u32 [%rd1], 7;
ret;
}
)";

/// The value; on an error, prints it and exits with 3.
template <class T>
T get(lode::Result<T> result) {
    if (result) return *std::move(result);
    std::puts(result.error().describe().c_str());
    std::exit(3);
}

}  // namespace

int main() {
    const auto runtime = get(lode::Runtime::open());
    const auto first = get(runtime.device(0));
    const auto second = get(runtime.device(1));
    const auto kernel = get(second.load<void(int*)>(lode::Source::ptx(text), "k"));
    const auto stream = get(second.create_stream());
    const auto here = get(second.alloc<int>(4));
    const auto there = get(first.alloc<int>(4));
    if (!kernel.launch(stream, lode::cover(1), here)) return 3;
    const auto launched = kernel.launch(stream, lode::cover(1), there);
    if (!launched) return 0;
    std::puts(stream.sync() ? "the launch is accepted and runs" : "the launch is accepted");
    return 1;
}
