// A scripted nvJitLink for the last step of the arch ladder. Its machine code is the fake driver's:
// a header that names the architecture, followed by the PTX. LODE_FAKE_NVJITLINK scripts it:
// "<version> <outcome>", e.g. "13000 ok" or "12040 refuses".
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

namespace {

constexpr int success = 0;
constexpr int ptx_compile_error = 4;
constexpr int ptx_input = 2;
constexpr std::size_t elf_header_bytes = 64;
constexpr std::size_t flags_at = 48;
constexpr std::string_view error_log = "ptxas fatal : Unresolved extern function '_Z7nowherePf'";

struct Script {
    unsigned version = 13000;
    std::string outcome = "ok";
};

Script script() {
    Script parsed;
    if (const char* const text = std::getenv("LODE_FAKE_NVJITLINK"))
        std::istringstream(text) >> parsed.version >> parsed.outcome;
    return parsed;
}

struct Link {
    int sm = 0;
    std::string cubin;
};

}  // namespace

#define LODE_FAKE_API extern "C" __attribute__((visibility("default"))) int

LODE_FAKE_API nvJitLinkVersion(unsigned* version_major, unsigned* version_minor) {
    const unsigned version = script().version;
    *version_major = version / 1000;
    *version_minor = version % 1000 / 10;
    return success;
}

LODE_FAKE_API nvJitLinkCreate(Link** link, std::uint32_t count, const char* const* options) {
    *link = new Link;
    for (std::uint32_t i = 0; i < count; ++i) {
        constexpr std::string_view arch = "-arch=sm_";
        if (const std::string_view option = options[i]; option.starts_with(arch))
            (*link)->sm = std::atoi(options[i] + arch.size());
    }
    return success;
}

LODE_FAKE_API nvJitLinkDestroy(Link** link) {
    delete *link;
    *link = nullptr;
    return success;
}

LODE_FAKE_API nvJitLinkAddData(Link* link, int kind, const void* data, std::size_t bytes,
                               const char* /*name*/) {
    if (kind != ptx_input) return ptx_compile_error;
    link->cubin.assign(elf_header_bytes, '\0');
    std::memcpy(link->cubin.data(), "\177ELF\2\1\1", 7);
    link->cubin[flags_at] = static_cast<char>(link->sm);
    link->cubin.append(static_cast<const char*>(data), bytes);
    return success;
}

LODE_FAKE_API nvJitLinkComplete(Link* /*link*/) {
    return script().outcome == "ok" ? success : ptx_compile_error;
}

LODE_FAKE_API nvJitLinkGetLinkedCubinSize(Link* link, std::size_t* bytes) {
    *bytes = link->cubin.size();
    return success;
}

LODE_FAKE_API nvJitLinkGetLinkedCubin(Link* link, void* cubin) {
    std::ranges::copy(link->cubin, static_cast<char*>(cubin));
    return success;
}

LODE_FAKE_API nvJitLinkGetErrorLogSize(Link* /*link*/, std::size_t* bytes) {
    *bytes = error_log.size() + 1;
    return success;
}

LODE_FAKE_API nvJitLinkGetErrorLog(Link* /*link*/, char* log) {
    log[error_log.copy(log, error_log.size())] = '\0';
    return success;
}

LODE_FAKE_API nvJitLinkGetInfoLogSize(Link* /*link*/, std::size_t* bytes) {
    *bytes = 0;
    return success;
}

LODE_FAKE_API nvJitLinkGetInfoLog(Link* /*link*/, char* /*log*/) {
    return success;
}
