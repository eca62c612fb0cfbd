"""Conan 2: conan create packaging/conan. CUDA's headers come from CUDA_HOME or /usr/local/cuda."""

import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.gnu import PkgConfigDeps


class Lode(ConanFile):
    name = "lode"
    description = "CUDA source to running kernels at run time"
    license = "Apache-2.0"
    topics = ("cuda", "nvrtc", "ptx", "jit")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tools": [True, False]}
    default_options = {"shared": False, "tools": True}

    def set_version(self):
        header = pathlib.Path(self.recipe_folder, "../../include/lode/base/api.hpp").read_text("utf-8")
        self.version = re.search(r"LODE_VERSION_NUMBERS (\d+), (\d+), (\d+)", header).expand(r"\1.\2.\3")

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "THIRD_PARTY.md", *(
                f"{folder}/*" for folder in ("base", "c", "cmake", "emulator", "include", "jit",
                                             "kernels_src", "packaging", "runtime", "scripts", "tools"))):
            copy(self, pattern, pathlib.Path(self.recipe_folder, "../.."), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("tl-expected/1.1.0", transitive_headers=True)
        self.requires("fmt/9.1.0")
        self.requires("openssl/[>=3.0 <4]")
        self.requires("zstd/[>=1.5 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]", visible=False)
        if self.options.tools:
            self.requires("cli11/[>=2.1 <3]", visible=False)
            self.requires("xbyak/[>=6.68]", visible=False)

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for name in ("LODE_TOOLS", "LODE_EMULATOR"):
            toolchain.cache_variables[name] = bool(self.options.tools)
        for name in ("LODE_TESTS", "LODE_SAMPLES"):
            toolchain.cache_variables[name] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for name in ("LICENSE", "THIRD_PARTY.md"):
            copy(self, name, self.source_folder, pathlib.Path(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # lode has its own package of CMake.
        self.cpp_info.builddirs = ["lib/cmake/lode"]
