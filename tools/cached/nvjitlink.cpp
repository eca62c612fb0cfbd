// Stands in for nvJitLink inside `lode cached`: answers links from lode's cache.
//
// Each link is one of the original too, with the same handle. It gets the inputs that cost nothing
// there; from the first one that may be compiled on, the cache answers, and the original gets them
// if the cache can't answer any more.
#include "jit/cache/request_context.hpp"
#include "jit/link_calls.hpp"
#include "tools/cached/journal.hpp"
#include "tools/cached/session.hpp"
#include "tools/cached/stand_in.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace lode::cached {
namespace {

using nvjitlink::Handle;
using nvjitlink::success;

/// A link as it was made, and the answer to its last call if the cache gave it.
struct Link {
    NvrtcCall call;
    std::size_t given = 0;     ///< How many inputs the original has.
    std::string why_original;  ///< Why the original goes on; empty if the cache may.
    std::shared_ptr<const NvrtcAnswer> answer;
    bool is_compiled = false;  ///< By a worker, in part at least.
    std::string not_kept;
    double milliseconds = 0;
    double saved_milliseconds = 0;

    [[nodiscard]] bool is_complete() const { return call.name == complete_link; }
};

/// Never destroyed: exit handlers may use nvJitLink.
Handles<Handle, Link>& links() {
    static auto& all = *new Handles<Handle, Link>;
    return all;
}

std::unique_ptr<cache::CompilerBackend> make_backend(const std::filesystem::path& library,
                                                     const CacheOptions& options) {
    return cache::make_linker_backend(library, options.workers);
}

std::shared_ptr<Session> session() {
    static const auto& file = *new std::filesystem::path(original_file("nvJitLinkComplete"));
    return Session::of_process(file, &make_backend);
}

/// Calls a function of the original; one that it doesn't have can't be called for any link.
template <class... Args>
int forward(const char* name, Args... args) noexcept {
    constexpr int invalid_input = 3;
    auto* const function = original<int(Args...)>(name);
    return function != nullptr ? function(args...) : invalid_input;
}

int give(Handle handle, const Header& input) {
    auto* const add =
        original<int(Handle, int, const void*, std::size_t, const char*)>("nvJitLinkAddData");
    return add_input(add, handle, input);
}

/// Brings the original into the state that the program knows, and lets it answer from now on.
/// Returns the result of the last function.
int leave_to_original(Handle handle, Link& link, std::string_view why) {
    int result = success;
    if (!link.why_original.empty()) return result;
    link.why_original = why;
    link.answer = nullptr;
    for (; link.given < link.call.headers.size(); ++link.given)
        result = give(handle, link.call.headers[link.given]);
    return link.is_complete() ? forward(complete_link.data(), handle) : result;
}

/// The result of a function, from the cache or the original.
int answer(Handle handle, Link& link, std::string_view function) {
    link.call.name = function;
    const auto held = session();
    if (held == nullptr) {
        return leave_to_original(handle, link,
                                 "the process ends, or uses several libraries of nvJitLink");
    }
    const auto start = std::chrono::steady_clock::now();
    auto answered = held->answer(link.call);
    if (!answered) return leave_to_original(handle, link, answered.error().message);
    link.milliseconds += cache::milliseconds_since(start);
    link.answer = std::move(answered->answer);
    const bool is_hit = !answered->tier.empty();
    link.is_compiled = link.is_compiled || !is_hit;
    if (is_hit) link.saved_milliseconds += answered->compile_ms;
    if (!answered->not_kept.empty()) link.not_kept = std::move(answered->not_kept);
    return link.answer->result;
}

/// Whether the original's nvJitLinkAddData may compile an input of a type.
bool may_compile(int type) {
    return type != nvjitlink::input_type(LinkInput::Kind::cubin) &&
           type != nvjitlink::input_type(LinkInput::Kind::lto_ir);
}

/// Whether the cache may answer what the program asks for next.
bool cache_may_answer(Handle handle, Link& link) {
    const bool has_failed = link.answer != nullptr && link.answer->result != success;
    if (link.is_complete() || has_failed)
        (void)leave_to_original(handle, link, "the link goes on after its end or an error");
    return link.why_original.empty();
}

/// The result if memory runs out.
constexpr int internal_error = 6;

int add(Handle handle, int type, const void* data, std::size_t size, const char* name) noexcept {
    const auto link = links().find(handle);
    const auto add_to_original = [&] {
        return forward(add_to_link.data(), handle, type, data, size, name);
    };
    if (link == nullptr) return add_to_original();
    const auto add_known = [&]() -> std::optional<int> {
        if (cache_may_answer(handle, *link) && data == nullptr)
            (void)leave_to_original(handle, *link, "an input is a null pointer");
        if (!link->why_original.empty()) return add_to_original();
        const bool goes_to_original = link->answer == nullptr && !may_compile(type);
        const std::span bytes(static_cast<const std::byte*>(data), size);
        link->call.headers.push_back(input_of_link(type, bytes, name));
        if (!goes_to_original) return answer(handle, *link, add_to_link);
        ++link->given;
        const int result = add_to_original();
        if (result != success) link->why_original = "nvJitLink refuses an input at once";
        return result;
    };
    return guarded(add_known).value_or(internal_error);
}

int complete(Handle handle) noexcept {
    const auto link = links().find(handle);
    if (link == nullptr) return forward(complete_link.data(), handle);
    const auto complete_known = [&]() -> std::optional<int> {
        const auto start = std::chrono::steady_clock::now();
        const int result = cache_may_answer(handle, *link) ? answer(handle, *link, complete_link)
                                                           : forward(complete_link.data(), handle);
        if (link->answer != nullptr) {
            add_to_journal({link->is_compiled ? "compiled" : "hit", link->not_kept,
                            link->milliseconds, link->saved_milliseconds});
        } else {
            add_to_journal({"uncached", link->why_original, cache::milliseconds_since(start)});
        }
        return result;
    };
    return guarded(complete_known).value_or(internal_error);
}

/// An output that the cache has answered; nullptr for the original's.
const NvrtcAnswer::Output* answered_output(Handle handle, std::string_view name,
                                           const void* to) noexcept {
    const auto link = links().find(handle);
    if (link == nullptr || link->answer == nullptr || to == nullptr) return nullptr;
    const auto* const output = link->answer->output(name);
    if (output == nullptr && !link->is_complete()) {
        guarded([&] { return leave_to_original(handle, *link, "an output is asked for early"); });
    }
    return output;
}

int size_of(Handle handle, std::size_t* size, std::string_view name,
            const char* function) noexcept {
    const auto* const output = answered_output(handle, name, size);
    if (output == nullptr) return forward(function, handle, size);
    if (output->size_result == success) *size = output->bytes.size();
    return output->size_result;
}

int get(Handle handle, char* to, std::string_view name, const char* function) noexcept {
    const auto* const output = answered_output(handle, name, to);
    if (output == nullptr) return forward(function, handle, to);
    if (output->result != success) return output->result;
    // An empty log has a size of 0 and is an empty text.
    if (output->bytes.empty()) *to = '\0';
    std::ranges::copy(output->bytes, to);
    return success;
}

}  // namespace
}  // namespace lode::cached

// Each release has all names of its major version; they do the same.
#if LODE_CUDA_MAJOR == 12
#define LODE_NAMES(function, parameters)   \
    LODE_ALIAS(function, 12_0, parameters) \
    LODE_ALIAS(function, 12_1, parameters) \
    LODE_ALIAS(function, 12_2, parameters) \
    LODE_ALIAS(function, 12_3, parameters) \
    LODE_ALIAS(function, 12_4, parameters) \
    LODE_ALIAS(function, 12_5, parameters) \
    LODE_ALIAS(function, 12_6, parameters) \
    LODE_ALIAS(function, 12_7, parameters) \
    LODE_ALIAS(function, 12_8, parameters) \
    LODE_ALIAS(function, 12_9, parameters)
#else
#define LODE_NAMES(function, parameters)   \
    LODE_ALIAS(function, 13_0, parameters) \
    LODE_ALIAS(function, 13_1, parameters) \
    LODE_ALIAS(function, 13_2, parameters) \
    LODE_ALIAS(function, 13_3, parameters) \
    LODE_ALIAS(function, 13_4, parameters) \
    LODE_ALIAS(function, 13_5, parameters)
#endif
#define LODE_EXPORTED extern "C" __attribute__((visibility("default")))
#define LODE_ALIAS(function, version, parameters) \
    LODE_EXPORTED __attribute__((alias(#function))) int __##function##_##version parameters;
#define LODE_FUNCTION(function, parameters) \
    LODE_EXPORTED int function parameters;  \
    LODE_NAMES(function, parameters)        \
    LODE_EXPORTED int function parameters

LODE_EXPORTED const int lode_cached = 1;

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): the names are those of
// nvJitLink.h.

using namespace lode::cached;

LODE_FUNCTION(nvJitLinkCreate, (Handle * handle, std::uint32_t count, const char* const* options)) {
    const int result = forward("nvJitLinkCreate", handle, count, options);
    if (result != success) return result;
    guarded([&] {
        const std::span given(options, count);
        if (std::ranges::find(given, nullptr) != given.end()) return 0;
        auto link = std::make_shared<Link>();
        link->call.options.assign(given.begin(), given.end());
        links().add(*handle, std::move(link));
        return 0;
    });
    return result;
}

LODE_FUNCTION(nvJitLinkDestroy, (Handle * handle)) {
    // Another thread may get the same handle once this one is destroyed.
    Handle const known = handle != nullptr ? *handle : nullptr;
    auto link = links().take(known);
    const int result = forward("nvJitLinkDestroy", handle);
    if (result != success && link != nullptr) links().add(known, std::move(link));
    return result;
}

LODE_FUNCTION(nvJitLinkAddData,
              (Handle handle, int type, const void* data, std::size_t size, const char* name)) {
    return add(handle, type, data, size, name);
}

LODE_FUNCTION(nvJitLinkAddFile, (Handle handle, int type, const char* path)) {
    if (const auto link = links().find(handle))
        guarded([&] { return leave_to_original(handle, *link, "the program adds a file"); });
    return forward("nvJitLinkAddFile", handle, type, path);
}

LODE_FUNCTION(nvJitLinkComplete, (Handle handle)) {
    return complete(handle);
}

#define LODE_OUTPUT(output, Element)                                                      \
    LODE_FUNCTION(nvJitLinkGet##output##Size, (Handle handle, std::size_t * size)) {      \
        return size_of(handle, size, #output, "nvJitLinkGet" #output "Size");             \
    }                                                                                     \
    LODE_FUNCTION(nvJitLinkGet##output, (Handle handle, Element * to)) {                  \
        return get(handle, reinterpret_cast<char*>(to), #output, "nvJitLinkGet" #output); \
    }
LODE_OUTPUT(ErrorLog, char)
LODE_OUTPUT(InfoLog, char)
LODE_OUTPUT(LinkedCubin, void)
LODE_OUTPUT(LinkedPtx, char)
LODE_OUTPUT(LinkedLTOIR, void)

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
