#include "jit/llvm/compilation.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace LODE_NAMESPACE::llvm {
namespace {

constexpr const char* triple = "nvptx64-nvidia-cuda";
constexpr std::string_view libdevice_prefix = "__nv_";

thread_local std::jmp_buf* way_back = nullptr;
thread_local char last_reason[4096];

void return_from_llvm(const char* reason) {
    if (way_back == nullptr) return;  // LLVM ends the process.
    std::snprintf(last_reason, sizeof(last_reason), "%s", reason);
    std::longjmp(*way_back, 1);
}

std::string text_of(const Table& table, char* message) {
    std::string text = message != nullptr ? message : "";
    if (message != nullptr) table.dispose_message(message);
    return text;
}

std::string_view name_of(const Table& table, Value function) {
    std::size_t size = 0;
    const char* const name = table.value_name(function, &size);
    return {name, size};
}

template <class Visit>
void each_function(const Table& table, Module module, Visit visit) {
    for (Value one = table.first_function(module); one != nullptr; one = table.next_function(one))
        visit(one);
}

/// What a module defines.
std::vector<std::string> definitions_of(const Table& table, Module module) {
    std::vector<std::string> names;
    each_function(table, module, [&](Value function) {
        if (table.is_declaration(function) == 0) names.emplace_back(name_of(table, function));
    });
    return names;
}

}  // namespace

void catch_fatal_errors(const Table& table) {
    table.on_fatal_error(&return_from_llvm);
}

bool survives(const std::function<void()>& body, std::string& last_words) {
    std::jmp_buf here;
    way_back = &here;
    if (setjmp(here) != 0) {  // NOLINT(cert-err52-cpp): LLVM is compiled without exceptions.
        way_back = nullptr;
        last_words = last_reason;
        return false;
    }
    body();
    way_back = nullptr;
    return true;
}

Compilation::Compilation(const Table& table, Target target, const Settings& settings)
    : table_(table),
      settings_(settings),
      context_(table.create_context()),
      machine_(table.create_machine(target, triple, settings.processor.c_str(),
                                    settings.features.c_str(), settings.level, 0, 0)),
      layout_(table.create_layout(machine_)) {
    table_.on_diagnosis(
        context_,
        [](Diagnosis diagnosis, void* self) {
            auto& me = *static_cast<Compilation*>(self);
            const int severity = me.table_.severity(diagnosis);
            if (severity > severity_warning) return;
            me.has_failed_ = me.has_failed_ || severity == severity_error;
            me.log_ += fmt::format("{}: {}\n", severity == severity_error ? "error" : "warning",
                                   text_of(me.table_, me.table_.description(diagnosis)));
        },
        this);
}

Compilation::~Compilation() {
    if (module_ != nullptr) table_.dispose_module(module_);
    table_.dispose_layout(layout_);
    table_.dispose_machine(machine_);
    table_.dispose_context(context_);
}

bool Compilation::fail(std::string_view what) {
    log_ += fmt::format("error: {}\n", what);
    return false;
}

Module Compilation::parse(const std::string& code, const std::string& name) {
    auto* const buffer = table_.create_buffer(code.data(), code.size(), name.c_str(), 1);
    Module made = nullptr;
    char* message = nullptr;
    if (table_.parse(context_, buffer, &made, &message) != 0) {
        log_ += text_of(table_, message) + "\n";
        return nullptr;
    }
    return made;
}

bool Compilation::read(const std::string& code, const std::string& name) {
    module_ = parse(code, name);
    if (module_ == nullptr || has_failed_) return false;
    const std::string target = table_.triple(module_);
    if (!target.empty() && !target.starts_with("nvptx64")) {
        return fail(
            fmt::format("the module is for '{}', not for {}: compile its source for a GPU, or "
                        "correct its target triple",
                        target, triple));
    }
    char* message = nullptr;
    if (table_.verify(module_, return_status, &message) != 0)
        return fail("the module is broken: " + text_of(table_, message));
    table_.dispose_message(message);
    if (!settings_.keeps_debug) (void)table_.strip_debug(module_);
    table_.set_triple(module_, triple);
    table_.set_layout(module_, layout_);
    return true;
}

bool Compilation::needs_libdevice() const {
    bool found = false;
    each_function(table_, module_, [&](Value function) {
        found = found || (table_.is_declaration(function) != 0 &&
                          name_of(table_, function).starts_with(libdevice_prefix));
    });
    return found;
}

bool Compilation::add_libdevice(const std::string& code) {
    auto* const library = parse(code, "libdevice");
    if (library == nullptr) return false;
    table_.set_triple(library, triple);
    table_.set_layout(library, layout_);
    const auto own = definitions_of(table_, module_);
    const auto added = definitions_of(table_, library);
    if (table_.link(module_, library) != 0 || has_failed_) return false;
    for (const auto& name : added) {
        if (std::ranges::find(own, name) == own.end())
            table_.set_linkage(table_.named_function(module_, name.c_str()), internal_linkage);
    }
    return true;
}

void Compilation::flush_denormals() {
    constexpr std::string_view key = "denormal-fp-math-f32";
    constexpr std::string_view value = "preserve-sign";
    auto* const attribute =
        table_.create_attribute(context_, key.data(), static_cast<unsigned>(key.size()),
                                value.data(), static_cast<unsigned>(value.size()));
    each_function(table_, module_, [&](Value function) {
        if (table_.is_declaration(function) == 0)
            table_.add_attribute(function, function_index, attribute);
    });
    constexpr std::string_view flag = "nvvm-reflect-ftz";                       // For libdevice.
    if (table_.get_flag(module_, flag.data(), flag.size()) != nullptr) return;  // Its own choice.
    table_.add_flag(module_, override_flag, flag.data(), flag.size(),
                    table_.as_metadata(table_.constant(table_.int32(context_), 1, 0)));
}

bool Compilation::optimise() {
    if (settings_.flushes_denormals) flush_denormals();
    auto* const options = table_.create_pass_options();
    auto* const failure = table_.run_passes(
        module_, fmt::format("default<O{}>", settings_.level).c_str(), machine_, options);
    table_.dispose_pass_options(options);
    if (failure == nullptr) return !has_failed_;
    char* const message = table_.failure_message(failure);
    const bool is_fine = fail(message);
    table_.dispose_failure_message(message);
    return is_fine;
}

std::string Compilation::emit() {
    Buffer made = nullptr;
    char* message = nullptr;
    if (table_.emit(machine_, module_, assembly_file, &message, &made) != 0) {
        (void)fail(text_of(table_, message));
        return {};
    }
    std::string ptx(table_.buffer_start(made), table_.buffer_size(made));
    table_.dispose_buffer(made);
    return has_failed_ ? std::string() : ptx;
}

}  // namespace LODE_NAMESPACE::llvm
