// The command's arguments: kernel arguments and option values, one per line of the input.
#include "base/cxx_names.hpp"
#include "tests/fuzz/source.hpp"
#include "tools/lode/arguments.hpp"
#include "tools/lode/buffer_content.hpp"
#include "tools/lode/layout.hpp"
#include "tools/lode/options.hpp"

#include <string>
#include <vector>

namespace lode::fuzz {
namespace {

using namespace lode::tool;

std::vector<std::string> words_of(Bytes bytes) {
    std::vector<std::string> words(1);
    for (const std::byte byte : bytes) {
        if (byte == std::byte{'\n'}) {
            words.emplace_back();
        } else {
            words.back() += static_cast<char>(byte);
        }
    }
    return words;
}

/// Returns whether parsing succeeded; an error must have a message.
template <class Value>
bool settled(const Result<Value>& result) {
    if (!result) require(!result.error().message.empty());
    return result.has_value();
}

void fill(const BufferArgument& buffer) {
    constexpr std::size_t most = 1 << 12;  // In bytes; a buffer argument may be as large as a TiB.
    require(buffer.size_bytes() <= max_buffer_bytes);
    if (buffer.size_bytes() > most || std::holds_alternative<FileFill>(buffer.fill)) return;
    const auto content = make_content(buffer);
    require(content && content->size() == buffer.size_bytes());
    const Summary summary = summarise(buffer.type, *content, 4);
    require(summary.head.size() == std::min<std::size_t>(4, buffer.count));
    for (const Number& number : summary.head)
        require(!to_string(number).empty());
    require(!to_string(summary.sum).empty());
}

/// Parses every word as a kernel argument and checks the valid ones against a kernel whose
/// parameters are made from the last word.
bool kernel_arguments(Bytes bytes) {
    const auto words = words_of(bytes);
    std::vector<Argument> arguments;
    int number = 0;
    for (const std::string& word : words) {
        const auto argument = parse_argument(word, ++number);
        if (!settled(argument)) continue;
        require(argument->text == word);
        if (const auto* buffer = std::get_if<BufferArgument>(&argument->value)) fill(*buffer);
        arguments.push_back(*argument);
    }
    std::vector<KernelParameter> parameters;
    std::size_t offset = 0;
    for (const char c : words.back()) {
        const auto bits = static_cast<unsigned char>(c);
        const std::size_t size = std::size_t{1} << (bits & 3);
        parameters.push_back({static_cast<KernelParameter::Kind>((bits >> 2) % 5), offset,
                              size * (1 + (bits >> 6)), size});
        offset += 16;
        require(!describe(parameters.back()).empty());
    }
    const auto fitted = fit_arguments("k", parameters, {}, arguments);
    require(fitted ? fitted->size() == arguments.size() : !fitted.error().message.empty());
    return !arguments.empty();
}

/// Parses every word as the value of every option.
bool command_options(Bytes bytes) {
    const auto words = words_of(bytes);
    int understood = 0;
    for (const std::string& word : words) {
        understood += settled(parse_standard(word)) ? 1 : 0;
        understood += settled(parse_math(word)) ? 1 : 0;
        understood += settled(parse_capability(word)) ? 1 : 0;
        understood += settled(parse_cuda_version(word)) ? 1 : 0;
        understood += settled(parse_suffix(word)) ? 1 : 0;
        understood += settled(parse_dim3("--grid", word)) ? 1 : 0;
        understood += settled(Arch::parse(word)) ? 1 : 0;
        Section section(word);
        section.row(word, word);
        require(!section.to_string().empty());
        (void)demangled(word);
    }
    const auto archs = parse_arch_list(words);
    understood += settled(archs) ? 1 : 0;
    CompileFlags flags;
    flags.definitions = words;
    flags.include_folders = words;
    flags.extra_flags = words;
    if (!words.empty()) flags.math = words.front();
    if (words.size() > 1) flags.standard = words[1];
    understood += settled(to_compile_options(flags)) ? 1 : 0;
    return understood > 0;
}

constexpr std::string_view argument_words =
    "f32\nf64\ni8\ni16\ni32\ni64\nu8\nu16\nu32\nu64\n[1024]\n[\n]\n:\n:zeros\n:ones\n:iota\n"
    ":random(\n:random(1)\n:value(\n:value(3.5)\n)\n@\n@/nonexistent\n0x\n-0x8000000000000000\n"
    "-1\n1e308\n1e-400\ninf\nnan\n-inf\n.5f\n2.5f\n18446744073709551615\n18446744073709551616\n"
    "9223372036854775808\n1099511627776\n+1\n \n\t";

constexpr std::string_view option_words =
    "c++17\n20\n03\nieee\nfast\nhost_comparable\nsm_90a\ncompute_80\nall\nsm_\nsm_1000000000000\n"
    "9.0\n90\n12.4\n12.\n.4\na\nf\nnone\n1,2,3\n,\n4294967296\n-1\n0\n=\nX=1\n--std=c++11\n-G\n"
    "-D\n-I\n--gpu-architecture\n_Z5scaleIfEvPf\n_Z\n_ZN";

constexpr Target command_rows[] = {
    {"kernel_arguments", kernel_arguments, Form::text, "kernel_arguments", 1024, argument_words},
    {"command_options", command_options, Form::text, "command_options", 1024, option_words},
};

}  // namespace

std::span<const Target> command_targets() noexcept {
    return command_rows;
}

}  // namespace lode::fuzz
