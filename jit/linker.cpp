#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "jit/link_checks.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/ptxas_report.hpp"

#include <lode/jit/linker.hpp>
#include <lode/jit/target.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace lode {
namespace {

/// Destroys the native link on every exit path.
class LinkScope {
public:
    LinkScope(const nvjitlink::Table& table, nvjitlink::Handle link) noexcept
        : table_(table), link_(link) {}
    ~LinkScope() {
        if (link_ != nullptr) table_.destroy(&link_);
    }
    LinkScope(const LinkScope&) = delete;
    LinkScope& operator=(const LinkScope&) = delete;

    [[nodiscard]] std::string errors() const {
        return text(table_.error_log_size, table_.error_log);
    }
    [[nodiscard]] std::string messages() const {
        return text(table_.info_log_size, table_.info_log);
    }

private:
    [[nodiscard]] std::string text(int (*size_of)(nvjitlink::Handle, std::size_t*),
                                   int (*get)(nvjitlink::Handle, char*)) const {
        std::size_t size = 0;
        if (link_ == nullptr || size_of(link_, &size) != nvjitlink::success || size == 0) return {};
        std::string log(size, '\0');
        if (get(link_, log.data()) != nvjitlink::success) return {};
        log.resize(std::min(log.find('\0'), log.size()));
        return log;
    }

    const nvjitlink::Table& table_;
    nvjitlink::Handle link_;
};

tl::unexpected<Error> fail_link(const LinkScope& scope, int result, std::string_view doing) {
    const std::string log = scope.errors();
    const auto name = nvjitlink::result_name(result);
    return fail(
        Errc::link_failed, fmt::format("{} fails with {}.{}", doing, name, link::explain(log)),
        Native{Native::Origin::nvjitlink, result, std::string(name)}, with_readable_symbols(log));
}

/// PTX as the result needs LTO-IR in every input.
Status check_virtual_target(std::span<const LinkInput> inputs, const Arch& target) {
    if (target.is_real()) return {};
    for (const auto& input : inputs) {
        if (input.kind == LinkInput::Kind::lto_ir) continue;
        return fail(Errc::invalid_argument,
                    fmt::format("Linking for {}, a virtual target, gives PTX, which needs LTO-IR "
                                "in every input; '{}' is {}.",
                                target.to_string(), input.name, to_string(input.kind)));
    }
    return {};
}

Status check_level(const LinkOptions& options) {
    constexpr int levels[] = {0, 3};
    const auto level = options.optimization_level.value_or(levels[0]);
    if (std::ranges::find(levels, level) != std::end(levels)) return {};
    return fail(
        Errc::invalid_argument,
        fmt::format("LinkOptions::optimization_level ({}) must be 0 or 3 for nvJitLink.", level));
}

/// Two calls of the linker: one for the size, one for the bytes.
template <class Buffer, class Element>
int fetch_code(nvjitlink::Handle link, int (*size_of)(nvjitlink::Handle, std::size_t*),
               int (*get)(nvjitlink::Handle, Element*), Buffer& code) {
    std::size_t size = 0;
    const int result = size_of(link, &size);
    if (result != nvjitlink::success) return result;
    code.resize(size);
    return get(link, reinterpret_cast<Element*>(code.data()));
}

}  // namespace

struct Linker::State {
    explicit State(LinkerSearch where) : search(std::move(where)) {}

    /// Opens the library on first use.
    Result<const nvjitlink::Library*> open() {
        const std::lock_guard guard(mutex);
        if (!opened) opened = nvjitlink::open(search);
        if (!*opened) return tl::unexpected<Error>(opened->error());
        return &**opened;
    }

    LinkerSearch search;
    std::mutex mutex;
    std::optional<Result<nvjitlink::Library>> opened;
};

Linker::Linker(LinkerSearch search) : state_(std::make_shared<State>(std::move(search))) {}

std::string LinkerInfo::name() const {
    return "nvJitLink " + cuda_version_text(version);
}

Result<LinkerInfo> Linker::info() const {
    LODE_TRY_ASSIGN(const auto* const library, state_->open());
    return library->info;
}

Result<Image> Linker::link(std::span<const Image> images, const Arch& target,
                           const LinkOptions& options) const {
    std::vector<LinkInput> inputs;
    for (const auto& image : images) {
        LODE_TRY_ASSIGN(inputs.emplace_back(), LinkInput::from_image(image));
    }
    return link(inputs, target, options);
}

Result<Image> Linker::link(std::span<const LinkInput> inputs, const Arch& target,
                           const LinkOptions& options) const {
    LODE_TRY(link::check_options(options));
    LODE_TRY(check_level(options));
    LODE_TRY(check_virtual_target(inputs, target));
    LODE_TRY(link::check_inputs(inputs, target));
    LODE_TRY_ASSIGN(const auto* const library, state_->open());
    const nvjitlink::Table& table = library->table;
    if (!target.is_real() && (table.ptx == nullptr || table.ptx_size == nullptr)) {
        return fail(Errc::not_supported, "This nvJitLink lacks nvJitLinkGetLinkedPtx.");
    }

    const auto flags = nvjitlink::flags_of(inputs, target, options);
    std::vector<const char*> pointers;
    std::ranges::transform(flags, std::back_inserter(pointers), &std::string::c_str);
    nvjitlink::Handle native = nullptr;
    int result =
        table.create(&native, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    const LinkScope scope(table, native);
    const int version_major = library->info.version / 1000;
    if (result != nvjitlink::success) {
        return fail_link(scope, result,
                         fmt::format("Starting nvJitLink {} with the options {}", version_major,
                                     listed(flags, {.separator = " "})));
    }

    Image linked;
    for (const auto& input : inputs) {
        const auto bytes = link::terminated(input);
        result = table.add_data(native, nvjitlink::input_type(input.kind), bytes.data(),
                                bytes.size(), input.name.c_str());
        if (result != nvjitlink::success) {
            return fail_link(scope, result,
                             fmt::format("Adding '{}' for {}", input.name, target.to_string()));
        }
        link::describe(input, linked);
    }
    result = table.complete(native);
    if (result != nvjitlink::success) {
        return fail_link(
            scope, result,
            fmt::format("Linking '{}' for {}", shortened(linked.name), target.to_string()));
    }

    if (target.is_real()) {
        result = fetch_code(native, table.cubin_size, table.cubin, linked.cubin);
    } else {
        result = fetch_code(native, table.ptx_size, table.ptx, linked.ptx);
        linked.ptx.resize(std::min(linked.ptx.find('\0'), linked.ptx.size()));
        linked.kernels = kernels_of_ptx(linked.ptx);
    }
    if (result != nvjitlink::success)
        return fail_link(scope, result,
                         fmt::format("Reading the code of '{}'", shortened(linked.name)));

    linked.arch = target;
    const auto& only = inputs.front();
    if (inputs.size() == 1 && only.kind == LinkInput::Kind::ptx)
        linked.ptx.assign(reinterpret_cast<const char*>(only.bytes.data()), only.bytes.size());
    const std::string log = scope.messages();
    linked.resources = split_ptxas_report(log).resources;
    linked.log = with_readable_symbols(log);
    linked.compiler = library->info.name();
    return linked;
}

}  // namespace lode
