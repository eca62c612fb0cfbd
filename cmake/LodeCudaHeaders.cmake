# The CUDA headers that lode's sources need: cuda.h, cudaTypedefs.h, nvrtc.h. No CUDA library is
# linked. Makes the interface target lode_cuda_headers.
include_guard(GLOBAL)

set(LODE_CUDA_INCLUDE_DIR "" CACHE STRING "Folders that hold cuda.h, cudaTypedefs.h and nvrtc.h")

set(_lode_hints ${LODE_CUDA_INCLUDE_DIR})
foreach(root IN ITEMS "${CUDAToolkit_ROOT}" "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda
                      "${PROJECT_SOURCE_DIR}/.deps/cuda")
    if(root)
        list(APPEND _lode_hints "${root}/include")
    endif()
endforeach()

add_library(lode_cuda_headers INTERFACE)
foreach(header IN ITEMS cuda.h cudaTypedefs.h nvrtc.h)
    # Searched on every configure: a cached folder would outlive its toolkit.
    unset(_lode_folder)
    find_path(_lode_folder ${header} HINTS ${_lode_hints} NO_CACHE)
    if(NOT _lode_folder)
        message(FATAL_ERROR "${header} can't be found. Install a CUDA 12 or 13 toolkit, or run "
                            "scripts/bootstrap, which fetches NVIDIA's headers, or set "
                            "LODE_CUDA_INCLUDE_DIR.")
    endif()
    target_include_directories(lode_cuda_headers SYSTEM INTERFACE "${_lode_folder}")
endforeach()
