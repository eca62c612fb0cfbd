#include "jit/compile_call.hpp"

#include "base/try.hpp"
#include "jit/compile_failure.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/pch/precompiler.hpp"
#include "jit/pch/prefix.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {
namespace {

std::vector<HeaderView> views_of(const std::vector<Header>& headers) {
    std::vector<HeaderView> views;
    views.reserve(headers.size());
    for (const auto& [name, text] : headers)
        views.push_back({name.c_str(), text.c_str()});
    return views;
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

/// Adds an output of a program that has been compiled, or not, if this NVRTC has functions for it.
void add_output(const NvrtcLibrary& nvrtc, nvrtcProgram program, std::string_view name,
                NvrtcAnswer& answer) {
    using SizeOf = decltype(nvrtcGetPTXSize);
    using Get = decltype(nvrtcGetPTX);
    auto* const size_of =
        reinterpret_cast<SizeOf*>(nvrtc.symbol(fmt::format("nvrtcGet{}Size", name)));
    auto* const get = reinterpret_cast<Get*>(nvrtc.symbol(fmt::format("nvrtcGet{}", name)));
    if (size_of == nullptr || get == nullptr) return;
    answer.outputs.push_back(take_output(
        name, [&](std::size_t* size) { return size_of(program, size); },
        [&](char* bytes) { return get(program, bytes); }));
}

/// The calls of a program, from its creation to its destruction.
Result<NvrtcAnswer> make_calls(const NvrtcLibrary& nvrtc, const NvrtcCall& call,
                               FileAccesses& accesses, PchFile* pch = nullptr) {
    const NvrtcTable& table = nvrtc.table();
    const FileAccessScope scope(accesses, pch);
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
    for (const auto name : nvrtc_outputs)
        add_output(nvrtc, program, name, answer);
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

/// What NVRTC calls a program without a name.
constexpr const char* unnamed = "default_program";

/// The answer with a precompiled header, which the compilation uses or makes; nullopt where there
/// is none.
Result<std::optional<NvrtcAnswer>> make_calls_precompiled(const NvrtcLibrary& nvrtc,
                                                          const NvrtcCall& call, PchUse pch,
                                                          FileAccesses& accesses) {
    const auto name = call.name.value_or("").empty() ? unnamed : *call.name;
    const auto folder = std::filesystem::path(name).parent_path().string();
    const auto folders = include_folders_of(call);
    const auto headers = views_of(call.headers);
    const std::string_view code = call.source;
    const auto head = pch::header_prefix(code);
    auto plan = pch.precompiler->prepare({.prefix = head,
                                          .name = name,
                                          .program = name,
                                          .folder = folder,
                                          .flags = call.options,
                                          .include_folders = folders,
                                          .headers = headers},
                                         *pch.settings);
    if (!plan) return std::nullopt;
    NvrtcCall changed = call;
    changed.source =
        fmt::format("{}{}{}", head, pch::head_end(name, 1 + std::ranges::count(head, '\n')),
                    code.substr(head.size()));
    const auto flags = plan->flags();
    changed.options.insert(changed.options.begin(), flags.begin(), flags.end());
    accesses = std::move(plan->accesses);
    LODE_TRY_ASSIGN(auto answer, make_calls(nvrtc, changed, accesses, &plan->file));
    const auto log = std::ranges::find(answer.outputs, "ProgramLog", &NvrtcAnswer::Output::name);
    if (log != answer.outputs.end() && pch.precompiler->accept(*plan, *pch.settings, log->bytes))
        return answer;
    accesses = FileAccesses();
    return std::nullopt;
}

}  // namespace

Result<NvrtcAnswer> compile_call(const NvrtcLibrary& nvrtc, const NvrtcCall& call,
                                 CompileFiles& files, PchUse pch) {
    files.is_watched = nvrtc.watches_files();
    const CompileRequest request = request_of(call);
    auto toolkit = toolkit_folders_of(call);
    std::ranges::copy(nvrtc.include_folders(), std::back_inserter(toolkit));
    std::optional<NvrtcAnswer> precompiled;
    if (pch.precompiler != nullptr && files.is_watched && !has_lines(request.options)) {
        LODE_TRY_ASSIGN(precompiled, make_calls_precompiled(nvrtc, call, pch, files.compiler));
    }
    if (precompiled && note_texts(files, request, toolkit)) {
        precompiled.reset();
        files.compiler = FileAccesses();
    }
    if (!precompiled) {
        LODE_TRY_ASSIGN(precompiled, make_calls(nvrtc, call, files.compiler));
        note_texts(files, request, toolkit);
    }
    NvrtcAnswer answer = *std::move(precompiled);
    if (files.uses_time) {
        FileAccesses again(files.compiler.record());
        again.give(CompilerTime::unusable);
        LODE_TRY_ASSIGN(const auto at_other_time, make_calls(nvrtc, call, again));
        files.uses_time = answer != at_other_time;
    }
    if (const auto* ptx = answer.output("PTX")) nvrtc.learn_build(build_in_ptx(ptx->bytes));
    files.compiler_files = nvrtc.files();
    // Every compilation asks for something.
    files.is_watched = files.is_watched && files.compiler.questions() != 0;
    return answer;
}

}  // namespace LODE_NAMESPACE
