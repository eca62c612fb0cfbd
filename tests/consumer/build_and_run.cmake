# Configures, builds and runs one host application from scratch.
#
#   cmake -DSOURCE=folder -DBUILD=folder -DGENERATOR=… -DCOMPILER=… -DBUILD_TYPE=…
#         -DEXPECT=regex [-DARGUMENTS=a;b] [-DHIDE_TOOLKIT=ON] -P build_and_run.cmake
#
# The host must succeed and its output must match EXPECT.
# HIDE_TOOLKIT: unsets all variables that name a toolkit, and fails if an include folder in the
# host's compile command holds a cuda.h.

function(step what)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE code)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "${what} fails: ${code}")
    endif()
endfunction()

set(environment ${CMAKE_COMMAND} -E env)
if(HIDE_TOOLKIT)
    foreach(variable IN ITEMS CUDA_HOME CUDA_PATH CUDAToolkit_ROOT CPATH CPLUS_INCLUDE_PATH)
        list(APPEND environment --unset=${variable})
    endforeach()
endif()

file(REMOVE_RECURSE "${BUILD}")
step("Configuring the host"
    ${environment} ${CMAKE_COMMAND} -S "${SOURCE}" -B "${BUILD}" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGUMENTS})
step("Building the host" ${environment} ${CMAKE_COMMAND} --build "${BUILD}")

if(HIDE_TOOLKIT)
    file(READ "${BUILD}/compile_commands.json" commands)
    string(JSON command GET "${commands}" 0 command)
    separate_arguments(arguments UNIX_COMMAND "${command}")
    set(folders 0)
    set(expect_folder FALSE)
    foreach(argument IN LISTS arguments)
        if(argument STREQUAL "-isystem" OR argument STREQUAL "-I")
            set(expect_folder TRUE)
            continue()
        endif()
        if(NOT expect_folder AND NOT argument MATCHES "^-I(.+)$")
            continue()
        endif()
        set(folder "${argument}")
        if(NOT expect_folder)
            set(folder "${CMAKE_MATCH_1}")
        endif()
        set(expect_folder FALSE)
        math(EXPR folders "${folders} + 1")
        if(EXISTS "${folder}/cuda.h")
            message(FATAL_ERROR "The host is compiled with a CUDA include folder: ${folder}")
        endif()
    endforeach()
    if(folders EQUAL 0)
        message(FATAL_ERROR "No include folder found in the host's compile command: ${command}")
    endif()
endif()

execute_process(
    COMMAND ${environment} "${BUILD}/host"
    RESULT_VARIABLE code
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
message("${output}")
if(NOT code EQUAL 0 OR NOT output MATCHES "${EXPECT}")
    message(FATAL_ERROR "The host exits with ${code} and must print '${EXPECT}'.")
endif()
