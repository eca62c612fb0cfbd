#include "judge.hpp"

#include "program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include <elf.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT: posix_spawn's.

namespace lode::ptx_acceptance {
namespace {

/// The architecture to compile for: ptxas has none below sm_75, but accepts PTX for older ones.
std::string architecture_for(std::string_view target) {
    int number = 0;
    const std::string_view digits = target.substr(target.find('_') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number < 75 ? "sm_75" : std::string(target);
}

std::string read_all(int file) {
    std::string all;
    std::array<char, 4096> bytes{};
    for (ssize_t count = 0; (count = read(file, bytes.data(), bytes.size())) > 0;)
        all.append(bytes.data(), static_cast<std::size_t>(count));
    return all;
}

struct Run {
    bool fine = false, crashed = false;
    std::string output;
};

Run run_program(std::vector<std::string> words) {
    Run run;
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
        run.output = "A pipe can't be created.";
        return run;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed =
        posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    run.output = failed == 0 ? read_all(ends[0]) : std::string("ptxas can't be started.");
    close(ends[0]);
    int status = 1;
    if (failed == 0) waitpid(child, &status, 0);
    run.fine = failed == 0 && status == 0;
    run.crashed = failed == 0 && !WIFEXITED(status);
    return run;
}

Run run_ptxas(const std::string& ptxas, std::string_view target, std::string_view text,
              const std::string& scratch) {
    std::ofstream(scratch + ".ptx", std::ios::trunc) << text;
    return run_program(
        {ptxas, "-arch=" + architecture_for(target), scratch + ".ptx", "-o", scratch + ".cubin"});
}

/// Parses "…, line 12; error   : text" into line and text; the line is 0 if there is none.
std::vector<std::pair<std::size_t, std::string>> errors_in(std::string_view output) {
    std::vector<std::pair<std::size_t, std::string>> all;
    while (!output.empty()) {
        const std::size_t end = std::min(output.find('\n'), output.size());
        const std::string_view line = output.substr(0, end);
        output.remove_prefix(std::min(end + 1, output.size()));
        std::size_t at = line.find("error");
        if (at == line.npos) at = line.find("fatal");
        if (at == line.npos || line.find("aborted due to errors") != line.npos) continue;
        const std::size_t colon = line.find(": ", at);
        if (colon == line.npos) continue;
        std::size_t number = 0;
        if (const std::size_t place = line.rfind(", line ", at); place != line.npos)
            std::from_chars(line.data() + place + 7, line.data() + line.size(), number);
        all.emplace_back(number, std::string(line.substr(colon + 2)));
    }
    return all;
}

}  // namespace

Verdict judge(const std::string& ptxas, const Program& program, const std::string& scratch) {
    const Run run = run_ptxas(ptxas, program.target, program.text(), scratch);
    Verdict verdict;
    verdict.accepted = run.fine;
    verdict.crashed = run.crashed;
    if (run.fine || run.crashed) return verdict;
    const auto errors = errors_in(run.output);
    verdict.message =
        without_names(errors.empty() ? std::string_view(run.output).substr(0, run.output.find('\n'))
                                     : std::string_view(errors.front().second));
    return verdict;
}

std::string machine_code(const std::string& ptxas, std::string_view target, std::string_view text,
                         const std::string& scratch, std::string& message) {
    const Run run = run_ptxas(ptxas, target, text, scratch);
    if (!run.fine) {
        const auto errors = errors_in(run.output);
        message = errors.empty() ? run.output : errors.front().second;
        return {};
    }
    std::ifstream in(scratch + ".cubin", std::ios::binary);
    const std::string image((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    Elf64_Ehdr head{};
    if (image.size() < sizeof(head)) return {};
    std::memcpy(&head, image.data(), sizeof(head));
    const auto section = [&](std::size_t k) {
        Elf64_Shdr made{};
        std::memcpy(&made, image.data() + head.e_shoff + k * sizeof(made), sizeof(made));
        return made;
    };
    const Elf64_Shdr names = section(head.e_shstrndx);
    for (std::size_t k = 0; k < head.e_shnum; ++k) {
        const Elf64_Shdr at = section(k);
        if (std::string_view(image.data() + names.sh_offset + at.sh_name) == ".text.k")
            return image.substr(at.sh_offset, at.sh_size);
    }
    message = "The image has no section .text.k.";
    return {};
}

std::vector<Verdict> judge_all(const std::string& ptxas, std::span<const Program> programs,
                               const std::string& scratch_folder) {
    std::vector<Verdict> verdicts(programs.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&](int worker) {
        const std::string scratch = scratch_folder + "/" + std::to_string(worker);
        for (std::size_t k = 0; (k = next++) < programs.size();)
            verdicts[k] = judge(ptxas, programs[k], scratch);
    };
    std::vector<std::thread> threads;
    for (unsigned k = 1; k < std::thread::hardware_concurrency(); ++k)
        threads.emplace_back(work, static_cast<int>(k));
    work(0);
    for (std::thread& thread : threads)
        thread.join();
    return verdicts;
}

std::string version_of(const std::string& ptxas) {
    const Run run = run_program({ptxas, "--version"});
    const std::size_t at = run.output.find("release ");
    if (!run.fine || at == run.output.npos) return {};
    return run.output.substr(at, run.output.find('\n', at) - at);
}

}  // namespace lode::ptx_acceptance
