#include "tests/cache_oracle/fake_nvrtc.hpp"

#include "base/file.hpp"
#include "base/try.hpp"
#include "jit/files/file_state.hpp"
#include "jit/request/shims.hpp"
#include "tests/cache_oracle/preprocessor.hpp"

#include <system_error>

#include <fmt/format.h>

namespace lode::oracle {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

Status check_include_folders(const CompileOptions& options) {
    for (const auto& folder : options.include_folders) {
        std::error_code problem;
        if (!fs::is_directory(folder, problem)) {
            return fail(Errc::not_found,
                        fmt::format("Include folder '{}' doesn't exist.", folder.string()));
        }
    }
    return {};
}

}  // namespace

FakeNvrtc::Mapped FakeNvrtc::map() const {
    Mapped made;
    if (library_.empty()) return made;
    for (const char* const name : file_names) {
        const fs::path path = library_ / name;
        const auto stamp = stamp_of(path.native());
        made.code += read_text(path).value_or("");
        made.files.push_back({path.native(), stamp.value_or(FileStamp{})});
    }
    return made;
}

Result<CompilerProperties> FakeNvrtc::properties() {
    if (!mapped) mapped = map();
    CompilerProperties properties;
    properties.files = mapped->files;
    CompilerInfo& info = properties.info;
    info.version_major = 13;
    info.build = "13.0.1";
    info.path = library_ / file_names[0];
    info.include_folders = {toolkit_};
    info.supported = {{8, 0}, {9, 0}};
    info.search_attempts = {"found"};
    return properties;
}

Result<Image> FakeNvrtc::compile(const CompileRequest& request, const CompileContext& context) {
    ++compilations;
    if (before_mapping && !mapped) before_mapping();
    if (!mapped) mapped = map();
    context.files->compiler_files = mapped->files;
    LODE_TRY(check_include_folders(request.options));
    LODE_TRY_ASSIGN(const std::string text, request.source.read());

    std::vector<Header> shims;
    std::vector<std::string> folders;
    for (const auto& folder : request.options.include_folders)
        folders.push_back(folder.native());
    if (request.options.toolkit_headers) {
        for (const auto& shim : shims_for(request, context.files->shims))
            shims.push_back(
                {shim.name, fmt::format("int shim_{};\n", fs::path(shim.name).stem().string())});
        folders.push_back(toolkit_.native());
    }
    context.files->is_watched = true;
    auto expanded = Preprocessor({program_name(request.source), text, request.options, shims,
                                  folders, context.files->compiler, before_question})
                        .run();
    if (!expanded) return tl::unexpected<Error>(std::move(expanded).error());
    note_texts(
        *context.files,
        {request.source.pinned(text), request.arch, request.options, request.name_expressions},
        std::span(&toolkit_, 1));

    CompileOptions placeless = request.options;
    placeless.include_folders.clear();
    LODE_TRY_ASSIGN(const auto flags, compile_flags(placeless));
    // The code contains a hash of the flags: a path in a flag would look like a path in the code.
    Hasher hasher;
    for (const auto& flag : flags)
        hasher.field(flag);
    std::string code = fmt::format("{}\nflags {}\n{}", request.arch.to_string(),
                                   hasher.finish().to_hex(), mapped->code);
    // Symbols of anonymous namespaces contain the file name.
    code += fs::path(request.source.name()).filename().string() + "\n";
    if (request.options.line_info) code += "in " + fs::current_path().string() + "\n";
    code += *expanded;

    Image image;
    image.name = request.source.name();
    image.arch = request.arch;
    image.cubin = bytes_of(code);
    image.ptx = "// " + code;
    image.compiler = "NVRTC 13.0.1";
    return image;
}

}  // namespace lode::oracle
