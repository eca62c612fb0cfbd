#include "jit/request/image_bytes.hpp"

#include <utility>

namespace LODE_NAMESPACE {
namespace {

void write(ByteWriter& out, const KernelResources& resources) {
    out.text(resources.kernel);
    out.number(static_cast<std::int32_t>(resources.registers));
    out.number(std::uint64_t{resources.shared_bytes});
    out.number(std::uint64_t{resources.constant_bytes});
    out.number(std::uint64_t{resources.stack_bytes});
    out.number(std::uint64_t{resources.spill_store_bytes});
    out.number(std::uint64_t{resources.spill_load_bytes});
    out.number(static_cast<std::int32_t>(resources.barriers));
}

KernelResources read_resources(ByteReader& in) {
    KernelResources resources;
    resources.kernel = in.text();
    resources.registers = in.number<std::int32_t>();
    resources.shared_bytes = in.number<std::uint64_t>();
    resources.constant_bytes = in.number<std::uint64_t>();
    resources.stack_bytes = in.number<std::uint64_t>();
    resources.spill_store_bytes = in.number<std::uint64_t>();
    resources.spill_load_bytes = in.number<std::uint64_t>();
    resources.barriers = in.number<std::int32_t>();
    return resources;
}

void write(ByteWriter& out, const KernelSignature& signature) {
    out.text(signature.kernel);
    out.list(signature.parameters, [&](const KernelParameter& parameter) {
        out.number(static_cast<std::uint8_t>(parameter.kind));
        out.number(std::uint64_t{parameter.offset});
        out.number(std::uint64_t{parameter.size});
        out.number(std::uint64_t{parameter.align});
    });
}

KernelSignature read_signature(ByteReader& in) {
    KernelSignature signature;
    signature.kernel = in.text();
    signature.parameters = in.list([&] {
        KernelParameter parameter;
        parameter.kind = in.enumerator(KernelParameter::Kind::aggregate);
        parameter.offset = in.number<std::uint64_t>();
        parameter.size = in.number<std::uint64_t>();
        parameter.align = in.number<std::uint64_t>();
        return parameter;
    });
    return signature;
}

}  // namespace

Bytes format_symbols(const Image& image) {
    ByteWriter out;
    out.count(image.lowered_names.size());
    for (const auto& [expression, symbol] : image.lowered_names) {
        out.text(expression);
        out.text(symbol);
    }
    out.list(image.kernels, [&](const auto& signature) { write(out, signature); });
    out.list(image.resources, [&](const auto& resources) { write(out, resources); });
    return std::move(out).take();
}

bool parse_symbols(std::span<const std::byte> bytes, Image& image) {
    ByteReader in(bytes);
    for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
        std::string expression = in.text();
        image.lowered_names[std::move(expression)] = in.text();
    }
    image.kernels = in.list([&] { return read_signature(in); });
    image.resources = in.list([&] { return read_resources(in); });
    return in.ended();
}

Bytes format_messages(const Image& image) {
    ByteWriter out;
    out.text(image.log);
    out.list(image.diagnostics, [&](const Diagnostic& diagnostic) {
        out.number(static_cast<std::uint8_t>(diagnostic.severity));
        out.text(diagnostic.file);
        out.number(static_cast<std::int32_t>(diagnostic.line));
        out.number(static_cast<std::int32_t>(diagnostic.column));
        out.text(diagnostic.code);
        out.text(diagnostic.text);
    });
    return std::move(out).take();
}

bool parse_messages(std::span<const std::byte> bytes, Image& image) {
    ByteReader in(bytes);
    image.log = in.text();
    image.diagnostics = in.list([&] {
        Diagnostic diagnostic;
        diagnostic.severity = in.enumerator(Diagnostic::Severity::error);
        diagnostic.file = in.text();
        diagnostic.line = in.number<std::int32_t>();
        diagnostic.column = in.number<std::int32_t>();
        diagnostic.code = in.text();
        diagnostic.text = in.text();
        return diagnostic;
    });
    return in.ended();
}

}  // namespace LODE_NAMESPACE
