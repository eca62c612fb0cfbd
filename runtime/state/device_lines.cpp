#include "runtime/state/device_lines.hpp"

#include "base/ptx_scan.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::detail {
namespace {

/// The user neither waits for these compilations nor asked for them.
CacheOptions unnoticed(CacheOptions options) {
    if (options.policy == JitPolicy::warn) options.policy = JitPolicy::allow;
    options.record.clear();
    options.executor = {};
    options.events = {};
    options.log = {};
    return options;
}

CompilerSearch unnoticed(CompilerSearch search) {
    search.log = {};
    return search;
}

/// What the software device loads: in a process of `lode emulate`, a linker's machine code is PTX.
std::string_view ptx_of(const Image& image) {
    const std::string_view code(reinterpret_cast<const char*>(image.cubin.data()),
                                image.cubin.size());
    return image.ptx.empty() && begins_as_ptx(code) ? code : std::string_view(image.ptx);
}

/// The kernels and the functions of other units' calls.
std::vector<std::string> functions_of(const Image& image) {
    auto functions = ptx_definitions(ptx_of(image));
    for (const auto& kernel : image.kernels)
        functions.push_back(kernel.kernel);
    return functions;
}

}  // namespace

DeviceLines::DeviceLines(CompilerSearch search, CacheOptions options, Log log)
    : compiler_(unnoticed(std::move(search)), unnoticed(std::move(options))),
      log_(std::move(log)) {}

void DeviceLines::remember(const Image& image, CompileRequest request) {
    const bool has_lines = request.options.line_info || request.options.debug;
    if (has_lines || image.ptx.empty() || request.source.language() != Source::Language::cuda)
        return;
    // An edit of the file must not move the lines.
    if (auto text = request.source.read()) request.source = request.source.pinned(*std::move(text));
    Entry entry{std::hash<std::string_view>()(image.ptx), image.name, functions_of(image),
                std::make_shared<const CompileRequest>(std::move(request))};
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& known) {
        return known.hash == entry.hash && known.name == entry.name;
    });
    entries_.push_back(std::move(entry));
    if (entries_.size() > most) entries_.pop_front();
}

DeviceLines::Requests DeviceLines::requests_of(const Image& image) const {
    const auto hash = std::hash<std::string_view>()(ptx_of(image));
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_)
        if (entry.hash == hash && entry.name == image.name) return {entry.request};
    const auto functions = functions_of(image);
    Requests parts;
    for (const Entry& entry : entries_)
        if (std::ranges::find_first_of(entry.functions, functions) != entry.functions.end())
            parts.push_back(entry.request);
    return parts;
}

std::optional<std::string> DeviceLines::compile(CompileRequest request) const {
    request.options.line_info = true;
    request.options.source_files = false;      // Lines have the names that the user gave.
    request.arch = request.arch.as_virtual();  // It never runs, so machine code isn't needed.
    auto compiled = compiler_.compile(request);
    if (compiled) return compiled->image->ptx;
    const std::string& why = compiled.error().message;
    log_.write(LogLevel::info, fmt::format("'{}' has no source lines: {}", request.source.name(),
                                           why.substr(0, why.find('\n'))));
    return std::nullopt;
}

}  // namespace LODE_NAMESPACE::detail
