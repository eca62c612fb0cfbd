#include <lode/base/image.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <elf.h>

using lode::Arch;
using lode::Diagnostic;
using lode::Errc;
using lode::Image;

namespace {

/// A file with a cubin's ELF header and two tables.
struct FakeCubin {
    Elf64_Ehdr header{};
    static constexpr std::size_t size = 1024;

    FakeCubin(unsigned char abi_version, Elf64_Word flags) {
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_ABIVERSION] = abi_version;
        header.e_machine = EM_CUDA;
        header.e_flags = flags;
        header.e_shoff = 256;
        header.e_shnum = 12;
        header.e_shentsize = sizeof(Elf64_Shdr);
    }

    [[nodiscard]] std::vector<std::byte> bytes(std::size_t length = size) const {
        std::vector<std::byte> file(length);
        std::memcpy(file.data(), &header, std::min(length, sizeof(header)));
        return file;
    }
};

// What the CUDA 12 and CUDA 13 compilers write for sm_90 and sm_121.
constexpr unsigned char abi_cuda12 = 7;
constexpr unsigned char abi_cuda13 = 8;
constexpr Elf64_Word flags_sm90_cuda12 = 0x005a055a;
constexpr Elf64_Word flags_sm90_cuda13 = 0x06005a04;
constexpr Elf64_Word flags_sm121_cuda13 = 0x06007902;

}  // namespace

TEST_CASE("image: a cubin's architecture is read from the header of either ABI") {
    struct Row {
        unsigned char abi_version;
        Elf64_Word flags;
        const char* arch;
    };
    for (const Row& row :
         {Row{abi_cuda12, flags_sm90_cuda12, "sm_90"}, Row{abi_cuda13, flags_sm90_cuda13, "sm_90"},
          Row{abi_cuda13, flags_sm121_cuda13, "sm_121"}}) {
        const auto bytes = FakeCubin(row.abi_version, row.flags).bytes();
        const auto image = Image::from_cubin(bytes, "kernels.cubin");
        REQUIRE(image);
        CHECK(image->arch.to_string() == row.arch);
        CHECK(image->name == "kernels.cubin");
        CHECK(image->cubin == bytes);
        CHECK(image->ptx.empty());
    }
}

TEST_CASE("image: the caller's suffix is kept, another number is refused") {
    const auto bytes = FakeCubin(abi_cuda13, flags_sm90_cuda13).bytes();
    const auto suffixed = Image::from_cubin(bytes, "k", *Arch::parse("sm_90a"));
    REQUIRE(suffixed);
    CHECK(suffixed->arch.to_string() == "sm_90a");

    const auto other = Image::from_cubin(bytes, "k", *Arch::parse("sm_80"));
    REQUIRE_FALSE(other);
    CHECK(other.error().code == Errc::invalid_argument);
    CHECK(other.error().message == "'k' is built for sm_90, not for sm_80.");
}

TEST_CASE("image: anything but a whole cubin is invalid_image") {
    const FakeCubin good(abi_cuda13, flags_sm90_cuda13);
    auto host_program = good;
    host_program.header.e_machine = EM_X86_64;
    auto narrow = good;
    narrow.header.e_ident[EI_CLASS] = ELFCLASS32;
    auto far_table = good;
    far_table.header.e_shoff = ~Elf64_Off{0};
    auto far_segments = good;
    far_segments.header.e_phoff = FakeCubin::size;
    far_segments.header.e_phnum = 1;
    far_segments.header.e_phentsize = sizeof(Elf64_Phdr);

    CHECK(Image::from_cubin(good.bytes(), "k"));
    for (const auto& bytes : {std::vector<std::byte>{}, std::vector<std::byte>(100), good.bytes(63),
                              good.bytes(64), good.bytes(FakeCubin::size - 1), host_program.bytes(),
                              narrow.bytes(), far_table.bytes(), far_segments.bytes()}) {
        CAPTURE(bytes.size());
        const auto image = Image::from_cubin(bytes, "bad.cubin");
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::invalid_image);
        CHECK(image.error().message.find("'bad.cubin'") != std::string::npos);
    }
}

TEST_CASE("image: PTX gives target and kernels") {
    const std::string ptx =
        ".version 9.0\n.target sm_90a, debug\n.address_size 64\n"
        ".visible .entry scale(.param .f32 scale_param_0)\n{ ret; }\n";
    const auto image = Image::from_ptx(ptx, "scale.ptx");
    REQUIRE(image);
    CHECK(image->arch.to_string() == "compute_90a");
    CHECK(image->ptx == ptx);
    CHECK(image->cubin.empty());
    REQUIRE(image->signature_of("scale") != nullptr);
    CHECK(image->signature_of("scale")->parameters.size() == 1);
}

TEST_CASE("image: PTX without a readable target is invalid_image") {
    for (const char* text : {"", "int main() {}", "// .target sm_90\n", ".target sm_x\n", ".target",
                             ".targets sm_90"}) {
        CAPTURE(text);
        const auto image = Image::from_ptx(text, "bad.ptx");
        REQUIRE_FALSE(image);
        CHECK(image.error().code == Errc::invalid_image);
        CHECK(image.error().message.find("'bad.ptx'") != std::string::npos);
    }
}

TEST_CASE("image: kernels are found by name expression and by symbol") {
    Image image;
    image.lowered_names = {{"scale<float>", "_Z5scaleIfEvPT_"}};
    image.kernels = {{"_Z5scaleIfEvPT_", {}}, {"plain", {}}};
    image.resources = {{.kernel = "_Z5scaleIfEvPT_", .registers = 12}};
    CHECK(image.symbol_of("scale<float>") == "_Z5scaleIfEvPT_");
    CHECK(image.symbol_of("plain") == "plain");
    CHECK(image.signature_of("scale<float>") == &image.kernels[0]);
    CHECK(image.signature_of("_Z5scaleIfEvPT_") == &image.kernels[0]);
    CHECK(image.signature_of("plain") == &image.kernels[1]);
    CHECK(image.signature_of("absent") == nullptr);
    REQUIRE(image.resources_of("scale<float>") != nullptr);
    CHECK(image.resources_of("scale<float>")->registers == 12);
    CHECK(image.resources_of("plain") == nullptr);
}

TEST_CASE("diagnostic: text leaves out what is unknown") {
    Diagnostic diagnostic{.severity = Diagnostic::Severity::error,
                          .file = "saxpy.cu",
                          .line = 3,
                          .column = 12,
                          .code = "",
                          .text = "identifier \"x\" is undefined"};
    CHECK(diagnostic.to_string() == "saxpy.cu:3:12: error: identifier \"x\" is undefined");
    diagnostic.column = 0;
    diagnostic.severity = Diagnostic::Severity::warning;
    diagnostic.code = "177-D";
    CHECK(diagnostic.to_string() == "saxpy.cu:3: warning #177-D: identifier \"x\" is undefined");
    CHECK(Diagnostic{.severity = Diagnostic::Severity::remark, .text = "hello"}.to_string() ==
          "remark: hello");
}
