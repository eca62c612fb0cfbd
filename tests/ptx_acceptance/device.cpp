#include "device.hpp"

#include "emulator/exec/machine.hpp"
#include "emulator/memory/memory.hpp"

#include <array>
#include <charconv>

#include <poll.h>
#include <signal.h>  // NOLINT: kill() is POSIX's.
#include <sys/wait.h>
#include <unistd.h>

namespace lode::ptx_acceptance {

DeviceAnswer ask_device(std::string_view target, std::string_view text) {
    int number = 75;
    const std::string_view digits = target.substr(target.find('_') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number < 75) number = 75;
    static emulator::Memory memory;
    const emulator::LoadOutcome outcome =
        emulator::Module::load(memory, text, number / 10, number % 10);
    DeviceAnswer made;
    if (outcome.status != emulator::LoadStatus::ok) {
        made.message = outcome.log;
        return made;
    }
    for (const std::string& name : outcome.module->kernel_names()) {
        if (const emulator::Refusal* refusal = outcome.module->refusal(name); refusal != nullptr) {
            made.answer = Answer::unsupported;
            made.message = refusal->message;
            return made;
        }
    }
    made.answer = Answer::accepted;
    return made;
}

namespace {

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(file, bytes.data(), bytes.size());
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

[[noreturn]] void answer_all(std::span<const Program> programs, int to) {
    for (const Program& program : programs) {
        DeviceAnswer made = ask_device(program.target, program.text());
        for (char& c : made.message)
            if (c == '\n') c = ' ';
        const std::string line =
            std::to_string(static_cast<int>(made.answer)) + made.message + "\n";
        if (!write_all(to, line)) break;
    }
    _exit(0);
}

/// Reads the answers of a child until it ends or sends nothing for too long.
void collect(int from, int limit_seconds, std::size_t wanted, std::vector<DeviceAnswer>& into) {
    std::string line;
    std::array<char, 4096> bytes{};
    while (into.size() < wanted) {
        pollfd ready{from, POLLIN, 0};
        if (poll(&ready, 1, 1000 * limit_seconds) <= 0) return;
        const ssize_t count = read(from, bytes.data(), bytes.size());
        if (count <= 0) return;
        for (const char c : std::string_view(bytes.data(), static_cast<std::size_t>(count))) {
            if (c != '\n') {
                line += c;
                continue;
            }
            into.push_back({static_cast<Answer>(line[0] - '0'), line.substr(1)});
            line.clear();
        }
    }
}

}  // namespace

std::vector<DeviceAnswer> ask_device(std::span<const Program> programs, int limit_seconds) {
    std::vector<DeviceAnswer> all;
    while (all.size() < programs.size()) {
        std::array<int, 2> ends{};
        if (pipe(ends.data()) != 0) return all;
        const pid_t child = fork();
        if (child == 0) answer_all(programs.subspan(all.size()), ends[1]);
        close(ends[1]);
        if (child > 0) collect(ends[0], limit_seconds, programs.size(), all);
        close(ends[0]);
        if (child < 0) return all;
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        if (all.size() == programs.size()) break;
        const bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        all.push_back({Answer::crashed, hung ? "hangs" : "crashes"});
    }
    return all;
}

}  // namespace lode::ptx_acceptance
