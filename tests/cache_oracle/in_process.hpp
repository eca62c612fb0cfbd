// Compilations in processes of their own, whose results are lines of text.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lode::oracle {

inline std::string one_line(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
}

/// Runs `body` in a process of its own; returns the lines that it gives to its argument.
inline std::vector<std::string> in_process(
    const std::function<void(const std::function<void(std::string)>&)>& body) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        body([&](const std::string& text) {
            const std::string line = one_line(text) + '\n';
            for (std::size_t at = 0; at < line.size();) {
                const auto sent = ::write(ends[1], line.data() + at, line.size() - at);
                if (sent <= 0) std::_Exit(1);
                at += static_cast<std::size_t>(sent);
            }
        });
        std::_Exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    if (status != 0) lines.push_back(fmt::format("the process ends with status {}", status));
    return lines;
}

/// What a command prints, without the last line's end.
inline std::string line_of_command(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> output(::popen(command.c_str(), "r"), &::pclose);
    std::string line;
    if (output != nullptr)
        for (int c = 0; (c = std::fgetc(output.get())) != EOF;)
            line += static_cast<char>(c);
    if (line.ends_with('\n')) line.pop_back();
    return line;
}

}  // namespace lode::oracle
