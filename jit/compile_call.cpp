#include "jit/compile_call.hpp"

#include "base/try.hpp"
#include "jit/nvrtc/file_hooks.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

/// What a folder of NVIDIA's headers has.
constexpr const char* toolkit_headers[] = {"cuda_runtime_api.h", "cuda/std/version",
                                           "cub/version.cuh"};

/// Folders of NVIDIA's own headers, which don't join macros for the time from pieces.
std::vector<std::filesystem::path> toolkit_folders(const NvrtcLibrary& nvrtc,
                                                   const NvrtcCall& call) {
    auto folders = nvrtc.include_folders();
    for (const auto& name : include_folders_of(call)) {
        const std::filesystem::path folder = name;
        std::error_code ignored;
        const bool is_toolkit = std::ranges::any_of(toolkit_headers, [&](const char* header) {
            return std::filesystem::exists(folder / header, ignored);
        });
        if (is_toolkit) folders.push_back(folder);
    }
    return folders;
}

template <class Text>
std::vector<const char*> pointers(const std::vector<Text>& texts, const auto& member) {
    std::vector<const char*> made;
    made.reserve(texts.size());
    for (const auto& text : texts)
        made.push_back(std::invoke(member, text).c_str());
    return made;
}

constexpr auto itself = [](const std::string& text) -> const std::string& { return text; };

/// An output of a program that has been compiled, or not.
NvrtcAnswer::Output take_output(const NvrtcLibrary& nvrtc, nvrtcProgram program,
                                std::string_view name) {
    using SizeOf = decltype(nvrtcGetPTXSize);
    using Get = decltype(nvrtcGetPTX);
    auto* const size_of =
        reinterpret_cast<SizeOf*>(nvrtc.symbol(fmt::format("nvrtcGet{}Size", name)));
    auto* const get = reinterpret_cast<Get*>(nvrtc.symbol(fmt::format("nvrtcGet{}", name)));
    NvrtcAnswer::Output output;
    if (size_of == nullptr || get == nullptr) return output;
    output.name = name;
    std::size_t size = 0;
    output.size_result = size_of(program, &size);
    // The second function says by itself why there is nothing; it writes nothing then.
    constexpr std::size_t least = 16;
    std::string bytes(std::max(size, least), '\0');
    output.result = get(program, bytes.data());
    if (output.size_result == NVRTC_SUCCESS && output.result == NVRTC_SUCCESS)
        output.bytes = bytes.substr(0, size);
    return output;
}

/// The calls of a program, from its creation to its destruction.
Result<NvrtcAnswer> make_calls(const NvrtcLibrary& nvrtc, const NvrtcCall& call,
                               FileAccesses& accesses) {
    const NvrtcTable& table = nvrtc.table();
    const FileAccessScope scope(accesses);
    const auto texts = pointers(call.headers, &Header::text);
    const auto names = pointers(call.headers, &Header::name);
    nvrtcProgram program = nullptr;
    nvrtcResult result = table.nvrtcCreateProgram(
        &program, call.source.c_str(), call.name ? call.name->c_str() : nullptr,
        static_cast<int>(texts.size()), texts.data(), names.data());
    if (result != NVRTC_SUCCESS) return fail_from_nvrtc(table, result, "Creating an NVRTC program");
    for (const auto& expression : call.name_expressions)
        (void)table.nvrtcAddNameExpression(program, expression.c_str());

    auto options = pointers(call.options, itself);
    // Its own cache would answer what lode has to record. First: the last option may lack its
    // value.
    constexpr std::pair has_own_cache(12, 9);
    constexpr const char* no_cache = "--no-cache";
    if (nvrtc.at_least(has_own_cache.first, has_own_cache.second))
        options.insert(options.begin(), no_cache);

    NvrtcAnswer answer;
    answer.result =
        table.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
    for (const auto name : nvrtc_outputs) {
        auto output = take_output(nvrtc, program, name);
        if (!output.name.empty()) answer.outputs.push_back(std::move(output));
    }
    for (const auto& expression : call.name_expressions) {
        const char* lowered = nullptr;
        result = table.nvrtcGetLoweredName(program, expression.c_str(), &lowered);
        const bool is_there = result == NVRTC_SUCCESS && lowered != nullptr;
        answer.names.push_back({expression, result, is_there ? lowered : ""});
    }
    const char* none = nullptr;
    answer.other_name = table.nvrtcGetLoweredName(program, "lode never adds this", &none);
    (void)table.nvrtcDestroyProgram(&program);
    return answer;
}

}  // namespace

Result<NvrtcAnswer> compile_call(const NvrtcLibrary& nvrtc, const NvrtcCall& call,
                                 CompileFiles& files) {
    files.is_watched = nvrtc.watches_files();
    LODE_TRY_ASSIGN(auto answer, make_calls(nvrtc, call, files.compiler));
    note_texts(files, request_of(call), toolkit_folders(nvrtc, call));
    if (files.uses_time) {
        FileAccesses again(files.compiler.record());
        again.give(CompilerTime::unusable);
        LODE_TRY_ASSIGN(const auto at_other_time, make_calls(nvrtc, call, again));
        files.uses_time = answer != at_other_time;
    }
    if (const auto* ptx = answer.output("PTX")) nvrtc.learn_build(build_in_ptx(ptx->bytes));
    files.compiler_files = nvrtc.files();
    return answer;
}

}  // namespace LODE_NAMESPACE
