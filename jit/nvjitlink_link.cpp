#include "base/cxx_names.hpp"
#include "base/message_text.hpp"
#include "base/ptx_scan.hpp"
#include "base/try.hpp"
#include "jit/link_checks.hpp"
#include "jit/nvjitlink.hpp"
#include "jit/nvrtc/compiler_thread.hpp"
#include "jit/nvrtc/file_hooks.hpp"
#include "jit/ptxas_report.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::nvjitlink {
namespace {

/// Destroys the native link on every exit path.
class LinkScope {
public:
    LinkScope(const Table& table, Handle link) noexcept : table_(table), link_(link) {}
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
    [[nodiscard]] std::string text(int (*size_of)(Handle, std::size_t*),
                                   int (*get)(Handle, char*)) const {
        std::size_t size = 0;
        if (link_ == nullptr || size_of(link_, &size) != success || size == 0) return {};
        std::string log(size, '\0');
        if (get(link_, log.data()) != success) return {};
        log.resize(std::min(log.find('\0'), log.size()));
        return log;
    }

    const Table& table_;
    Handle link_;
};

tl::unexpected<Error> fail_link(const LinkScope& scope, int result, std::string_view doing) {
    const std::string log = scope.errors();
    const auto name = result_name(result);
    return fail(
        Errc::link_failed, fmt::format("{} fails with {}.{}", doing, name, link::explain(log)),
        Native{Native::Origin::nvjitlink, result, std::string(name)}, with_readable_symbols(log));
}

/// Two calls of the linker: one for the size, one for the bytes.
template <class Buffer, class Element>
int fetch_code(Handle link, int (*size_of)(Handle, std::size_t*), int (*get)(Handle, Element*),
               Buffer& code) {
    std::size_t size = 0;
    const int result = size_of(link, &size);
    if (result != success) return result;
    code.resize(size);
    return get(link, reinterpret_cast<Element*>(code.data()));
}

Result<Image> link_on_thread(const Library& library, std::span<const LinkInput> inputs,
                             const Arch& target, const LinkOptions& options) {
    const Table& table = library.table;
    if (!target.is_real() && (table.ptx == nullptr || table.ptx_size == nullptr)) {
        return fail(Errc::not_supported, "This nvJitLink lacks nvJitLinkGetLinkedPtx.");
    }
    if (options.keep_lto_ir && (table.lto_ir == nullptr || table.lto_ir_size == nullptr)) {
        return fail(Errc::not_supported,
                    fmt::format("LinkOptions::keep_lto_ir needs nvJitLinkGetLinkedLTOIR, which "
                                "nvJitLink has from CUDA 13.3 on; {} is {}.",
                                library.info.path.string(), library.info.name()));
    }

    const auto flags = flags_of(inputs, target, options);
    std::vector<const char*> pointers;
    std::ranges::transform(flags, std::back_inserter(pointers), &std::string::c_str);
    Handle native = nullptr;
    int result =
        table.create(&native, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    const LinkScope scope(table, native);
    const int version_major = library.info.version / 1000;
    if (result != success) {
        return fail_link(scope, result,
                         fmt::format("Starting nvJitLink {} with the options {}", version_major,
                                     listed(flags, {.separator = " "})));
    }

    Image linked;
    for (const auto& input : inputs) {
        const auto bytes = link::terminated(input);
        result = table.add_data(native, input_type(input.kind), bytes.data(), bytes.size(),
                                input.name.c_str());
        if (result != success) {
            return fail_link(scope, result,
                             fmt::format("Adding '{}' for {}", input.name, target.to_string()));
        }
        link::describe(input, linked);
    }
    result = table.complete(native);
    if (result != success) {
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
    if (result == success && options.keep_lto_ir)
        result = fetch_code(native, table.lto_ir_size, table.lto_ir, linked.lto_ir);
    if (result != success)
        return fail_link(scope, result,
                         fmt::format("Reading the code of '{}'", shortened(linked.name)));

    linked.arch = target;
    const auto& only = inputs.front();
    if (inputs.size() == 1 && only.kind == LinkInput::Kind::ptx)
        linked.ptx.assign(reinterpret_cast<const char*>(only.bytes.data()), only.bytes.size());
    const std::string log = scope.messages();
    linked.resources = split_ptxas_report(log).resources;
    linked.log = with_readable_symbols(log);
    linked.compiler = library.info.name();
    return linked;
}

}  // namespace

Result<Image> link(const Library& library, std::span<const LinkInput> inputs, const Arch& target,
                   const LinkOptions& options, FileAccesses& accesses) {
    Result<Image> image;
    LODE_TRY(on_compiler_thread([&] {
        const FileAccessScope scope(accesses);
        image = link_on_thread(library, inputs, target, options);
    }));
    return image;
}

}  // namespace LODE_NAMESPACE::nvjitlink
