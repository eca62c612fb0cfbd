// A plug-in that has another version of lode than its host.
#include "compile.hpp"

#include <cstring>

/// Writes what compile() returns, or "failed: " and the reason, to `text`, which has 1000 bytes.
extern "C" void plugin_compile(const char* nvrtc, const char* folder, int step, char* text) {
    std::string answer;
    try {
        answer = compile(nvrtc, folder, step);
    } catch (const std::exception& failure) {
        answer = std::string("failed: ") + failure.what();
    }
    std::strncpy(text, answer.c_str(), 999);
    text[999] = '\0';
}
