#include "jit/worker/message.hpp"

#include "base/try.hpp"
#include "jit/image_bytes.hpp"

#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace lode::worker {
namespace {

enum class Outcome : std::uint8_t { image, error };

Result<ByteReader> begin(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    const auto version = in.number<std::uint32_t>();
    if (!in.ok()) return fail(Errc::invalid_image, "A worker's message is empty.");
    if (version != protocol_version) {
        return fail(Errc::invalid_image,
                    fmt::format("A worker's message has protocol version {}, not {}: the host and "
                                "lode-worker are of different builds.",
                                version, protocol_version));
    }
    return in;
}

tl::unexpected<Error> damaged(std::string_view what) {
    return fail(Errc::invalid_image, fmt::format("A worker's {} can't be parsed.", what));
}

void write(ByteWriter& out, const std::optional<std::string>& text) {
    out.flag(text.has_value());
    if (text) out.text(*text);
}
std::optional<std::string> read_optional(ByteReader& in) {
    if (!in.flag()) return std::nullopt;
    return in.text();
}

void write(ByteWriter& out, const std::vector<std::string>& texts) {
    out.count(texts.size());
    for (const auto& text : texts)
        out.text(text);
}
std::vector<std::string> read_texts(ByteReader& in) {
    std::vector<std::string> texts;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        texts.push_back(in.text());
    return texts;
}

void write(ByteWriter& out, const std::optional<bool>& value) {
    out.flag(value.has_value());
    out.flag(value.value_or(false));
}
std::optional<bool> read_switch(ByteReader& in) {
    const bool has_value = in.flag();
    const bool value = in.flag();
    return has_value ? std::optional(value) : std::nullopt;
}

void write(ByteWriter& out, const NvrtcSearchEnvironment& search) {
    out.text(search.chosen.native());
    out.text(search.chosen_by);
    out.text(search.executable_folder.native());
    for (const auto* variable :
         {&search.cuda_home, &search.cuda_path, &search.virtual_env, &search.conda_prefix})
        write(out, *variable);
    out.text(search.root.native());
}
NvrtcSearchEnvironment read_search(ByteReader& in) {
    NvrtcSearchEnvironment search;
    search.chosen = in.text();
    search.chosen_by = in.text();
    search.executable_folder = in.text();
    for (auto* variable :
         {&search.cuda_home, &search.cuda_path, &search.virtual_env, &search.conda_prefix})
        *variable = read_optional(in);
    search.root = in.text();
    return search;
}

void write(ByteWriter& out, const Source& source) {
    const auto code = source.is_read() ? source.read() : Result<std::string>();
    out.number(static_cast<std::uint8_t>(source.language()));
    out.flag(source.is_file());
    out.flag(source.is_read());
    out.text(source.name());
    out.long_text(code ? *code : std::string());
}
Source read_source(ByteReader& in) {
    const auto language = in.enumerator(Source::Language::ptx);
    const bool is_file = in.flag();
    const bool is_read = in.flag();
    std::string name = in.text();
    std::string code = in.long_text();
    if (is_file) {
        const Source source = Source::file(name);
        return is_read ? source.pinned(std::move(code)) : source;
    }
    return language == Source::Language::ptx ? Source::ptx(std::move(code), std::move(name))
                                             : Source::text(std::move(code), std::move(name));
}

void write(ByteWriter& out, const CompileOptions& options) {
    out.count(options.definitions.size());
    for (const auto& definition : options.definitions) {
        out.text(definition.name);
        write(out, definition.value);
    }
    out.count(options.include_folders.size());
    for (const auto& folder : options.include_folders)
        out.text(folder.native());
    out.count(options.headers.size());
    for (const auto& header : options.headers) {
        out.text(header.name);
        out.long_text(header.text);
    }
    write(out, options.pre_includes);
    out.number(static_cast<std::uint8_t>(options.standard));
    out.number(static_cast<std::uint8_t>(options.math.preset));
    for (const auto* choice :
         {&options.math.ftz, &options.math.prec_div, &options.math.prec_sqrt, &options.math.fmad})
        write(out, *choice);
    out.number(static_cast<std::int32_t>(options.max_registers));
    for (const bool flag :
         {options.line_info, options.debug, options.source_files, options.relocatable, options.lto,
          options.minimal, options.toolkit_headers})
        out.flag(flag);
    out.number(static_cast<std::uint8_t>(options.tile));
    write(out, options.extra_flags);
}
CompileOptions read_options(ByteReader& in) {
    CompileOptions options;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        Definition definition;
        definition.name = in.text();
        definition.value = read_optional(in);
        options.definitions.push_back(std::move(definition));
    }
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left)
        options.include_folders.emplace_back(in.text());
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        Header header;
        header.name = in.text();
        header.text = in.long_text();
        options.headers.push_back(std::move(header));
    }
    options.pre_includes = read_texts(in);
    options.standard = in.enumerator(Standard::cxx20);
    options.math.preset = in.enumerator(Math::Preset::host_comparable);
    for (auto* choice :
         {&options.math.ftz, &options.math.prec_div, &options.math.prec_sqrt, &options.math.fmad})
        *choice = read_switch(in);
    options.max_registers = in.number<std::int32_t>();
    for (bool* flag :
         {&options.line_info, &options.debug, &options.source_files, &options.relocatable,
          &options.lto, &options.minimal, &options.toolkit_headers})
        *flag = in.flag();
    options.tile = in.enumerator(Tile::only);
    options.extra_flags = read_texts(in);
    return options;
}

void write(ByteWriter& out, const pch::Settings& pch) {
    out.text(pch.folder);
    out.flag(pch.is_writable);
    out.number(pch.max_bytes);
    out.number(pch.least_header_bytes);
    out.flag(pch.is_suspect);
}
pch::Settings read_pch(ByteReader& in) {
    pch::Settings pch;
    pch.folder = in.text();
    pch.is_writable = in.flag();
    pch.max_bytes = in.number<std::uint64_t>();
    pch.least_header_bytes = in.number<std::uint64_t>();
    pch.is_suspect = in.flag();
    return pch;
}

void write(ByteWriter& out, const Error& error) {
    out.number(static_cast<std::uint8_t>(error.code));
    out.text(error.message);
    out.number(static_cast<std::uint8_t>(error.native.origin));
    out.number(static_cast<std::int32_t>(error.native.code));
    out.text(error.native.name);
    out.long_text(error.log);
}
std::optional<Error> read_error(ByteReader& in) {
    Error error{};
    error.code = in.enumerator(Errc::cancelled);
    error.message = in.text();
    error.native.origin = in.enumerator(Native::Origin::system);
    error.native.code = in.number<std::int32_t>();
    error.native.name = in.text();
    error.log = in.long_text();
    if (!in.ok() || error.code == Errc{}) return std::nullopt;
    return error;
}

void write(ByteWriter& out, const Image& image) {
    out.text(image.name);
    out.text(image.arch.to_string());
    out.text(image.compiler);
    out.long_text(as_text(image.cubin));
    out.long_text(image.ptx);
    out.long_text(as_text(image.lto_ir));
    out.long_text(as_text(image.tile_ir));
    out.long_text(as_text(format_symbols(image)));
    out.long_text(as_text(format_messages(image)));
}
std::vector<std::byte> read_bytes(ByteReader& in) {
    const auto bytes = in.raw(in.number<std::uint64_t>());
    return {bytes.begin(), bytes.end()};
}
std::optional<Image> read_image(ByteReader& in) {
    Image image;
    image.name = in.text();
    const auto arch = Arch::parse(in.text());
    image.compiler = in.text();
    image.cubin = read_bytes(in);
    image.ptx = in.long_text();
    image.lto_ir = read_bytes(in);
    image.tile_ir = read_bytes(in);
    const auto symbols = read_bytes(in);
    const auto messages = read_bytes(in);
    if (!in.ok() || !arch || !parse_symbols(symbols, image) || !parse_messages(messages, image))
        return std::nullopt;
    image.arch = *arch;
    return image;
}

static_assert(std::is_trivially_copyable_v<struct stat> && std::is_trivially_copyable_v<FileStamp>);

void write(ByteWriter& out, const FileAccesses& files) {
    const FileRecord& record = files.record();
    out.count(record.answers.size());
    for (const auto& [path, answer] : record.answers) {
        out.text(path);
        out.number(static_cast<std::uint8_t>(answer.kind));
        out.number(static_cast<std::int32_t>(answer.error));
        out.number(answer.status);
        out.flag(answer.consumed);
        out.flag(answer.content != nullptr);
        if (answer.content == nullptr) continue;
        out.long_text(answer.content->text);
        out.number(answer.content->stamp);
        out.flag(answer.content->settled);
    }
    out.count(record.variables.size());
    for (const auto& [name, value] : record.variables) {
        out.text(name);
        write(out, value);
    }
    out.text(record.unforeseen);
    out.text(record.working);
    out.number(record.questions);
}
FileAccesses read_files(ByteReader& in) {
    FileRecord record;
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        std::string path = in.text();
        FileAnswer answer;
        answer.kind = in.enumerator(FileAnswer::Kind::refused);
        answer.error = in.number<std::int32_t>();
        answer.status = in.number<struct stat>();
        answer.consumed = in.flag();
        if (in.flag()) {
            FileContent content;
            content.text = in.long_text();
            content.stamp = in.number<FileStamp>();
            content.settled = in.flag();
            answer.content = std::make_shared<const FileContent>(std::move(content));
        }
        record.answers.emplace(std::move(path), std::move(answer));
    }
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        std::string name = in.text();
        record.variables[std::move(name)] = read_optional(in);
    }
    record.unforeseen = in.text();
    record.working = in.text();
    record.questions = in.number<std::uint64_t>();
    return FileAccesses(std::move(record));
}

}  // namespace

Bytes format_setup(const JailSetup& setup) {
    ByteWriter out;
    out.number(protocol_version);
    write(out, setup.nvrtc);
    write(out, setup.folders);
    out.number(setup.open_files);
    out.number(setup.read_bytes);
    return std::move(out).take();
}

Result<JailSetup> parse_setup(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    JailSetup setup;
    setup.nvrtc = read_search(in);
    setup.folders = read_texts(in);
    setup.open_files = in.number<std::uint32_t>();
    setup.read_bytes = in.number<std::uint64_t>();
    if (!in.ended()) return damaged("setup");
    return setup;
}

Bytes format_request(const Request& request) {
    ByteWriter out;
    out.number(protocol_version);
    write(out, request.nvrtc);
    out.text(request.working_folder);
    write(out, request.environment);
    write(out, request.source);
    out.text(request.arch.to_string());
    write(out, request.options);
    write(out, request.name_expressions);
    write(out, request.pch);
    out.text(request.source_files.source);
    out.text(request.source_files.headers);
    return std::move(out).take();
}

Result<Request> parse_request(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    auto nvrtc = read_search(in);
    auto working_folder = in.text();
    auto environment = read_texts(in);
    auto source = read_source(in);
    const auto arch = Arch::parse(in.text());
    auto options = read_options(in);
    auto names = read_texts(in);
    auto pch = read_pch(in);
    SourceFiles source_files;
    source_files.source = in.text();
    source_files.headers = in.text();
    if (!in.ended() || !arch) return damaged("request");
    return Request{std::move(nvrtc),
                   std::move(working_folder),
                   std::move(environment),
                   std::move(source),
                   *arch,
                   std::move(options),
                   std::move(names),
                   std::move(pch),
                   std::move(source_files)};
}

Bytes format_answer(const Answer& answer) {
    ByteWriter out;
    out.number(protocol_version);
    out.number(static_cast<std::uint8_t>(answer.image ? Outcome::image : Outcome::error));
    if (answer.image)
        write(out, *answer.image);
    else
        write(out, answer.image.error());
    write(out, answer.files.compiler);
    write(out, answer.files.shims);
    out.flag(answer.files.is_watched);
    return std::move(out).take();
}

Result<Answer> parse_answer(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    Answer answer{fail(Errc::compiler_failed, {}), {}};
    if (in.enumerator(Outcome::error) == Outcome::image) {
        auto image = read_image(in);
        if (!image) return damaged("answer");
        answer.image = *std::move(image);
    } else {
        auto error = read_error(in);
        if (!error) return damaged("answer");
        answer.image = tl::unexpected<Error>(*std::move(error));
    }
    answer.files.compiler = read_files(in);
    answer.files.shims = read_files(in);
    answer.files.is_watched = in.flag();
    if (!in.ended()) return damaged("answer");
    return answer;
}

}  // namespace lode::worker
