// Linker: nvJitLink, found and opened on first use. PTX and cubins in, one cubin out.
#pragma once

#include <lode/base/arch.hpp>
#include <lode/base/error.hpp>
#include <lode/base/image.hpp>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lode {

/// Where to look for nvJitLink.
struct LinkerSearch {
    /// A library file, or the folder that holds it; searched alone when not empty.
    std::filesystem::path library = {};
    /// The driver's version (12040): the library of its major version is preferred, since a driver
    /// doesn't load machine code of a newer one. 0: the newest first.
    int driver_version = 0;
    /// Searched before the toolkit's folders: where NVRTC was found, say.
    std::vector<std::filesystem::path> folders = {};
};

/// What was found.
struct LinkerInfo {
    int version = 0;  ///< As ToolFacts counts: 13000 for 13.0. 12000 for 12.0 … 12.2, which can't
                      ///< tell.
    std::filesystem::path path;
    std::vector<std::string> search_account;  ///< One line per place tried.
};

/// How to link. A plain value.
struct LinkOptions {
    int max_registers = 0;  ///< Per thread; 0 leaves it to the linker.
    bool line_info = false;
    bool debug = false;
    bool verbose = false;                       ///< The resource report, into Image::log.
    std::vector<std::string> extra_flags = {};  ///< nvJitLink's own, e.g. "-Xptxas=-dlcm=cg".
};

/// The device linker. Constructing one touches nothing; the library is searched and opened by the
/// first call that needs it: `search.library` or LODE_NVJITLINK, the given folders, CUDA_HOME and
/// CUDA_PATH, /usr/local/cuda, the loader's path. Needs no GPU. Thread-safe; copies share it.
class Linker {
public:
    explicit Linker(LinkerSearch search = {});

    /// Opens the library if need be. not_found lists every place tried.
    [[nodiscard]] Result<LinkerInfo> info() const;

    /// Links images to one cubin for a real target. Each gives its PTX where it has one (it serves
    /// every target not below it), its cubin otherwise. The result has the machine code, the PTX of
    /// a single input, the lowered names of all and the linker's messages in Image::log.
    /// Errors: link_failed with the linker's text in Error::log; invalid_argument for a virtual
    /// target, no image or one without code; not_found without the library.
    [[nodiscard]] Result<Image> link(std::span<const Image> images, const Arch& target,
                                     const LinkOptions& options = {}) const;
    [[nodiscard]] Result<Image> link(const Image& image, const Arch& target,
                                     const LinkOptions& options = {}) const {
        return link(std::span(&image, 1), target, options);
    }

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lode
