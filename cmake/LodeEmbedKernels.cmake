# Embeds kernel sources, and machine code compiled from them, in a program.
include_guard(GLOBAL)

set(_LODE_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/LodeEmbedFiles.cmake")

# lode_embed_kernels(target NAME reduce FILES reduce.cu reduce.cuh … [PRECOMPILE file.cu@sm_90a …])
#
# Embeds the files in `target`. Its sources include <lode_embedded/NAME.hpp> and call
# lode_embedded::NAME(), which returns a std::span<const lode::EmbeddedFile> for
# KernelFamily::files.
#
# PRECOMPILE compiles a source for an architecture with nvcc when the program is built, and embeds
# the result as file.sm_90a.cubin beside the source: a device of that architecture then needs no
# compiler at run time. The variable LODE_PRECOMPILE_KERNELS, a list of NAME:file.cu@sm_90a, adds
# further ones.
function(lode_embed_kernels target)
    cmake_parse_arguments(embed "" "NAME" "FILES;PRECOMPILE" ${ARGN})
    if(NOT embed_NAME MATCHES "^[a-z_][a-z0-9_]*$" OR NOT embed_FILES)
        message(FATAL_ERROR "lode_embed_kernels(${target}): NAME must be an identifier in lower "
                            "case, and FILES must list at least one file.")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/lode_embedded_${target}")
    set(source "${folder}/${embed_NAME}.cpp")
    set(header "${folder}/include/lode_embedded/${embed_NAME}.hpp")

    set(files "")
    foreach(file IN LISTS embed_FILES)
        get_filename_component(file "${file}" ABSOLUTE)
        list(APPEND files "${file}")
    endforeach()
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _lode_require_files [[${embed_NAME}]] [[${files}]])")
    foreach(request IN LISTS LODE_PRECOMPILE_KERNELS)
        if(request MATCHES "^${embed_NAME}:(.+)$")
            list(APPEND embed_PRECOMPILE "${CMAKE_MATCH_1}")
        endif()
    endforeach()
    set(inputs ${files})
    set_property(TARGET ${target} PROPERTY LODE_EMBEDDED_${embed_NAME} ${files})  # For lode_warm.
    foreach(request IN LISTS embed_PRECOMPILE)
        _lode_precompile("${request}" "${folder}" "${inputs}" cubin)
        list(APPEND files "${cubin}")
    endforeach()

    add_custom_command(
        OUTPUT "${source}" "${header}"
        COMMAND ${CMAKE_COMMAND} "-DNAME=${embed_NAME}" "-DSOURCE=${source}" "-DHEADER=${header}"
                "-DFILES=${files}" -P "${_LODE_EMBED_SCRIPT}"
        DEPENDS ${files} "${_LODE_EMBED_SCRIPT}"
        COMMENT "Embedding the files of lode_embedded::${embed_NAME}()"
        VERBATIM)
    target_sources(${target} PRIVATE "${source}" "${header}")
    target_include_directories(${target} PRIVATE "${folder}/include")
endfunction()

# At the end of a folder, when the files that it generates are known.
function(_lode_require_files name files)
    foreach(file IN LISTS files)
        get_source_file_property(is_generated "${file}" GENERATED)
        if(NOT EXISTS "${file}" AND NOT is_generated)
            message(SEND_ERROR "lode_embed_kernels(NAME ${name}): ${file} doesn't exist. "
                               "FILES are relative to the folder of CMakeLists.txt.")
        endif()
    endforeach()
endfunction()

# Compiles "file.cu@sm_90a" to `cubin`; `inputs` are all files of the family.
function(_lode_precompile request folder inputs cubin)
    if(NOT request MATCHES "^(.+)\\.cu@(sm_[0-9]+[af]?)$")
        message(FATAL_ERROR "PRECOMPILE ${request} isn't valid: write file.cu@sm_90a.")
    endif()
    set(stem "${CMAKE_MATCH_1}")
    set(arch "${CMAKE_MATCH_2}")
    find_program(LODE_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin"
                                      /usr/local/cuda/bin)
    if(NOT LODE_NVCC)
        message(FATAL_ERROR "PRECOMPILE ${request} needs nvcc, which can't be found. "
                            "Install it, or set LODE_NVCC to its path.")
    endif()
    get_filename_component(name "${stem}" NAME)
    set(source "")
    foreach(input IN LISTS inputs)
        get_filename_component(input_name "${input}" NAME)
        if(input_name STREQUAL "${name}.cu")
            set(source "${input}")
        endif()
    endforeach()
    if(NOT source)
        message(FATAL_ERROR "PRECOMPILE ${request} names a file that isn't among FILES: "
                            "add ${name}.cu there.")
    endif()
    set(made "${folder}/${name}.${arch}.cubin")
    add_custom_command(
        OUTPUT "${made}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"  # Make creates no folders.
        COMMAND ${LODE_NVCC} -std=c++17 -cubin -arch=${arch} -o "${made}" "${source}"
        DEPENDS ${inputs}
        COMMENT "Compiling ${name}.cu for ${arch}"
        VERBATIM)
    set(${cubin} "${made}" PARENT_SCOPE)
endfunction()
