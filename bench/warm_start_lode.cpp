// One warm process of bench/warm_start: opens lode, loads a kernel from the disk cache, launches it
// and checks every element, then writes one byte to stdout. If given a folder as argument, it
// writes there what the raw program needs, and the names.
#include "bench/warm_start.hpp"

#include <lode/base/unwrap.hpp>
#include <lode/lode.hpp>

#include <filesystem>
#include <fstream>
#include <vector>

#include <unistd.h>

int main(int count, char** arguments) {
    using namespace lode;
    const auto runtime = unwrap(Runtime::open());
    const auto device = unwrap(runtime.device());
    const auto source = Source::text(bench::warm_start_source, "warm_start.cu");
    const auto fill = unwrap(device.load<void(unsigned*, unsigned)>(source, "fill"));
    const auto stream = unwrap(device.create_stream());
    const auto values = unwrap(device.alloc<unsigned>(bench::warm_start_elements));
    unwrap(fill.launch(stream, cover(bench::warm_start_elements), values,
                       unsigned{bench::warm_start_elements}));
    unwrap(stream.sync());
    const auto result = unwrap(values.to_vector());
    if (!bench::is_filled(result.data())) return 1;
    if (::write(STDOUT_FILENO, "v", 1) != 1) return 1;
    if (count > 1) {
        const std::filesystem::path folder = arguments[1];
        const Image image = unwrap(device.compile(source));
        std::ofstream code(folder / "code", std::ios::binary);
        if (runtime.driver().is_emulator()) {  // The emulator runs only PTX.
            code << image.ptx;
        } else {
            code.write(reinterpret_cast<const char*>(image.cubin.data()),
                       static_cast<std::streamsize>(image.cubin.size()));
        }
        std::ofstream(folder / "driver") << runtime.driver().origin();
        std::ofstream(folder / "device") << device.name();
    }
    return 0;
}
