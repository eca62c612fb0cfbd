# Compiles the kernels of a program when it is built, into packs to ship with it.
include_guard(GLOBAL)

set(_LODE_WARM_FOLDER "${CMAKE_CURRENT_LIST_DIR}")

# lode_warm(target [SOURCES a.cu b.cu …] [EMBEDDED kernels …] ARCHITECTURES sm_90 sm_120a …
#           [OPTIONS -Iinclude -DN=4 …] [KERNELS saxpy "scale<float>" …] [PACK app.pack])
#
# Writes a manifest of these sources, and adds the target `<target>_warm`, which compiles what is
# missing with `lode warm`: into the user's cache, or with PACK into one pack for each architecture,
# app.sm_90.pack and so on. The packs are the property LODE_PACKS of the target, for install(FILES).
#
# The program finds the code if it loads the same sources with the same options. SOURCES are files
# that it loads. EMBEDDED are names that lode_embed_kernels has given in `target` before: their .cu
# files, each with their .cuh files as CompileOptions::headers; an -I ties these to the working
# folder. KERNELS are the names that it loads from each of them; they matter for templates, whose
# instances are compiled only if they are named. Sources with other templates, options or
# architectures have a call, and a PACK, of their own. For what it holds in another way, and rows with definitions, record its
# requests with LODE_RECORD instead.
#
# LODE_COMMAND is the `lode` to run.
function(lode_warm target)
    cmake_parse_arguments(warm "" "PACK" "SOURCES;EMBEDDED;ARCHITECTURES;OPTIONS;KERNELS" ${ARGN})
    if(warm_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "lode_warm(${target}) doesn't know ${warm_UNPARSED_ARGUMENTS}: use "
                            "SOURCES, EMBEDDED, ARCHITECTURES, OPTIONS, KERNELS and PACK.")
    endif()
    if(NOT (warm_SOURCES OR warm_EMBEDDED) OR NOT warm_ARCHITECTURES)
        message(FATAL_ERROR "lode_warm(${target}): SOURCES or EMBEDDED, and ARCHITECTURES, must list "
                            "at least one item.")
    endif()
    if(TARGET lode_command)
        set(command $<TARGET_FILE:lode_command>)
    else()
        find_program(LODE_COMMAND lode HINTS "${_LODE_WARM_FOLDER}/../../../bin"
                                             "${_LODE_WARM_FOLDER}/../../../../bin")
        if(NOT LODE_COMMAND)
            message(FATAL_ERROR "lode_warm(${target}) needs the command lode, which can't be found. "
                                "Install lode's tools beside the library, or set LODE_COMMAND.")
        endif()
        set(command "${LODE_COMMAND}")
    endif()

    _lode_json_list(archs ${warm_ARCHITECTURES})
    _lode_json_list(flags ${warm_OPTIONS})
    _lode_json_list(kernels ${warm_KERNELS})
    set(rest ", \"arch\": ${archs}, \"flags\": ${flags}, \"kernels\": ${kernels}}")
    set(requests "")
    foreach(source IN LISTS warm_SOURCES)
        get_filename_component(source "${source}" ABSOLUTE)
        _lode_json_text(file "${source}")
        string(APPEND requests ",\n  {\"file\": ${file}${rest}")
    endforeach()
    foreach(name IN LISTS warm_EMBEDDED)
        get_target_property(files ${target} LODE_EMBEDDED_${name})
        if(NOT files)
            message(FATAL_ERROR "lode_warm(${target}): EMBEDDED names ${name}, but there is no "
                                "lode_embed_kernels(${target} NAME ${name} …) before it.")
        endif()
        set(headers ${files})
        list(FILTER headers INCLUDE REGEX "\\.cuh$")
        _lode_json_list(headers ${headers})
        list(FILTER files INCLUDE REGEX "\\.cu$")
        foreach(source IN LISTS files)
            _lode_json_text(file "${source}")
            string(APPEND requests ",\n  {\"file\": ${file}, \"embedded\": ${headers}${rest}")
        endforeach()
    endforeach()
    string(SUBSTRING "${requests}" 2 -1 requests)
    _lode_json_text(folder "${CMAKE_CURRENT_SOURCE_DIR}")
    get_property(calls TARGET ${target} PROPERTY _LODE_WARM_CALLS)
    list(LENGTH calls number)
    set(warmed ${target}_warm_${number})
    set_property(TARGET ${target} APPEND PROPERTY _LODE_WARM_CALLS ${warmed})
    set(manifest "${CMAKE_CURRENT_BINARY_DIR}/${warmed}.json")
    file(GENERATE OUTPUT "${manifest}"
         CONTENT "{\"manifest\": 1, \"folder\": ${folder}, \"requests\": [\n${requests}\n]}\n")

    set(call ${command} warm "${manifest}")
    set(packs "")
    if(warm_PACK)
        get_filename_component(pack "${warm_PACK}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
        cmake_path(REPLACE_EXTENSION pack LAST_ONLY "" OUTPUT_VARIABLE stem)
        cmake_path(GET pack EXTENSION LAST_ONLY extension)
        if(NOT extension)
            set(extension .pack)
        endif()
        foreach(arch IN LISTS warm_ARCHITECTURES)
            if(NOT arch STREQUAL "native")
                list(APPEND packs "${stem}.${arch}${extension}")
            endif()
        endforeach()
        get_property(earlier TARGET ${target} PROPERTY LODE_PACKS)
        foreach(file IN LISTS packs)
            if(file IN_LIST earlier)
                message(FATAL_ERROR "lode_warm(${target}): an earlier call makes ${file}, too. Give "
                                    "each call a PACK of its own.")
            endif()
        endforeach()
        cmake_path(GET pack PARENT_PATH pack_folder)
        file(MAKE_DIRECTORY "${pack_folder}")
        # What is compiled for the packs doesn't belong into the user's cache.
        set(call ${CMAKE_COMMAND} -E env LODE_CACHE=on
                 "LODE_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/lode_cache" ${call} --pack "${pack}")
        set_property(TARGET ${target} APPEND PROPERTY LODE_PACKS ${packs})
    endif()
    # Whether a header has changed is for lode to decide, so it runs each time.
    add_custom_target(
        ${warmed}
        COMMAND ${call}
        BYPRODUCTS ${packs}
        COMMENT "Compiling the kernels of ${target}"
        VERBATIM)
    if(number EQUAL 0)
        add_custom_target(${target}_warm)
    endif()
    add_dependencies(${target}_warm ${warmed})
endfunction()

# Makes a text of JSON.
function(_lode_json_text variable text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    set(${variable} "\"${text}\"" PARENT_SCOPE)
endfunction()

# Makes a list of JSON texts.
function(_lode_json_list variable)
    set(list "")
    foreach(item IN LISTS ARGN)
        _lode_json_text(text "${item}")
        list(APPEND list "${text}")
    endforeach()
    list(JOIN list ", " list)
    set(${variable} "[${list}]" PARENT_SCOPE)
endfunction()
