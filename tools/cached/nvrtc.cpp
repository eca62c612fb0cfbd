// Stands in for NVRTC inside `lode cached`: answers compilations from lode's cache.
//
// Each program is one of the original too, with the same handle, so that all functions that aren't
// here work on it, whatever release it is. Where the cache can't answer, the original compiles, as
// if this library weren't there.
#include "jit/cache/request_context.hpp"
#include "jit/request/nvrtc_call.hpp"
#include "tools/cached/journal.hpp"
#include "tools/cached/session.hpp"
#include "tools/cached/stand_in.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nvrtc.h>

namespace lode::cached {
namespace {

/// A program as it was made, and the answer to its compilation if the cache gave it.
struct Program {
    NvrtcCall call;
    bool has_callback = false;
    bool is_compiled = false;  ///< By the original.
    std::shared_ptr<const NvrtcAnswer> answer;
};

/// The programs of the process. Never destroyed: exit handlers may use NVRTC.
Handles<nvrtcProgram, Program>& programs() {
    static auto& all = *new Handles<nvrtcProgram, Program>;
    return all;
}

/// The original's backend.
std::unique_ptr<cache::CompilerBackend> make_backend(const std::filesystem::path& library,
                                                     const CacheOptions& options) {
    return cache::make_nvrtc_backend({.nvrtc = library}, options.workers,
                                     cache::pch_settings(options), options.log);
}

std::shared_ptr<Session> session() {
    static const auto& file = *new std::filesystem::path(original_file("nvrtcCompileProgram"));
    return Session::of_process(file, &make_backend);
}

/// Calls a function of the original; one that it doesn't have can't be called for any program.
template <class... Args>
nvrtcResult forward(const char* name, Args... args) noexcept {
    auto* const function = original<nvrtcResult(Args...)>(name);
    return function != nullptr ? function(args...) : NVRTC_ERROR_INVALID_INPUT;
}

/// nullptr if a header is a null pointer.
std::shared_ptr<Program> made_program(const char* source, const char* name, int count,
                                      const char* const* headers, const char* const* names) {
    for (int i = 0; i < count; ++i)
        if (names[i] == nullptr || headers[i] == nullptr) return nullptr;
    auto program = std::make_shared<Program>();
    program->call.source = source;
    if (name != nullptr) program->call.name = name;
    for (int i = 0; i < count; ++i)
        program->call.headers.push_back({names[i], headers[i]});
    return program;
}

/// Why the original has to answer; empty if the cache has, and the program has its answer.
std::string why_uncached(Program& program, int count, const char* const* options) {
    if (program.has_callback) return "the program has a flow callback";
    if (program.is_compiled) return "the program is compiled more than once";
    program.call.options.assign(options, options + count);
    const auto held = session();
    if (held == nullptr) return "the process ends, or uses several libraries of NVRTC";
    const auto start = std::chrono::steady_clock::now();
    auto answered = held->answer(program.call);
    if (!answered) return answered.error().message;
    program.answer = std::move(answered->answer);
    const bool is_hit = !answered->tier.empty();
    add_to_journal({is_hit ? "hit" : "compiled", answered->not_kept,
                    cache::milliseconds_since(start), is_hit ? answered->compile_ms : 0});
    return {};
}

/// A program that is compiled again has to be in the state that the first time left.
void compile_as_before(nvrtcProgram handle, Program& program) {
    std::vector<const char*> options;
    for (const auto& option : program.call.options)
        options.push_back(option.c_str());
    (void)forward("nvrtcCompileProgram", handle, static_cast<int>(options.size()),
                  static_cast<const char* const*>(options.data()));
    program.answer = nullptr;
    program.is_compiled = true;
}

nvrtcResult compile(nvrtcProgram handle, int count, const char* const* options) noexcept {
    const auto program = programs().find(handle);
    const auto compile_originally = [&] {
        return forward("nvrtcCompileProgram", handle, count, options);
    };
    if (program == nullptr || count < 0 || (count > 0 && options == nullptr))
        return compile_originally();
    const auto reason = guarded([&]() -> std::optional<std::string> {
        for (int i = 0; i < count; ++i)
            if (options[i] == nullptr) return "an option is a null pointer";
        if (program->answer != nullptr) compile_as_before(handle, *program);
        return why_uncached(*program, count, options);
    });
    if (program->answer != nullptr) return static_cast<nvrtcResult>(program->answer->result);
    const auto start = std::chrono::steady_clock::now();
    const nvrtcResult result = compile_originally();
    program->is_compiled = true;
    add_to_journal({"uncached", reason ? std::string_view(*reason) : "lode is out of memory",
                    cache::milliseconds_since(start)});
    return result;
}

/// The output of a program that the cache has answered; nullptr for the original's.
const NvrtcAnswer::Output* answered_output(const std::shared_ptr<Program>& program,
                                           std::string_view name, const void* to) noexcept {
    const bool is_answered = program != nullptr && program->answer != nullptr && to != nullptr;
    return is_answered ? program->answer->output(name) : nullptr;
}

nvrtcResult size_of(nvrtcProgram handle, std::size_t* size, std::string_view name,
                    const char* function) noexcept {
    const auto program = programs().find(handle);
    const auto* const output = answered_output(program, name, size);
    if (output == nullptr) return forward(function, handle, size);
    if (output->size_result == NVRTC_SUCCESS) *size = output->bytes.size();
    return static_cast<nvrtcResult>(output->size_result);
}

nvrtcResult get(nvrtcProgram handle, char* to, std::string_view name,
                const char* function) noexcept {
    const auto program = programs().find(handle);
    const auto* const output = answered_output(program, name, to);
    if (output == nullptr) return forward(function, handle, to);
    if (output->result == NVRTC_SUCCESS) std::ranges::copy(output->bytes, to);
    return static_cast<nvrtcResult>(output->result);
}

}  // namespace
}  // namespace lode::cached

#define LODE_EXPORTED extern "C" __attribute__((visibility("default")))

LODE_EXPORTED const int lode_cached = 1;

// NOLINTBEGIN(readability-identifier-naming): the names are those of nvrtc.h.

using namespace lode::cached;

LODE_EXPORTED nvrtcResult nvrtcCreateProgram(nvrtcProgram* prog, const char* src, const char* name,
                                             int numHeaders, const char* const* headers,
                                             const char* const* includeNames) {
    const nvrtcResult result =
        forward("nvrtcCreateProgram", prog, src, name, numHeaders, headers, includeNames);
    if (result != NVRTC_SUCCESS) return result;
    guarded([&] {
        auto made = made_program(src, name, numHeaders, headers, includeNames);
        if (made != nullptr) programs().add(*prog, std::move(made));
        return 0;
    });
    return result;
}

LODE_EXPORTED nvrtcResult nvrtcDestroyProgram(nvrtcProgram* prog) {
    // Another thread may get the same handle once this one is destroyed.
    nvrtcProgram handle = prog != nullptr ? *prog : nullptr;
    auto program = programs().take(handle);
    const nvrtcResult result = forward("nvrtcDestroyProgram", prog);
    if (result != NVRTC_SUCCESS && program != nullptr) programs().add(handle, std::move(program));
    return result;
}

LODE_EXPORTED nvrtcResult nvrtcAddNameExpression(nvrtcProgram prog,
                                                 const char* const name_expression) {
    const auto program = programs().find(prog);
    if (program != nullptr && program->answer != nullptr && name_expression != nullptr)
        return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    const nvrtcResult result =
        forward<nvrtcProgram, const char*>("nvrtcAddNameExpression", prog, name_expression);
    if (result == NVRTC_SUCCESS && program != nullptr) {
        guarded([&] {
            program->call.name_expressions.emplace_back(name_expression);
            return 0;
        });
    }
    return result;
}

LODE_EXPORTED nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions,
                                              const char* const* options) {
    return compile(prog, numOptions, options);
}

LODE_EXPORTED nvrtcResult nvrtcGetLoweredName(nvrtcProgram prog, const char* const name_expression,
                                              const char** lowered_name) {
    const auto program = programs().find(prog);
    if (program == nullptr || program->answer == nullptr || name_expression == nullptr ||
        lowered_name == nullptr) {
        return forward<nvrtcProgram, const char*, const char**>("nvrtcGetLoweredName", prog,
                                                                name_expression, lowered_name);
    }
    for (const auto& name : program->answer->names) {
        if (name.expression != name_expression) continue;
        *lowered_name = name.result == NVRTC_SUCCESS ? name.lowered.c_str() : nullptr;
        return static_cast<nvrtcResult>(name.result);
    }
    *lowered_name = nullptr;
    return static_cast<nvrtcResult>(program->answer->other_name);
}

LODE_EXPORTED nvrtcResult nvrtcSetFlowCallback(nvrtcProgram prog, int (*callback)(void*, void*),
                                               void* payload) {
    if (const auto program = programs().find(prog)) program->has_callback = callback != nullptr;
    return forward("nvrtcSetFlowCallback", prog, callback, payload);
}

#define LODE_OUTPUT(output)                                                                  \
    LODE_EXPORTED nvrtcResult nvrtcGet##output##Size(nvrtcProgram prog, std::size_t* size) { \
        return size_of(prog, size, #output, "nvrtcGet" #output "Size");                      \
    }                                                                                        \
    LODE_EXPORTED nvrtcResult nvrtcGet##output(nvrtcProgram prog, char* to) {                \
        return get(prog, to, #output, "nvrtcGet" #output);                                   \
    }
LODE_OUTPUT(ProgramLog)
LODE_OUTPUT(PTX)
LODE_OUTPUT(CUBIN)
LODE_OUTPUT(LTOIR)
LODE_OUTPUT(OptiXIR)
#if LODE_CUDA_MAJOR == 12
LODE_OUTPUT(NVVM)
#else
LODE_OUTPUT(TileIR)
#endif

// NOLINTEND(readability-identifier-naming)
