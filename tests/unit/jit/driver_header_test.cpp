#include "jit/nvrtc/driver_header.hpp"

#include <doctest/doctest.h>

using lode::text_for_kernels;

TEST_CASE("driver header: the functions of cuda.h become device functions, on the same lines") {
    const char* text =
        "#ifdef _WIN32\n#define CUDAAPI __stdcall\n#else\n#define CUDAAPI\n#endif\n"
        "int CUDAAPI cuInit(unsigned flags);\n";
    const auto changed = text_for_kernels("/usr/local/cuda/include/cuda.h", text);
    REQUIRE(changed);
    CHECK(*changed ==
          "#ifdef _WIN32\n#define CUDAAPI __stdcall\n#else\n#define CUDAAPI __device__\n#endif\n"
          "int CUDAAPI cuInit(unsigned flags);\n");
    CHECK(text_for_kernels("cuda.h", text));
}

TEST_CASE("driver header: other files, and a cuda.h that isn't the driver's, stay as they are") {
    CHECK_FALSE(text_for_kernels("/include/mycuda.h", "\n#define CUDAAPI\n"));
    CHECK_FALSE(text_for_kernels("/include/cuda.hpp", "\n#define CUDAAPI\n"));
    CHECK_FALSE(text_for_kernels("/include/cuda.h", "#pragma once\nint x;\n"));
}
