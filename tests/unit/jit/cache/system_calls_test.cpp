// Compares a compilation's system calls, traced with ptrace, with what lode recorded: every path
// that NVRTC's process asks for must be among the recorded answers.
#include "base/file.hpp"
#include "jit/compile.hpp"
#include "jit/nvrtc/library.hpp"
#include "jit/nvrtc/locate.hpp"
#include "tests/unit/jit/cache/scratch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lode;
using lode::cache::Scratch;
namespace fs = std::filesystem;

#if defined(__x86_64__)
namespace {

constexpr const char* begin_mark = "/lode-begin";
constexpr const char* end_mark = "/lode-end";
constexpr int not_permitted = 77;

struct Work {
    Source source;
    CompileOptions options;
};

/// Runs in the child: one compilation to warm up, then one between the marks. Writes the recorded
/// answers of the second to a file, one path per line.
int compile_marked(const Work& work, const fs::path& answers) {
    const auto nvrtc = NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({}));
    if (!nvrtc || !(*nvrtc)->watches_files()) return 2;
    const Arch arch = *Arch::parse("sm_90");
    // Loads NVRTC's second library.
    (void)compile_with(**nvrtc, {Source::text("__global__ void k() {}\n"), arch});
    CompileFiles files;
    (void)::access(begin_mark, F_OK);
    const auto image = compile_with(**nvrtc, {work.source, arch, work.options}, {.files = &files});
    (void)::access(end_mark, F_OK);
    std::string text;
    for (const auto* accesses : {&files.compiler, &files.shims}) {
        for (const auto& [path, answer] : accesses->answers()) {
            text += path.starts_with('/') ? path
                                          : cleaned_path(fs::current_path().native() + "/" + path);
            text += "\n";
        }
    }
    if (!files.compiler.unforeseen().empty()) return 3;
    for (const auto& folder : work.options.include_folders) {
        // lode checks the folder itself before it calls NVRTC.
        text += cleaned_path(fs::absolute(folder).native()) + "\n";
    }
    if (!image) return 4;
    return write_atomic(answers, text) ? 0 : 5;
}

std::string read_string(pid_t process, unsigned long address) {
    std::string text;
    while (text.size() < 4096) {
        std::array<char, 64> part{};
        // Stops at the end of the page; the next page may not be mapped.
        const std::size_t size = std::min<std::size_t>(part.size(), 4096 - address % 4096);
        const iovec here{part.data(), size};
        const iovec there{reinterpret_cast<void*>(address), size};  // In the other process.
        if (::process_vm_readv(process, &here, 1, &there, 1, 0) <= 0) return "(unreadable)";
        const std::size_t length = ::strnlen(part.data(), size);
        text.append(part.data(), length);
        if (length < size) break;
        address += size;
    }
    return text;
}

/// The path argument of a system call; empty if the call has none.
std::string path_of(pid_t process, const user_regs_struct& registers) {
    switch (registers.orig_rax) {
        case SYS_open:
        case SYS_stat:
        case SYS_lstat:
        case SYS_access:
        case SYS_readlink:
        case SYS_chdir:
        case SYS_statfs:
            return read_string(process, registers.rdi);
        case SYS_openat:
        case SYS_newfstatat:
        case SYS_faccessat:
        case SYS_readlinkat:
        case SYS_statx:
        case 437:  // openat2
        case 439:  // faccessat2
            return read_string(process, registers.rsi);
        default:
            return {};
    }
}

/// The paths seen in system calls of any thread between the marks, and the child's exit status.
struct Account {
    std::set<std::string> paths;
    int status = -1;
};

Account trace(const Work& work, const fs::path& answers) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(not_permitted);
        ::raise(SIGSTOP);
        ::_exit(compile_marked(work, answers));
    }
    Account account;
    REQUIRE(child > 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) {
        account.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return account;
    }
    const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, options) != 0) account.status = not_permitted;
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    bool is_between = false;
    for (;;) {
        const pid_t thread = ::waitpid(-1, &status, __WALL);
        if (thread < 0) break;
        if (!WIFSTOPPED(status)) {
            if (thread != child) continue;
            account.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            break;
        }
        const int signal = WSTOPSIG(status);
        if (signal == (SIGTRAP | 0x80)) {
            user_regs_struct registers{};
            if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) == 0 &&
                static_cast<long>(registers.rax) == -ENOSYS) {  // Entry to a system call.
                const std::string path = path_of(thread, registers);
                if (path == begin_mark) {
                    is_between = true;
                } else if (path == end_mark) {
                    is_between = false;
                } else if (is_between && !path.empty()) {
                    account.paths.insert(path);
                }
            }
        }
        const bool is_own = signal == (SIGTRAP | 0x80) || signal == SIGTRAP || signal == SIGSTOP;
        ::ptrace(PTRACE_SYSCALL, thread, nullptr, is_own ? 0L : static_cast<long>(signal));
    }
    return account;
}

/// Files that the C library opens by itself: the time zone, for the date of the compilation.
bool is_of_c_library(std::string_view path) {
    return path == "/etc/localtime";
}

void check_account(const Scratch& scratch, const Work& work) {
    const Account account = trace(work, scratch / "answers");
    if (account.status == not_permitted) {
        MESSAGE("skipped: ptrace isn't permitted here");
        return;
    }
    REQUIRE(account.status == 0);
    std::set<std::string> answers;
    std::istringstream lines(*read_text(scratch / "answers"));
    for (std::string line; std::getline(lines, line);)
        answers.insert(line);
    CHECK(account.paths.size() > 3);
    for (const auto& path : account.paths) {
        if (is_of_c_library(path)) continue;
        const std::string full =
            cleaned_path(path.starts_with('/') ? path : fs::current_path().native() + "/" + path);
        CHECK_MESSAGE(answers.contains(full), path);
    }
    // The trace must contain the header.
    CHECK(
        std::ranges::any_of(account.paths, [](const auto& path) { return path.ends_with("a.h"); }));
}

}  // namespace

TEST_CASE("system calls: every path that NVRTC asks for is recorded") {
    const Scratch scratch;
    scratch.write("inc/a.h", "#pragma once\n#include \"sub/b.h\"\n#include_next <a.h>\n");
    scratch.write("inc2/a.h", "#define A 1\n");
    scratch.write("inc/sub/b.h", "#define B 2\n");
    scratch.write("inc/pre.h", "#define PRE 3\n");
    scratch.write("inc/beside.h", "#define BESIDE 4\n");
    fs::create_symlink("a.h", scratch / "inc/again.h");
    scratch.write("src/k.cu",
                  "#include <a.h>\n#include <again.h>\n#include NAMED\n#include \"memory.h\"\n"
                  "#include <cstdint>\n"
                  "#if __has_include(\"absent.h\") || __has_include(OTHER)\n#error\n#endif\n"
                  "#if __has_include(\"/no/such/file.h\")\n#error\n#endif\n"
                  "// #include \"comment.h\"\n"
                  "extern \"C\" __global__ void k(int* x) { *x = A + B + PRE + BESIDE + "
                  "sizeof(std::uint8_t); }\n");
    Work work{Source::file(scratch / "src/k.cu"), {}};
    work.options.include_folders = {scratch / "inc", scratch / "inc2"};
    work.options.headers = {{"memory.h", "#include <beside.h>\n"}};
    work.options.definitions = {{"NAMED", "<sub/b.h>"}, {"OTHER", "<absent2.h>"}};
    work.options.pre_includes = {(scratch / "inc/pre.h").string()};
    check_account(scratch, work);
}

TEST_CASE("system calls: code in memory, relative folders and debug information") {
    const Scratch scratch;
    const fs::path home = fs::current_path();
    scratch.write("inc/a.h", "#define A 1\n");
    fs::current_path(scratch.path());
    Work work{Source::text("#include <a.h>\n#if __has_include(\"beside.h\")\n#error\n#endif\n"
                           "extern \"C\" __global__ void k(int* x) { *x = A; }\n"),
              {}};
    work.options.include_folders = {"inc", "."};
    work.options.debug = true;
    check_account(scratch, work);
    fs::current_path(home);
}

TEST_CASE("system calls: a header of CUB") {
    const Scratch scratch;
    scratch.write("a.h", "#include <cub/block/block_reduce.cuh>\n");
    const auto nvrtc = NvrtcLibrary::open(NvrtcSearchEnvironment::of_process({}));
    REQUIRE(nvrtc);
    const auto has_cub = [](const fs::path& folder) {
        return fs::exists(folder / "cub/block/block_reduce.cuh");
    };
    if (std::ranges::none_of((*nvrtc)->include_folders(), has_cub)) {
        MESSAGE("skipped: the toolkit has no CUB");
        return;
    }
    scratch.write("k.cu", "#include \"a.h\"\n__global__ void k(int* x) { *x = 1; }\n");
    check_account(scratch, {Source::file(scratch / "k.cu"), {}});
}
#endif
