#include "jit/nvrtc/locate.hpp"

#include "base/file.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/unit/jit/support.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using lode::LibraryPlace;
using lode::NvrtcSearchEnvironment;
using std::filesystem::path;

namespace {

/// A scratch folder tree to search.
class Tree {
public:
    Tree() : scratch_(*lode::ScratchFolder::create("lode-locate")) {}

    void file(const path& relative) const {
        std::filesystem::create_directories((root() / relative).parent_path());
        REQUIRE(lode::write_atomic(root() / relative, std::string_view("x")));
    }
    [[nodiscard]] const path& root() const { return scratch_.path(); }
    [[nodiscard]] NvrtcSearchEnvironment environment() const {
        NvrtcSearchEnvironment here;
        here.root = root();
        return here;
    }
    /// The path of `file` relative to the tree.
    [[nodiscard]] std::string relative(const path& file) const {
        const auto text = file.string();
        const auto prefix = root().string() + "/";
        return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
    }
    template <class Paths>
    [[nodiscard]] std::vector<std::string> relative_all(const Paths& paths) const {
        std::vector<std::string> texts;
        texts.reserve(paths.size());
        for (const auto& each : paths)
            texts.push_back(relative(each));
        return texts;
    }

private:
    lode::ScratchFolder scratch_;
};

std::vector<std::string> candidates(const Tree& tree, const NvrtcSearchEnvironment& here) {
    std::vector<path> files;
    for (const auto& place : lode::nvrtc_places(here))
        files.push_back(place.candidate);
    return tree.relative_all(files);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("locate: the places come in the documented order") {
    const Tree tree;
    tree.file("usr/local/cuda-12.4/x");
    tree.file("usr/local/cuda-12.10/x");
    tree.file("usr/local/cuda-13.0/x");
    tree.file("usr/local/cuda-11.8/x");
    tree.file("venv/lib/python3.9/site-packages/x");
    tree.file("venv/lib/python3.11/site-packages/x");
    auto here = tree.environment();
    here.executable_folder = tree.root() / "app";
    here.site_packages = tree.root() / "own";
    here.cuda_home = (tree.root() / "home").string();
    here.cuda_path = (tree.root() / "path").string();
    here.virtual_env = (tree.root() / "venv").string();
    here.conda_prefix = (tree.root() / "conda").string();

    Texts expected;
    const auto folder = [&](const std::string& name) {
        expected.push_back(name + "/libnvrtc.so.13");
        expected.push_back(name + "/libnvrtc.so.12");
    };
    folder("app");
    folder("home/lib64");
    folder("home/lib");
    folder("path/lib64");
    folder("path/lib");
    folder("usr/local/cuda/lib64");
    folder("usr/local/cuda-13.0/lib64");
    folder("usr/local/cuda-12.10/lib64");
    folder("usr/local/cuda-12.4/lib64");
    folder("usr/lib/x86_64-linux-gnu");
    folder("own/nvidia/cu13/lib");
    folder("own/nvidia/cuda_nvrtc/lib");
    folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
    folder("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    folder("venv/lib/python3.9/site-packages/nvidia/cu13/lib");
    folder("venv/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib");
    folder("conda/lib");
    expected.push_back("libnvrtc.so.13");
    expected.push_back("libnvrtc.so.12");
#if defined(__x86_64__)
    CHECK(candidates(tree, here) == expected);
#endif
}

TEST_CASE("locate: libNVVM is searched in toolkits and in the wheels of CUDA 12 and 13") {
    const Tree tree;
    tree.file("venv/lib/python3.11/site-packages/x");
    auto here = tree.environment();
    here.cuda_home = (tree.root() / "home").string();
    here.virtual_env = (tree.root() / "venv").string();
    std::vector<path> files;
    for (const auto& place : lode::nvvm_places(here))
        files.push_back(place.candidate);
    const Texts places = tree.relative_all(files);
    const auto position = [&](std::string_view name) {
        return std::ranges::find(places, name) - places.begin();
    };
    const std::string packages = "venv/lib/python3.11/site-packages/nvidia/";
    const std::ptrdiff_t order[] = {position("home/nvvm/lib64/libnvvm.so.4"),
                                    position("home/lib/libnvvm.so.4"),
                                    position("usr/local/cuda/nvvm/lib64/libnvvm.so.4"),
                                    position(packages + "cu13/lib/libnvvm.so.4"),
                                    position(packages + "cuda_nvcc/nvvm/lib64/libnvvm.so"),
                                    position("libnvvm.so.4"),
                                    static_cast<std::ptrdiff_t>(places.size())};
    CHECK(std::ranges::adjacent_find(order, std::greater_equal<>()) == std::end(order));

    // libdevice is beside it: in a toolkit, in the wheels, in Debian's package.
    for (const auto& [library, libdevice] :
         {std::pair{"t/nvvm/lib64/libnvvm.so.4", "t/nvvm/libdevice/libdevice.10.bc"},
          std::pair{"cu13/lib/libnvvm.so.4", "cu13/nvvm/libdevice/libdevice.10.bc"},
          std::pair{"/usr/lib/x86_64-linux-gnu/libnvvm.so.4",
                    "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"}}) {
        const auto found = lode::libdevice_places(library);
        CHECK(std::ranges::find(found, path(libdevice)) != found.end());
    }
}

TEST_CASE("locate: every place says why it is searched") {
    const Tree tree;
    auto here = tree.environment();
    here.cuda_home = "/opt/cuda";
    const auto places = lode::nvrtc_places(here);
    CHECK(places.front().why == "CUDA_HOME");
    CHECK(places.back().why == "the loader's path");
    CHECK(
        std::ranges::none_of(places, [](const LibraryPlace& place) { return place.why.empty(); }));
}

TEST_CASE("locate: a chosen file or folder is searched alone") {
    const Tree tree;
    tree.file("mine/libnvrtc.so.13");
    auto here = tree.environment();
    here.cuda_home = "/opt/cuda";
    here.chosen_by = "LODE_NVRTC";

    here.chosen = tree.root() / "mine";
    CHECK(candidates(tree, here) ==
          Texts{"mine/libnvrtc.so.13", "mine/libnvrtc.so.12", "mine/libnvrtc.so"});
    CHECK(lode::nvrtc_places(here).front().why == "LODE_NVRTC");

    here.chosen = tree.root() / "mine/libnvrtc.so.13";
    CHECK(candidates(tree, here) == Texts{"mine/libnvrtc.so.13"});

    here.chosen = tree.root() / "absent";
    CHECK(candidates(tree, here) == Texts{"absent"});
}

TEST_CASE("locate: a toolkit's headers are found from its library, libcu++ beside them") {
    const Tree tree;
    tree.file("toolkit/lib64/libnvrtc.so.13");
    tree.file("toolkit/include/cuda_fp16.h");
    tree.file("toolkit/include/crt/host_defines.h");
    tree.file("toolkit/include/cccl/cuda/std/version");
    auto here = tree.environment();
    tree.file("usr/local/cuda/include/cuda_fp16.h");
    CHECK(tree.relative_all(
              lode::toolkit_include_folders(tree.root() / "toolkit/lib64/libnvrtc.so.13", here)) ==
          Texts{"toolkit/include", "toolkit/include/cccl"});
}

TEST_CASE("locate: a toolkit with target folders is recognised") {
    const Tree tree;
#if defined(__aarch64__)
    const std::string folder = "toolkit/targets/sbsa-linux/include";
#else
    const std::string folder = "toolkit/targets/x86_64-linux/include";
#endif
    for (const char* file : {"cuda_fp16.h", "crt/host_defines.h", "cuda/std/version"})
        tree.file(folder + "/" + file);
    CHECK(tree.relative_all(lode::toolkit_include_folders(
              tree.root() / "toolkit/lib64/libnvrtc.so.12", tree.environment())) == Texts{folder});
}

TEST_CASE("locate: the wheels of CUDA 12 and 13 are recognised") {
    const Tree tree;
    const std::string packages = "venv/lib/python3.11/site-packages/nvidia/";
    tree.file(packages + "cuda_nvrtc/include/nvrtc.h");
    tree.file(packages + "cuda_runtime/include/cuda_fp16.h");
    tree.file(packages + "cuda_nvcc/include/crt/host_defines.h");
    tree.file(packages + "cuda_cccl/include/cuda/std/version");
    tree.file(packages + "curand/include/curand_kernel.h");
    tree.file(packages + "cu13/include/cuda_fp16.h");
    tree.file(packages + "cu13/include/crt/host_defines.h");
    tree.file(packages + "cu13/include/cccl/cuda/std/version");
    CHECK(tree.relative_all(lode::toolkit_include_folders(
              tree.root() / packages / "cuda_nvrtc/lib/libnvrtc.so.12", tree.environment())) ==
          Texts{packages + "cuda_runtime/include", packages + "cuda_nvcc/include",
                packages + "cuda_cccl/include", packages + "curand/include"});
    CHECK(tree.relative_all(lode::toolkit_include_folders(
              tree.root() / packages / "cu13/lib/libnvrtc.so.13", tree.environment())) ==
          Texts{packages + "cu13/include", packages + "cu13/include/cccl"});
}

TEST_CASE("locate: a lone library takes its headers from CUDA_HOME, then the standard folders") {
    const Tree tree;
    tree.file("lone/libnvrtc.so.13");
    tree.file("usr/local/cuda/include/cuda_fp16.h");
    tree.file("usr/local/cuda/include/cccl/cuda/std/version");
    auto here = tree.environment();
    const path library = tree.root() / "lone/libnvrtc.so.13";
    CHECK(tree.relative_all(lode::toolkit_include_folders(library, here)) ==
          Texts{"usr/local/cuda/include", "usr/local/cuda/include/cccl"});

    tree.file("home/include/cuda_fp16.h");
    here.cuda_home = (tree.root() / "home").string();
    CHECK(tree.relative_all(lode::toolkit_include_folders(library, here)) ==
          Texts{"home/include", "usr/local/cuda/include/cccl"});
}

TEST_CASE("locate: without headers anywhere there are no folders") {
    const Tree tree;
    CHECK(lode::toolkit_include_folders(tree.root() / "lone/libnvrtc.so.13", tree.environment())
              .empty());
}

TEST_CASE(
    "locate: the cure names what chose a wrong place, or the environments that aren't active") {
    lode::NvrtcSearchEnvironment here;
    const std::string inactive = "neither VIRTUAL_ENV nor CONDA_PREFIX is set";
    CHECK(lode::nvrtc_cure(here).find(inactive) != std::string::npos);
    here.virtual_env = "/env";
    CHECK(lode::nvrtc_cure(here).find(inactive) == std::string::npos);
    CHECK(lode::nvrtc_cure(here).ends_with("set LODE_NVRTC to the library."));
    here.chosen = "/wrong";
    here.chosen_by = "LODE_NVRTC";
    CHECK(lode::nvrtc_cure(here) ==
          "Only LODE_NVRTC is searched: correct it, or unset it to search the usual places.");
}
