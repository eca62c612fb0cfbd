// An NVRTC that its source has taken over. What it is asked to compile is a line of commands, which
// it obeys with the rights of the process that has loaded it; its answer is a compiler's log.
#include "tests/jail/hostile_nvrtc.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nvrtc.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace lode::test::hostile;

/// What a call with this as its last argument answers if the jail lets it through. It isn't made.
constexpr long let_through = 4001;
constexpr std::uint64_t probe = 0x6c6f6465;

using Arguments = std::array<std::uint64_t, 5>;

/// Whether the jail lets a call through; errno is its answer if not.
bool is_allowed(long number, const Arguments& a) {
    errno = 0;
    ::syscall(number, a[0], a[1], a[2], a[3], a[4], probe);
    return errno == let_through;
}

/// Puts a filter before those of the jail: of two errors, the kernel takes that of the later
/// filter, and so `let_through` says that the jail's has none.
void filter_probes() {
    constexpr auto last_argument = static_cast<std::uint32_t>(offsetof(seccomp_data, args[5]));
    std::array<sock_filter, 4> filter = {{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, last_argument},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(probe)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | let_through},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const sock_fprog program{filter.size(), filter.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    if (!is_allowed(SYS_getpid, {})) std::abort();  // Calls would be made.
}

/// Values that filters compare arguments with, and others. One stands for this process.
constexpr std::uint64_t stands_for_own = 5;
constexpr std::array<std::uint64_t, 20> values = {0,
                                                  1,
                                                  2,
                                                  3,
                                                  4,
                                                  stands_for_own,
                                                  8,
                                                  9,
                                                  14,
                                                  15,
                                                  16,
                                                  0x22,
                                                  0x100,
                                                  0x1000,
                                                  0x3d0f00,
                                                  0x80000,
                                                  0x5401,
                                                  0x7fff0000,
                                                  ~std::uint64_t{0},
                                                  ~std::uint64_t{0} >> 1};

/// Each call that is allowed with some arguments, with "always" or "sometimes".
std::string sweep() {
    constexpr int trials = 3000;
    std::ostringstream report;
    for (long number = 0; number < last_call; ++number) {
#if defined(__x86_64__)
        // uretprobe and uprobe: the kernel makes them itself, unfiltered, and ends others that do.
        if (number == 335 || number == 336) continue;
#endif
        std::uint32_t state = 1;
        int allowed = 0;
        for (int i = 0; i < trials; ++i) {
            Arguments arguments{};
            for (auto& argument : arguments) {
                state = state * 1664525 + 1013904223;
                argument = values[(state >> 16) % values.size()];
                if (argument == stands_for_own)
                    argument = static_cast<std::uint64_t>(own_process());
            }
            allowed += is_allowed(number, arguments) ? 1 : 0;
        }
        if (allowed > 0) report << number << (allowed == trials ? " always\n" : " sometimes\n");
    }
    return report.str();
}

/// "call NUMBER ARGUMENT…"
std::string answer_of_call(std::istream& words) {
    long number = 0;
    Arguments arguments{};
    words >> number;
    std::string word;
    for (auto& argument : arguments) {
        if (!(words >> word)) break;
        argument = word == "self" ? static_cast<std::uint64_t>(own_process())
                                  : std::strtoull(word.c_str(), nullptr, 0);
    }
    if (is_allowed(number, arguments)) return "allowed";
    return errno == EPERM ? "EPERM" : errno == ENOSYS ? "ENOSYS" : "error " + std::to_string(errno);
}

bool is_planted = false;
/// This process's list of its memory, opened when that could be done.
int memory_list = -1;

/// Reads a file as a compiler reads a header.
void include(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (file == nullptr) return;
    std::array<char, 4096> text{};
    while (std::fread(text.data(), 1, text.size(), file) > 0) {
    }
    std::fclose(file);
}

/// Replaces each occurrence of a text, given backwards so that the request doesn't contain it, in
/// all memory of this process by one as long. Returns "" if there was one.
std::string forge(const std::string& backwards, const std::string& by) {
    std::string maps(std::size_t{1} << 20, '\0');
    const auto count = ::pread(memory_list, maps.data(), maps.size(), 0);
    maps.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    std::istringstream lines(maps);
    int found = 0;
    for (std::string line; std::getline(lines, line);) {
        std::uintptr_t start = 0;
        std::uintptr_t end = 0;
        std::array<char, 5> rights{};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &start, &end, rights.data()) != 3) continue;
        if (std::string_view(rights.data()) != "rw-p" || line.ends_with("[stack]")) continue;
        for (auto* at = reinterpret_cast<char*>(start);
             at + backwards.size() <= reinterpret_cast<char*>(end); ++at) {
            if (!std::equal(backwards.rbegin(), backwards.rend(), at)) continue;
            std::copy(by.begin(), by.end(), at);
            ++found;
        }
    }
    return found > 0 ? "" : "nothing to forge";
}

/// Obeys one line.
std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "sweep") return sweep();
    if (command == "call") return answer_of_call(words);
    if (command == "plant") return std::exchange(is_planted, true) ? "planted" : "empty";
    std::string path;
    words >> path;
    if (command == "include") {
        include(path);
        return {};
    }
    if (command == "forge") {
        std::string by;
        words >> by;
        return forge(path, by);
    }
    return attack(command, path);
}

struct Program {
    std::string code;
    std::string log;
};

Program& of(nvrtcProgram program) {
    return *reinterpret_cast<Program*>(program);
}

constexpr std::string_view ptx =
    "// Cuda compilation tools, release 13.0, V13.0.0\n.version 9.0\n.target sm_75\n"
    ".address_size 64\n";

nvrtcResult size_of(std::string_view text, std::size_t* size) {
    *size = text.size() + 1;
    return NVRTC_SUCCESS;
}
nvrtcResult copy(std::string_view text, char* to) {
    to[text.copy(to, text.size())] = '\0';
    return NVRTC_SUCCESS;
}

}  // namespace

#define LODE_HOSTILE extern "C" __attribute__((visibility("default")))

LODE_HOSTILE const char* nvrtcGetErrorString(nvrtcResult /*result*/) {
    return "NVRTC_ERROR_COMPILATION";
}
LODE_HOSTILE nvrtcResult nvrtcVersion(int* major, int* minor) {
    *major = 13;
    *minor = 0;
    // As a compiler does that lode watches.
    struct stat status {};
    (void)::stat("/", &status);
    if (std::FILE* const file = std::fopen("/dev/null", "r")) std::fclose(file);
    [[maybe_unused]] const char* const value = std::getenv("NVRTC_HOSTILE");
    constexpr std::time_t start = 0;
    (void)std::ctime(&start);
    // The host opens the compiler too.
    if (std::strcmp(program_invocation_short_name, "lode-worker") != 0) return NVRTC_SUCCESS;
    memory_list = ::open("/proc/self/maps", O_RDONLY);
    filter_probes();
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    *count = 1;
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetSupportedArchs(int* archs) {
    *archs = 75;
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* code,
                                            const char* /*name*/, int /*headers*/,
                                            const char* const* /*texts*/,
                                            const char* const* /*names*/) {
    *program = reinterpret_cast<nvrtcProgram>(new Program{code, {}});
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
    delete &of(*program);
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcAddNameExpression(nvrtcProgram /*program*/, const char* /*name*/) {
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int /*count*/,
                                             const char* const* /*options*/) {
    std::istringstream lines(of(program).code);
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view mark = "//: ";
        if (!line.starts_with(mark)) continue;
        line.erase(0, mark.size());
        const auto outcome = obey(line);
        if (!outcome.empty()) of(program).log += line + " = " + outcome + "\n";
    }
    return of(program).log.empty() ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}
LODE_HOSTILE nvrtcResult nvrtcGetLoweredName(nvrtcProgram /*program*/, const char* /*name*/,
                                             const char** /*lowered*/) {
    return NVRTC_ERROR_COMPILATION;
}
LODE_HOSTILE nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
    return size_of(of(program).log, size);
}
LODE_HOSTILE nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) {
    return copy(of(program).log, log);
}
LODE_HOSTILE nvrtcResult nvrtcGetPTXSize(nvrtcProgram /*program*/, std::size_t* size) {
    return size_of(ptx, size);
}
LODE_HOSTILE nvrtcResult nvrtcGetPTX(nvrtcProgram /*program*/, char* text) {
    return copy(ptx, text);
}
LODE_HOSTILE nvrtcResult nvrtcGetCUBINSize(nvrtcProgram /*program*/, std::size_t* size) {
    *size = 0;
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetCUBIN(nvrtcProgram /*program*/, char* /*cubin*/) {
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetLTOIRSize(nvrtcProgram /*program*/, std::size_t* size) {
    *size = 0;
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetLTOIR(nvrtcProgram /*program*/, char* /*code*/) {
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetOptiXIRSize(nvrtcProgram /*program*/, std::size_t* size) {
    *size = 0;
    return NVRTC_SUCCESS;
}
LODE_HOSTILE nvrtcResult nvrtcGetOptiXIR(nvrtcProgram /*program*/, char* /*code*/) {
    return NVRTC_SUCCESS;
}
