#include "jit/worker/message.hpp"

#include "base/try.hpp"
#include "jit/request/flags.hpp"
#include "jit/request/image_bytes.hpp"
#include "jit/request/link_call.hpp"
#include "jit/worker/members.hpp"

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace LODE_NAMESPACE::worker {
namespace {

using worker::write;

enum class Outcome : std::uint8_t { image, error };

constexpr auto last_language = Source::Language::llvm_ir;

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

void write(ByteWriter& out, const NvrtcSearchEnvironment& search) {
    out.text(search.chosen.string());
    out.text(search.chosen_by);
    out.text(search.executable_folder.string());
    out.text(search.site_packages.string());
    for (const auto* variable :
         {&search.cuda_home, &search.cuda_path, &search.virtual_env, &search.conda_prefix})
        write(out, *variable);
    out.text(search.root.string());
}
NvrtcSearchEnvironment read_search(ByteReader& in) {
    NvrtcSearchEnvironment search;
    search.chosen = in.text();
    search.chosen_by = in.text();
    search.executable_folder = in.text();
    search.site_packages = in.text();
    for (auto* variable :
         {&search.cuda_home, &search.cuda_path, &search.virtual_env, &search.conda_prefix})
        *variable = read_optional(in);
    search.root = in.text();
    return search;
}

void write(ByteWriter& out, const Source& source) {
    out.number(static_cast<std::uint8_t>(source.language()));
    out.flag(source.is_file());
    out.flag(source.is_read());
    out.text(source.name());
    out.long_text(source.code());
}
Source read_source(ByteReader& in) {
    const auto language = in.enumerator(last_language);
    const bool is_file = in.flag();
    const bool is_read = in.flag();
    std::string name = in.text();
    std::string code = in.long_text();
    if (is_file) {
        const Source source = Source::file(name, language);
        return is_read ? source.pinned(std::move(code)) : source;
    }
    return Source::of(language, std::move(code), std::move(name));
}

void write(ByteWriter& out, const pch::Settings& pch) {
    out.text(pch.folder.string());
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
    out.long_text(as_text(image.optix_ir));
    out.long_text(as_text(format_symbols(image)));
    out.long_text(as_text(format_messages(image)));
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
    image.optix_ir = read_bytes(in);
    const auto symbols = read_bytes(in);
    const auto messages = read_bytes(in);
    if (!in.ok() || !arch || !parse_symbols(symbols, image) || !parse_messages(messages, image))
        return std::nullopt;
    image.arch = *arch;
    return image;
}

static_assert(std::is_trivially_copyable_v<os::FileAttributes> &&
              std::is_trivially_copyable_v<FileStamp>);

void write(ByteWriter& out, const FileAccesses& files) {
    const FileRecord& record = files.record();
    out.count(record.answers.size());
    for (const auto& [path, answer] : record.answers) {
        out.text(path);
        out.number(static_cast<std::uint8_t>(answer.kind));
        out.number(static_cast<std::int32_t>(answer.error));
        out.number(answer.attributes);
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
    out.count(record.calculations.size());
    for (const auto& [calculation, result] : record.calculations) {
        out.number(calculation);
        out.number(result);
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
        answer.attributes = in.number<os::FileAttributes>();
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
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        const auto calculation = in.number<Calculation>();
        record.calculations[calculation] = in.number<std::uint64_t>();
    }
    record.unforeseen = in.text();
    record.working = in.text();
    record.questions = in.number<std::uint64_t>();
    return FileAccesses(std::move(record));
}

void write(ByteWriter& out, const CompilerProperties& properties) {
    const CompilerInfo& info = properties.info;
    out.number(std::int32_t{info.version_major});
    out.number(std::int32_t{info.version_minor});
    out.text(info.product);
    out.text(info.build);
    out.text(info.path.string());
    MemberWriter{out}.put(info.include_folders);
    out.list(info.supported, [&](auto cc) { out.number(std::int32_t{cc.number()}); });
    out.texts(info.search_attempts);
    write(out, properties.files);
}
CompilerProperties read_properties(ByteReader& in) {
    CompilerProperties properties;
    CompilerInfo& info = properties.info;
    info.version_major = in.number<std::int32_t>();
    info.version_minor = in.number<std::int32_t>();
    info.product = in.text();
    info.build = in.text();
    info.path = in.text();
    MemberReader{in}.take(info.include_folders);
    info.supported =
        in.list([&] { return ComputeCapability::from_number(in.number<std::int32_t>()); });
    info.search_attempts = in.texts();
    properties.files = read_compiler_files(in);
    return properties;
}

void write(ByteWriter& out, const LinkTask& link) {
    out.text(link.search.library.string());
    out.number(std::int32_t{link.search.driver_version});
    MemberWriter{out}.put(link.search.folders);
    out.count(link.inputs.size());
    for (const auto& input : link.inputs) {
        out.number(static_cast<std::uint8_t>(input.kind));
        out.text(input.name);
        out.long_text(as_text(input.bytes));
        out.text(input.arch ? input.arch->to_string() : "");
        Image symbols;
        symbols.lowered_names = input.lowered_names;
        symbols.kernels = input.kernels;
        out.long_text(as_text(format_symbols(symbols)));
    }
    each_field(link.options, MemberWriter{out});
}
std::optional<LinkTask> read_link(ByteReader& in) {
    LinkTask link;
    link.search.library = in.text();
    link.search.driver_version = in.number<std::int32_t>();
    MemberReader{in}.take(link.search.folders);
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        LinkInput input;
        input.kind = in.enumerator(LinkInput::Kind::archive);
        input.name = in.text();
        input.bytes = read_bytes(in);
        if (const auto arch = Arch::parse(in.text())) input.arch = *arch;
        Image symbols;
        if (!parse_symbols(read_bytes(in), symbols)) return std::nullopt;
        input.lowered_names = std::move(symbols.lowered_names);
        input.kernels = std::move(symbols.kernels);
        link.inputs.push_back(std::move(input));
    }
    each_field(link.options, MemberReader{in});
    return link;
}

}  // namespace

tl::unexpected<Error> fail_memory_limit(const Request& request) {
    return fail(
        Errc::out_of_memory,
        fmt::format("Compiling '{}' took more than the {} bytes of memory that a worker "
                    "may have.",
                    request.compilation.source.name(), request.compilation.limits.memory_bytes));
}

bool Request::is_last() const {
    if (needs_new_process) return true;
    switch (task) {
        case Task::compile:
            return leaves_traces(compilation);
        case Task::link:
            return leaves_traces(link.options);
        case Task::call:
            return leaves_traces(call);
        case Task::link_call:
            return link_leaves_traces(call);
        case Task::properties:
        case Task::linker_properties:
            break;
    }
    return false;
}

Bytes format_setup(const JailSetup& setup) {
    ByteWriter out;
    out.number(protocol_version);
    out.number(static_cast<std::uint8_t>(setup.language));
    write(out, setup.nvrtc);
    MemberWriter{out}.put(setup.folders);
    out.number(setup.open_files);
    out.number(setup.read_bytes);
    return std::move(out).take();
}

Result<JailSetup> parse_setup(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    JailSetup setup;
    setup.language = in.enumerator(last_language);
    setup.nvrtc = read_search(in);
    MemberReader{in}.take(setup.folders);
    setup.open_files = in.number<std::uint32_t>();
    setup.read_bytes = in.number<std::uint64_t>();
    if (!in.ended()) return damaged("setup");
    return setup;
}

Bytes format_request(const Request& request) {
    const CompileRequest& compilation = request.compilation;
    ByteWriter out;
    out.number(protocol_version);
    write(out, request.nvrtc);
    out.text(request.working_folder.string());
    out.texts(request.environment);
    write(out, compilation.source);
    out.text(compilation.arch.to_string());
    each_field(compilation.options, MemberWriter{out});
    out.texts(compilation.name_expressions);
    write(out, request.pch);
    out.text(request.source_files.source);
    out.text(request.source_files.headers);
    out.number(std::int64_t{compilation.limits.time.count()});
    out.number(compilation.limits.memory_bytes);
    out.flag(request.is_measured);
    out.number(static_cast<std::uint8_t>(request.task));
    write(out, request.link);
    write(out, request.call);
    out.flag(request.needs_new_process);
    return std::move(out).take();
}

Result<Request> parse_request(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    Request request{.nvrtc = read_search(in),
                    .working_folder = in.text(),
                    .environment = in.texts(),
                    .compilation = {read_source(in), {}}};
    CompileRequest& compilation = request.compilation;
    const auto arch = Arch::parse(in.text());
    each_field(compilation.options, MemberReader{in});
    compilation.name_expressions = in.texts();
    request.pch = read_pch(in);
    request.source_files.source = in.text();
    request.source_files.headers = in.text();
    compilation.limits.time = std::chrono::milliseconds(in.number<std::int64_t>());
    compilation.limits.memory_bytes = in.number<std::uint64_t>();
    request.is_measured = in.flag();
    request.task = in.enumerator(Task::link_call);
    auto link = read_link(in);
    request.call = read_nvrtc_call(in);
    request.needs_new_process = in.flag();
    if (!in.ended() || !arch || !link) return damaged("request");
    compilation.arch = *arch;
    request.link = *std::move(link);
    return request;
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
    const CompileFiles& files = answer.files;
    out.flag(files.is_watched);
    write(out, files.compiler_files);
    out.text(files.compiler_state);
    for (const bool fact : {files.uses_time, files.may_name_files, files.may_join_questions})
        out.flag(fact);
    write(out, answer.properties);
    write(out, answer.call);
    return std::move(out).take();
}

Result<Answer> parse_answer(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(ByteReader in, begin(bytes));
    Answer answer{fail(Errc::compiler_failed, {})};
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
    CompileFiles& files = answer.files;
    files.is_watched = in.flag();
    files.compiler_files = read_compiler_files(in);
    files.compiler_state = in.text();
    for (bool* fact : {&files.uses_time, &files.may_name_files, &files.may_join_questions})
        *fact = in.flag();
    answer.properties = read_properties(in);
    answer.call = read_nvrtc_answer(in);
    if (!in.ended()) return damaged("answer");
    return answer;
}

}  // namespace LODE_NAMESPACE::worker
