// Texts and files from outside: sources, the compiler's logs, PTX as lode's host side scans it,
// cubins.
#include "base/cxx_names.hpp"
#include "base/ptx_scan.hpp"
#include "jit/diagnostics.hpp"
#include "jit/headers/include_scan.hpp"
#include "jit/name_expressions.hpp"
#include "jit/ptxas_report.hpp"
#include "tests/fuzz/target.hpp"

#include <lode/base/arch.hpp>
#include <lode/base/image.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace lode::fuzz {
namespace {

bool include_scan(Bytes bytes) {
    const auto text = text_of(bytes);
    const auto scan = cache::scan_includes(text);
    if (cache::is_free_of_includes(text)) require(scan.mentions.empty());
    return !scan.mentions.empty();
}

bool nvrtc_log(Bytes bytes) {
    const std::string_view log = text_of(bytes);
    const auto messages = parse_diagnostics(log);
    for (const Diagnostic& message : messages) {
        require(message.line >= 0 && message.column >= 0);
        require(message.column <= static_cast<int>(log.size()) + 1);
        require(!message.to_string().empty());
    }
    const std::vector<std::string> expressions{"scale<float>", "&k", "ns::f<int, 3>"};
    const auto wrong = wrong_names(expressions, messages, log);
    require(wrong.size() <= expressions.size());
    if (!wrong.empty()) {
        const std::vector<std::string> known{"scale", "k2"};
        const auto error = fail_for_names(wrong, known, log, messages, "a.cu", std::string(log));
        require(!error.value().message.empty());
    }
    return !messages.empty();
}

bool ptxas_report(Bytes bytes) {
    const std::string_view log = text_of(bytes);
    const SplitLog split = split_ptxas_report(log);
    // Splitting only removes lines.
    require(split.messages.size() <= log.size() + 1);
    for (const KernelResources& kernel : split.resources)
        require(!kernel.kernel.empty() && kernel.registers >= 0 && kernel.barriers >= 0);
    return !split.resources.empty();
}

/// Scans PTX as the host side does, without a parser.
bool ptx_scan(Bytes bytes) {
    const std::string_view text = text_of(bytes);
    const auto target = ptx_target_of(text);
    const auto version = ptx_version_of(text);
    const auto kernels = kernels_of_ptx(text);
    for (const KernelSignature& kernel : kernels) {
        require(!kernel.kernel.empty());
        for (const KernelParameter& parameter : kernel.parameters)
            require(parameter.align == 0 || parameter.offset % parameter.align == 0);
    }
    const auto image = Image::from_ptx(std::string(text), "fuzz");
    require(image.has_value() == target.has_value());
    if (image) require(image->kernels == kernels);
    (void)begins_as_ptx(text);
    return version && target && !kernels.empty();
}

/// Lists the names in a source and in PTX, finds the closest ones, and normalises spellings.
bool kernel_list(Bytes bytes) {
    const std::string_view text = text_of(bytes);
    const auto names = kernel_names(text, text);
    require(std::ranges::is_sorted(names));
    for (const auto& name : names)
        (void)template_parameters(text, name);
    const auto wanted = text.substr(0, std::min<std::size_t>(text.find('\n'), 40));
    const auto close = suggestion(wanted, names);
    require(close.empty() || close.find("Did you mean '") != std::string::npos);
    for (const auto spelling : {Spelling::exact, Spelling::loose})
        require(canonical_name(wanted, spelling) == canonical_name(wanted, spelling));
    require(with_readable_symbols(text).size() >= text.size());
    return !names.empty();
}

bool cubin(Bytes bytes) {
    const auto image = Image::from_cubin(bytes, "fuzz");
    if (!image) {
        require(!image.error().message.empty());
        return false;
    }
    require(std::ranges::equal(image->cubin, bytes));
    const auto same = Image::from_cubin(bytes, "fuzz", image->arch);
    require(same.has_value());
    return true;
}

constexpr std::string_view source_words =
    "#include\n#\ninclude\ninclude_next\n%:\n?\?=\n__has_include\n__has_include_next\n(\n)\n<\n>\n"
    "\"\n\\\n\n/*\n*/\n//\nR\"(\n)\"\n#line 1 \"a\"\n# 1 \"a\"\n#if 0\n#define H <a.h>\nimport\n"
    "#embed\n@\\\n'\\''";

constexpr std::string_view log_words =
    "error\nwarning\nremark\n: error: \n(3): \n(\n): \n #177-D: \nCommand-line error: \n^\n"
    "detected during\nat line 3\n__nv_name_map\nInput name expression was: \"\nnvrtc: error: \n"
    "ptxas \nptxas error   : \nptxas info    : \nline 5; \n1 error detected in the compilation\n"
    "999999999999999999999\n-1\n\t\n\r\ncatastrophic error\nfatal";

constexpr std::string_view report_words =
    "ptxas info    : \nCompiling entry function '\n' for 'sm_90'\nFunction properties for \n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nUsed 8 registers\n"
    ", used 1 barriers\n bytes smem\n bytes cmem[0]\n99999999999999999999\n-1\n,\n'\n"
    "0 bytes gmem\nCompile time = 1.0 ms\nOverriding";

constexpr std::string_view scan_words =
    ".version 8.7\n.target sm_90a\n.target \n.address_size 64\n.visible .entry \n.entry\n.param \n"
    ".param .align 8 .b8 p[16]\n.ptr .global .align "
    "4\n.u64\n.f32\n.b8\n[99999999999999999999]\n[\n]"
    "\n(\n)\n{\n}\n,\n;\n/*\n*/\n//\n.func\n.maxntid 1,2,3\n\"\n__global__\nvoid\n<\n>\n::\n"
    "_Z5scaleIfEvPf\nsm_\ncompute_";

constexpr Target text_rows[] = {
    {"include_scan", include_scan, Form::text, "include_scan", 4096, source_words},
    {"nvrtc_log", nvrtc_log, Form::text, "nvrtc_log", 4096, log_words},
    {"ptxas_report", ptxas_report, Form::text, "ptxas_report", 4096, report_words},
    {"ptx_scan", ptx_scan, Form::text, "ptx", 8192, scan_words},
    {"kernel_list", kernel_list, Form::text, "kernel_list", 4096, scan_words},
    {"cubin", cubin, Form::bytes, "cubin", 8192},
};

}  // namespace

std::span<const Target> text_targets() noexcept {
    return text_rows;
}

}  // namespace lode::fuzz
