/// \file
/// Linker: nvJitLink, searched for and opened on first use. It links PTX, machine code, LTO-IR and
/// host objects with device code into one cubin.
#pragma once

#include <lode/base/api.hpp>
#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Private classes, declared where their names aren't exported.
namespace LODE_NAMESPACE {
class FileAccesses;
struct RecordedLink;
}  // namespace LODE_NAMESPACE

LODE_API_BEGIN

namespace LODE_NAMESPACE {

/// Where to look for nvJitLink.
struct LinkerSearch {
    /// A library file, or the folder that contains it. If set, no other place is searched.
    std::filesystem::path library = {};
    /// The driver's version: 12040 for 12.4. The library of its major version is tried first, since
    /// a driver doesn't load machine code of a newer one. With 0 the newest is tried first.
    int driver_version = 0;
    /// Folders to search before the toolkit's, such as the folder of NVRTC.
    std::vector<std::filesystem::path> folders = {};
};

/// Properties of the opened nvJitLink.
struct LinkerInfo {
    /// As in ToolProperties: 13000 for 13.0. Releases 12.0 to 12.2 don't report their version and
    /// count as 12000.
    int version = 0;
    /// Identifies the library's build: its GNU build ID, or the SHA-256 of its file.
    std::string build;
    std::filesystem::path path;                ///< The library file in use.
    std::vector<std::string> search_attempts;  ///< One line per place tried.

    /// "nvJitLink 13.0", as in Image::compiler.
    [[nodiscard]] std::string name() const;
};

/// One input of a link. A plain value that owns its bytes.
struct LinkInput {
    /// The format of the bytes.
    enum class Kind : std::uint8_t {
        ptx,      ///< PTX text.
        cubin,    ///< Machine code of one architecture.
        lto_ir,   ///< LTO-IR: CompileOptions::lto.
        fatbin,   ///< A fat binary: code of one or several architectures.
        object,   ///< A host object file with device code, as made by nvcc -dc.
        archive,  ///< A library of host objects: lib….a.
    };

    Kind kind = Kind::ptx;              ///< The format of `bytes`.
    std::string name = {};              ///< For messages; unique within one link if possible.
    std::vector<std::byte> bytes = {};  ///< The input itself; PTX needs no final NUL.
    std::optional<Arch> arch = {};      ///< The target it was made for, where known.
    std::map<std::string, std::string> lowered_names = {};  ///< For Image::lowered_names.
    std::vector<KernelSignature> kernels = {};              ///< For Image::kernels.

    /// Copies an image's LTO-IR if it has any, else its PTX, else its machine code; never its
    /// Tile IR. PTX comes first because it works for every target not below its own. Errors:
    /// invalid_argument for an image without code.
    [[nodiscard]] static Result<LinkInput> from_image(const Image& image);
    /// Copies bytes and recognises their format. Errors: invalid_image for an unknown format, PTX
    /// without a .target and a cubin that isn't complete.
    [[nodiscard]] static Result<LinkInput> from_bytes(std::span<const std::byte> bytes,
                                                      std::string name);
    /// Reads a whole file. Errors: those of from_bytes(); not_found; file_failed.
    [[nodiscard]] static Result<LinkInput> from_file(const std::filesystem::path& path);
    /// Reads libcudadevrt.a, which kernels that launch kernels need, from the toolkit of CUDA_HOME
    /// or CUDA_PATH or from /usr/local/cuda. Errors: not_found lists the places tried.
    [[nodiscard]] static Result<LinkInput> device_runtime();
};

/// "PTX", "machine code", "LTO-IR", …
std::string_view to_string(LinkInput::Kind kind) noexcept;

/// How to link. A plain value.
struct LinkOptions {
    int max_registers = 0;   ///< Per thread; 0 leaves it to the linker.
    bool line_info = false;  ///< -lineinfo: source lines for profilers and sanitizers.
    bool debug = false;      ///< -g: debug information.
    bool verbose = false;    ///< Put the resource report into Image::log.
    std::vector<std::string> extra_flags = {};  ///< nvJitLink's own, e.g. "-Xptxas=-dlcm=cg".
    /// -lto: optimise across the inputs. An LTO-IR input turns it on; objects and fat binaries with
    /// LTO-IR need it set.
    bool lto = false;
    /// 0 or 3, the levels that nvJitLink has; nullopt leaves it to the linker.
    std::optional<int> optimization_level = {};
    /// The number of threads that compile the parts of the program; 0 means one per processor.
    int split_compile = 1;
    /// The symbols of the kernels to keep; the linker may drop all others. With an empty list it
    /// keeps every kernel. Only for LTO.
    std::vector<std::string> kernels_used = {};
    /// The same for variables that the host accesses.
    std::vector<std::string> variables_used = {};
    /// Drop variables that no device code refers to. Only for LTO.
    bool drop_unused_variables = false;
    /// Put the linked LTO-IR into Image::lto_ir, beside the code. Only for LTO; needs nvJitLink of
    /// CUDA 13.3.
    bool keep_lto_ir = false;
};

/// The device linker. Needs no driver and no GPU.
///
/// The first call that needs nvJitLink searches for it and opens it. If `search.library` or
/// LODE_NVJITLINK is set, only that place is tried; otherwise these are, in order: the given
/// folders, CUDA_HOME and CUDA_PATH, /usr/local/cuda, NVIDIA's wheels beside lode's, in VIRTUAL_ENV
/// and in CONDA_PREFIX, the loader's path. A failed search isn't repeated. Thread-safe; copies
/// share the opened library.
class Linker {
public:
    /// Opens nothing yet.
    explicit Linker(LinkerSearch search = {});

    /// Properties of nvJitLink; opens it if needed. Errors: not_found lists every place tried.
    [[nodiscard]] Result<LinkerInfo> info() const;

    /// Links inputs to one cubin for a real target, or to PTX for a virtual one. Blocks.
    ///
    /// PTX as the result needs LTO-IR in every input; it runs wherever PTX does, also on the
    /// software device. The result has the lowered names and signatures of all inputs; PTX as the
    /// result has its own signatures. It has the PTX if that is the only input, and the linker's
    /// messages in Image::log, with C++ names after mangled symbols. Image::resources has what
    /// `verbose` reports.
    ///
    /// Errors: link_failed with the linker's text in Error::log, and with the symbols that no input
    /// defines or that several do in the message; invalid_argument for an empty list, an option
    /// outside its range, and PTX as the result of other inputs than LTO-IR; unsupported_arch for
    /// an input that the target can't run; not_supported if the library lacks what an option needs;
    /// not_found without the library.
    [[nodiscard]] Result<Image> link(std::span<const LinkInput> inputs, const Arch& target,
                                     const LinkOptions& options = {}) const;
    /// Links images: LinkInput::from_image for each. Errors also: those of from_image().
    [[nodiscard]] Result<Image> link(std::span<const Image> images, const Arch& target,
                                     const LinkOptions& options = {}) const;
    /// Links a single image.
    [[nodiscard]] Result<Image> link(const Image& image, const Arch& target,
                                     const LinkOptions& options = {}) const {
        return link(std::span(&image, 1), target, options);
    }

private:
    friend struct RecordedLink;
    /// Also records what the linker calculates with the C library.
    [[nodiscard]] Result<Image> link(std::span<const LinkInput> inputs, const Arch& target,
                                     const LinkOptions& options, FileAccesses& accesses) const;

    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace LODE_NAMESPACE

LODE_API_END
