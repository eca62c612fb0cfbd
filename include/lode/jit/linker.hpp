/// \file
/// Linker: nvJitLink, searched for and opened on first use. It links PTX and cubins into one cubin.
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
    std::filesystem::path path;                ///< The library file in use.
    std::vector<std::string> search_attempts;  ///< One line per place tried.
};

/// How to link. A plain value.
struct LinkOptions {
    int max_registers = 0;   ///< Per thread; 0 leaves it to the linker.
    bool line_info = false;  ///< -lineinfo: source lines for profilers and sanitizers.
    bool debug = false;      ///< -g: debug information.
    bool verbose = false;    ///< Put the resource report into Image::log.
    std::vector<std::string> extra_flags = {};  ///< nvJitLink's own, e.g. "-Xptxas=-dlcm=cg".
};

/// The device linker. Needs no driver and no GPU.
///
/// The first call that needs nvJitLink searches for it and opens it. If `search.library` or
/// LODE_NVJITLINK is set, only that place is tried; otherwise these are, in order: the given
/// folders, CUDA_HOME and CUDA_PATH, /usr/local/cuda, the loader's path. A failed search isn't
/// repeated. Thread-safe; copies share the opened library.
class Linker {
public:
    /// Opens nothing yet.
    explicit Linker(LinkerSearch search = {});

    /// Properties of nvJitLink; opens it if needed. Errors: not_found lists every place tried.
    [[nodiscard]] Result<LinkerInfo> info() const;

    /// Links images to one cubin for a real target.
    ///
    /// The linker gets an image's PTX if there is one, since PTX works for every target not below
    /// its own, and its cubin otherwise. The result has the machine code, the lowered names and
    /// signatures of all images, the PTX if there is a single image, and the linker's messages in
    /// Image::log, with C++ names after mangled symbols. Errors: link_failed with the linker's text
    /// in Error::log; invalid_argument for a virtual target, for an empty list of images and for an
    /// image without code; not_found without the library.
    [[nodiscard]] Result<Image> link(std::span<const Image> images, const Arch& target,
                                     const LinkOptions& options = {}) const;
    /// Links a single image.
    [[nodiscard]] Result<Image> link(const Image& image, const Arch& target,
                                     const LinkOptions& options = {}) const {
        return link(std::span(&image, 1), target, options);
    }

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace lode
