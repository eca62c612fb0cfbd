#include "jit/cache/toolchain.hpp"

#include "base/try.hpp"
#include "jit/store/sealed_file.hpp"

namespace LODE_NAMESPACE::cache {
namespace {

constexpr std::uint32_t properties_section = 1;

}  // namespace

Bytes format_toolchain(const KnownCompiler& known) {
    const CompilerInfo& info = known.info();
    ByteWriter out;
    out.number(static_cast<std::int32_t>(info.version_major));
    out.number(static_cast<std::int32_t>(info.version_minor));
    out.text(info.build);
    out.text(info.path.string());
    out.list(info.supported, [&](auto cc) { out.number(static_cast<std::int32_t>(cc.number())); });
    out.texts(info.search_attempts);
    write(out, known.properties.files);
    out.text(known.digest);
    SealedWriter file(FileKind::toolchain);
    file.section(properties_section, out.bytes(), SealedWriter::Effort::none);
    return file.seal();
}

Result<KnownCompiler> parse_toolchain(std::span<const std::byte> bytes) {
    LODE_TRY_ASSIGN(const auto file, SealedFile::parse(bytes, FileKind::toolchain));
    LODE_TRY_ASSIGN(const Bytes properties, file.section(properties_section));
    ByteReader in(properties);
    KnownCompiler known;
    CompilerInfo& info = known.properties.info;
    info.version_major = in.number<std::int32_t>();
    info.version_minor = in.number<std::int32_t>();
    info.build = in.text();
    info.path = in.text();
    info.supported =
        in.list([&] { return ComputeCapability::from_number(in.number<std::int32_t>()); });
    info.search_attempts = in.texts();
    known.properties.files = read_compiler_files(in);
    known.digest = in.text();
    if (!in.ended() || info.build.empty())
        return damaged("its compiler's properties can't be parsed");
    return known;
}

}  // namespace LODE_NAMESPACE::cache
