# Checks one compile-fail pair:
# cmake -DCASE=file -DCOMPILER=… -DFLAGS=a;b -DINCLUDE_FOLDERS=a;b -P check_pair.cmake

file(STRINGS "${CASE}" expectation REGEX "^// expect: ")
string(REGEX REPLACE "^// expect: " "" expectation "${expectation}")
if(expectation STREQUAL "")
    message(FATAL_ERROR "${CASE} has no line '// expect: text'.")
endif()

set(command "${COMPILER}" ${FLAGS} -fsyntax-only)
foreach(folder IN LISTS INCLUDE_FOLDERS)
    if(NOT folder STREQUAL "" AND NOT folder STREQUAL "/usr/include")
        list(APPEND command "-I${folder}")
    endif()
endforeach()

execute_process(
    COMMAND ${command} "${CASE}"
    RESULT_VARIABLE good_code
    ERROR_VARIABLE good_text)
if(NOT good_code EQUAL 0)
    message(FATAL_ERROR "The good half of ${CASE} doesn't compile:\n${good_text}")
endif()

set(ENV{LC_ALL} C)
execute_process(
    COMMAND ${command} -DLODE_BAD "${CASE}"
    RESULT_VARIABLE bad_code
    ERROR_VARIABLE bad_text)
if(bad_code EQUAL 0)
    message(FATAL_ERROR "The bad half of ${CASE} compiles.")
endif()
string(FIND "${bad_text}" "${expectation}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "The bad half of ${CASE} fails without '${expectation}':\n${bad_text}")
endif()
