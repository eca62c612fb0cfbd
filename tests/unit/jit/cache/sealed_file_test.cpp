#include "jit/store/sealed_file.hpp"

#include <doctest/doctest.h>

using namespace lode;
using namespace lode::cache;

TEST_CASE("sealed file: sections round-trip, compressed only where it pays") {
    SealedWriter out(FileKind::manifest);
    const std::string small = "small";
    const std::string repetitive = [] {
        std::string text;
        for (int i = 0; i < 4000; ++i)
            text += "line " + std::to_string(i) + "\n";
        return text;
    }();
    out.section(1, as_bytes(small), SealedWriter::Effort::usual);
    out.section(2, as_bytes(repetitive), SealedWriter::Effort::usual);
    out.section(9, {}, SealedWriter::Effort::usual);
    const Bytes bytes = out.seal();
    CHECK(bytes.size() < repetitive.size() / 2);

    const auto file = SealedFile::parse(bytes, FileKind::manifest);
    REQUIRE(file);
    CHECK(*file->text(1) == small);
    CHECK(*file->text(2) == repetitive);
    CHECK(file->section(9)->empty());
    CHECK_FALSE(file->section(3));
}

TEST_CASE(
    "sealed file: a large section that shrinks beyond the ratio is stored plain and still reads") {
    SealedWriter out(FileKind::entry);
    out.section(1, Bytes(32 << 20), SealedWriter::Effort::usual);
    const Bytes bytes = out.seal();
    CHECK(bytes.size() > (32 << 20));
    const auto file = SealedFile::parse(bytes, FileKind::entry);
    REQUIRE(file);
    CHECK(*file->section(1) == Bytes(32 << 20));
}

TEST_CASE("sealed file: another kind and an empty file are refused") {
    SealedWriter out(FileKind::entry);
    out.section(1, as_bytes("x"), SealedWriter::Effort::none);
    CHECK(SealedFile::parse(out.seal(), FileKind::entry));
    CHECK_FALSE(SealedFile::parse(out.seal(), FileKind::manifest));
    CHECK_FALSE(SealedFile::parse({}, FileKind::entry));
}
