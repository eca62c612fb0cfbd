// One libFuzzer program; LODE_FUZZ_PARSER names the parser.
#include "tests/fuzz/parsers.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)lode::fuzz::LODE_FUZZ_PARSER(std::as_bytes(std::span(data, size)));
    return 0;
}
