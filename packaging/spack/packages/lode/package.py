"""spack repo add packaging/spack && spack dev-build lode@0.3.0, in lode's repository."""

from spack.package import *


class Lode(CMakePackage):
    """CUDA source to running kernels at run time."""

    license("Apache-2.0")

    version("0.3.0")

    variant("shared", default=True, description="Build liblode.so in place of static libraries")
    variant("tools", default=True, description="Build the command, the worker and the software device")

    requires("platform=linux target=x86_64:")
    conflicts("%gcc@:10", msg="lode needs GCC 11 or newer.")
    conflicts("%clang@:13", msg="lode needs Clang 14 or newer.")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.24:", type="build")
    depends_on("cuda@12:", type=("build", "run"))  # Its headers; NVRTC when programs run.
    depends_on("fmt@9")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("openssl@3:")
    depends_on("tl-expected@1:")
    depends_on("zstd@1.5:")
    depends_on("cli11@2.1:", type="build", when="+tools")

    def cmake_args(self):
        return [
            self.define("CMAKE_UNITY_BUILD", True),
            self.define("CMAKE_UNITY_BUILD_BATCH_SIZE", 64),
            self.define("LODE_CUDA_INCLUDE_DIR", self.spec["cuda"].prefix.include),
            self.define("LODE_SAMPLES", False),
            self.define("LODE_TESTS", False),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("LODE_EMULATOR", "tools"),
            self.define_from_variant("LODE_TOOLS", "tools"),
        ]
