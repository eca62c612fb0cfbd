#include "jit/flags.hpp"

namespace lode {

std::vector<std::string> machine_flags(const NvrtcLibrary& nvrtc, const Arch& arch) {
    std::vector<std::string> flags = {"-arch=" + arch.to_string(), "--modify-stack-limit=false"};
    constexpr int no_cache_since[] = {12, 9};
    if (nvrtc.at_least(no_cache_since[0], no_cache_since[1])) flags.emplace_back("--no-cache");
    return flags;
}

}  // namespace lode
