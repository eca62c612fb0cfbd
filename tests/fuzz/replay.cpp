// Runs a target on files, or on mutations of them, in any build:
//   lode_fuzz_replay TARGET FILE_OR_FOLDER…
//   lode_fuzz_replay TARGET --mutations COUNT [--from NUMBER] FILE_OR_FOLDER…
// Mutation NUMBER is the same in every run. An input that crashes, hangs or takes too much memory
// is written to crash-TARGET in the current folder, and its number is printed.
#include "base/file.hpp"
#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using namespace lode::fuzz;

// The current input, for signal handlers and the watchdog.
const char* target_name = "";
std::string input;
std::atomic<std::uint64_t> number{0};

/// Async-signal-safe unless the input is being changed at this moment.
void keep_input(const char* why) {
    std::array<char, 256> text{};
    const int file_name = std::snprintf(text.data(), text.size(), "crash-%s", target_name);
    const int file = file_name > 0 ? ::open(text.data(), O_CREAT | O_WRONLY | O_TRUNC, 0600) : -1;
    if (file >= 0) {
        if (::write(file, input.data(), input.size()) < 0) why = "the input can't be written";
        ::close(file);
    }
    const int size = std::snprintf(
        text.data(), text.size(), "lode_fuzz_replay: %s, mutation %llu: %s; see crash-%s\n",
        target_name, static_cast<unsigned long long>(number.load()), why, target_name);
    if (size > 0 && ::write(STDERR_FILENO, text.data(), static_cast<std::size_t>(size)) < 0) return;
}

void on_signal(int signal) {
    keep_input("a signal ends the process");
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// Sanitizers have their own signal handlers and call a callback instead.
void watch_for_crashes() {
    if (__sanitizer_set_death_callback != nullptr) {
        __sanitizer_set_death_callback([] { keep_input("a sanitizer ends the process"); });
        std::signal(SIGABRT, on_signal);
        return;
    }
    static std::array<char, 64 * 1024> stack;  // Lets the handler run after a stack overflow.
    stack_t alternate{};
    alternate.ss_sp = stack.data();
    alternate.ss_size = stack.size();
    ::sigaltstack(&alternate, nullptr);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        ::sigaction(signal, &action, nullptr);
}

/// The process's resident memory in bytes; 0 if it can't be read.
std::size_t resident_bytes() {
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr) return 0;
    unsigned long long whole = 0;
    unsigned long long resident = 0;
    const int read = std::fscanf(file, "%llu %llu", &whole, &resident);
    std::fclose(file);
    return read == 2 ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

/// Ends the process if one input takes more than a minute or the process more than 3 GiB.
void watch_over_inputs() {
    using clock = std::chrono::steady_clock;
    constexpr auto longest = std::chrono::seconds(60);
    constexpr std::size_t most = std::size_t{3} << 30;
    std::uint64_t seen = 0;
    auto since = clock::now();
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const std::uint64_t now = number.load();
        if (now != seen) {
            seen = now;
            since = clock::now();
        }
        const bool slow = clock::now() - since > longest;
        if (!slow && resident_bytes() < most) continue;
        keep_input(slow ? "the input runs for more than 60 s" : "the process has more than 3 GiB");
        std::_Exit(1);
    }
}

bool add_files(const char* place, std::vector<std::string>& texts) {
    std::vector<std::filesystem::path> files{place};
    if (std::filesystem::is_directory(place)) {
        files.assign(std::filesystem::directory_iterator(place), {});
        std::ranges::sort(files);  // Mutation numbers must mean the same everywhere.
    }
    for (const auto& file : files) {
        const auto bytes = lode::read_bytes(file);
        if (!bytes) {
            std::fprintf(stderr, "lode_fuzz_replay: %s\n", bytes.error().message.c_str());
            return false;
        }
        texts.emplace_back(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    }
    return true;
}

void run(const Target& target) {
    (void)target.run(std::as_bytes(std::span(input)));
}

void run_mutations(const Target& target, const std::vector<std::string>& seeds, std::uint64_t first,
                   std::uint64_t count) {
    for (std::uint64_t k = first; k < first + count; ++k) {
        number = k;
        Random random(k * 2654435761u + 1);
        input = seeds[random.below(seeds.size())];
        mutate(target, input, seeds[random.below(seeds.size())], random);
        run(target);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Target* const target = argc > 1 ? find_target(argv[1]) : nullptr;
    std::uint64_t mutations = 0;
    std::uint64_t first = 1;
    std::vector<std::string> seeds;
    for (int k = 2; k < argc; ++k) {
        if (std::strcmp(argv[k], "--mutations") == 0 && k + 1 < argc) {
            mutations = std::strtoull(argv[++k], nullptr, 10);
        } else if (std::strcmp(argv[k], "--from") == 0 && k + 1 < argc) {
            first = std::strtoull(argv[++k], nullptr, 10);
        } else if (!add_files(argv[k], seeds)) {
            return 2;
        }
    }
    if (target == nullptr || seeds.empty()) {
        std::fprintf(stderr, "lode_fuzz_replay TARGET [--mutations COUNT] [--from NUMBER] FILE…\n");
        return 2;
    }
    target_name = target->name.data();
    watch_for_crashes();
    std::thread(watch_over_inputs).detach();
    if (mutations > 0) {
        run_mutations(*target, seeds, first, mutations);
    } else {
        for (const std::string& seed : seeds) {
            ++number;
            input = seed;
            run(*target);
        }
    }
    std::printf("%s: %llu inputs\n", target_name,
                static_cast<unsigned long long>(mutations > 0 ? mutations : seeds.size()));
    // Don't run destructors: the watchdog is still running.
    std::fflush(stdout);
    std::_Exit(0);
}
