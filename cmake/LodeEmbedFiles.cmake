# Writes SOURCE and HEADER for lode_embed_kernels: FILES as byte arrays with their names.
set(arrays "")
set(rows "")
set(index 0)
foreach(file IN LISTS FILES)
    file(READ "${file}" digits HEX)
    file(SIZE "${file}" size)
    get_filename_component(name "${file}" NAME)
    string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${digits}")
    # String literals of eight bytes each: compilers read them faster than lists of numbers.
    string(REGEX REPLACE "((\\\\x..)(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?)"
                         "    \"\\1\"\n" lines "${bytes}")
    string(APPEND arrays "alignas(16) constexpr char ${NAME}_${index}[] =\n${lines}    \"\";\n")
    string(APPEND rows "    {\"${name}\", {${NAME}_${index}, ${size}}},\n")
    math(EXPR index "${index} + 1")
endforeach()

file(WRITE "${HEADER}.new" "// Made by lode_embed_kernels.
#pragma once

#include <lode/runtime/embedded_file.hpp>

#include <span>

namespace lode_embedded {

std::span<const lode::EmbeddedFile> ${NAME}() noexcept;

}  // namespace lode_embedded
")
file(WRITE "${SOURCE}.new" "// Made by lode_embed_kernels.
#include <lode_embedded/${NAME}.hpp>

namespace lode_embedded {
namespace {

${arrays}
constexpr lode::EmbeddedFile ${NAME}_files[] = {
${rows}};

}  // namespace

std::span<const lode::EmbeddedFile> ${NAME}() noexcept {
    return ${NAME}_files;
}

}  // namespace lode_embedded
")
file(RENAME "${HEADER}.new" "${HEADER}")
file(RENAME "${SOURCE}.new" "${SOURCE}")
