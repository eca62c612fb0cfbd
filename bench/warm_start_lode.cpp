// One warm process of bench/warm_start: opens lode, loads a kernel that the disk cache holds,
// launches it and checks every element. Writes one byte to stdout when that is done.
#include "bench/warm_start.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <vector>

#include <unistd.h>

int main() {
    using namespace lode;
    const auto runtime = unwrap(Runtime::open());
    const auto device = unwrap(runtime.device());
    const auto fill = unwrap(device.load<void(unsigned*, unsigned)>(
        Source::text(bench::warm_start_source, "warm_start.cu"), "fill"));
    const auto stream = unwrap(device.create_stream());
    const auto values = unwrap(device.alloc<unsigned>(bench::warm_start_elements));
    unwrap(fill.launch(stream, cover(bench::warm_start_elements), values,
                       unsigned{bench::warm_start_elements}));
    unwrap(stream.sync());
    const auto result = unwrap(values.to_vector());
    if (!bench::is_filled(result.data())) return 1;
    return ::write(STDOUT_FILENO, "v", 1) == 1 ? 0 : 1;
}
