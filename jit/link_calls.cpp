#include "jit/link_calls.hpp"

#include "base/try.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/nvrtc/library.hpp"

#include <lode/jit/target.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE {

int add_input(int (*add)(nvjitlink::Handle, int, const void*, std::size_t, const char*),
              nvjitlink::Handle handle, const Header& input) {
    int type = 0;
    const char* const end = input.name.data() + input.name.size();
    const char* const rest = std::from_chars(input.name.data(), end, type).ptr;
    return add(handle, type, input.text.data(), input.text.size(),
               rest != end ? rest + 1 : nullptr);
}

LinkCalls::LinkCalls(nvjitlink::Library library)
    : library_(std::move(library)),
      is_watched_(watch_file_functions(reinterpret_cast<const void*>(library_.table.create),
                                       TimeQuestions::none)
                      .has_value()),
      file_(compiler_file(library_.info.path)) {}

CompilerProperties LinkCalls::properties() const {
    return nvjitlink::properties_of(library_, file_);
}

void LinkCalls::forget() noexcept {
    if (begun_) (void)library_.table.destroy(&begun_->handle);
    begun_.reset();
}

bool LinkCalls::goes_on(const NvrtcCall& call) const {
    if (!begun_ || begun_->result != nvjitlink::success) return false;
    const auto& before = begun_->inputs;
    return begun_->options == call.options && before.size() <= call.headers.size() &&
           std::ranges::equal(before, std::span(call.headers).first(before.size()));
}

Status LinkCalls::begin(const NvrtcCall& call) {
    forget();
    begun_.emplace();
    begun_->options = call.options;
    // Its own cache would answer what lode has to record.
    std::vector<const char*> options{"-no-cache"};
    for (const auto& option : call.options)
        options.push_back(option.c_str());
    const FileAccessScope scope(begun_->accesses);
    for (const bool has_own_cache : {true, false}) {
        const auto used = std::span(options).subspan(has_own_cache ? 0 : 1);
        const int result = library_.table.create(
            &begun_->handle, static_cast<std::uint32_t>(used.size()), used.data());
        if (result == nvjitlink::success) return {};
        if (begun_->handle != nullptr) (void)library_.table.destroy(&begun_->handle);
        begun_->handle = nullptr;
        begun_->result = result;
    }
    const int result = begun_->result;
    begun_.reset();
    return fail(Errc::link_failed,
                fmt::format("Starting nvJitLink fails with {}.", nvjitlink::result_name(result)));
}

Result<NvrtcAnswer> LinkCalls::answer(const NvrtcCall& call, CompileFiles& files) {
    if (!goes_on(call)) LODE_TRY(begin(call));
    BegunLink& link = *begun_;
    const nvjitlink::Table& table = library_.table;
    const bool is_complete = call.name == complete_link;
    NvrtcAnswer answer;
    {
        const FileAccessScope scope(link.accesses);
        while (link.inputs.size() < call.headers.size() && link.result == nvjitlink::success) {
            link.inputs.push_back(call.headers[link.inputs.size()]);
            link.result = add_input(table.add_data, link.handle, link.inputs.back());
        }
        if (is_complete && link.result == nvjitlink::success)
            link.result = table.complete(link.handle);
        answer.result = link.result;
        const auto take = [&](std::string_view name, auto* size_of, auto* get) {
            if (size_of == nullptr || get == nullptr) return;
            answer.outputs.push_back(take_output(
                name, [&](std::size_t* size) { return size_of(link.handle, size); },
                [&](char* bytes) { return get(link.handle, bytes); }));
        };
        take("ErrorLog", table.error_log_size, table.error_log);
        take("InfoLog", table.info_log_size, table.info_log);
        if (is_complete) {
            take("LinkedCubin", table.cubin_size, table.cubin);
            take("LinkedPtx", table.ptx_size, table.ptx);
            take("LinkedLTOIR", table.lto_ir_size, table.lto_ir);
        }
    }
    files.is_watched = is_watched_;
    files.compiler = FileAccesses(link.accesses.record());
    files.compiler_files = {file_};
    if (is_complete) forget();
    return answer;
}

}  // namespace LODE_NAMESPACE
