// The libFuzzer program of every target. The target is selected by the name of the program,
// lode_fuzz_<target>, or by the environment variable LODE_FUZZ_TARGET.
#include "tests/fuzz/mutate.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);

namespace {

const lode::fuzz::Target* chosen = nullptr;

std::string_view name_of(const char* program) {
    if (const char* const name = std::getenv("LODE_FUZZ_TARGET")) return name;
    std::string_view name = program;
    constexpr std::string_view prefix = "lode_fuzz_";
    const auto at = name.rfind(prefix);
    return at == std::string_view::npos ? std::string_view() : name.substr(at + prefix.size());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
    const auto name = name_of((*arguments)[0]);
    chosen = lode::fuzz::find_target(name);
    if (chosen != nullptr) return 0;
    // For scripts: one line per target with its corpus folder and its maximum input size.
    for (const auto& target : lode::fuzz::targets())
        std::printf("%s %s %zu\n", target.name.data(), target.corpus.data(), target.most);
    std::exit(name == "list" ? 0 : 2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)chosen->run(std::as_bytes(std::span(data, size)));
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
    lode::fuzz::Random random(seed);
    if (random.one_in(chosen->form == lode::fuzz::Form::ptx ? 4 : 2))
        return LLVMFuzzerMutate(data, size, room);
    std::string input(reinterpret_cast<const char*>(data), size);
    const std::string other = input;
    mutate(*chosen, input, other, random);
    const std::size_t made = std::min(input.size(), room);
    std::memcpy(data, input.data(), made);
    return made;
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second,
                                                 std::size_t second_size, std::uint8_t* out,
                                                 std::size_t room, unsigned seed) {
    lode::fuzz::Random random(seed);
    std::string input(reinterpret_cast<const char*>(first), first_size);
    mutate(*chosen, input, {reinterpret_cast<const char*>(second), second_size}, random);
    const std::size_t made = std::min(input.size(), room);
    std::memcpy(out, input.data(), made);
    return made;
}
