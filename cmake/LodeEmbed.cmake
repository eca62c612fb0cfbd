# Embeds texts in C++ as tables of (name, text).
include_guard(GLOBAL)

# lode_embed_texts(OUT out.cpp TEMPLATE in.cpp.in NAMES a b … FILES a.txt b.txt …)
#
# Writes OUT from TEMPLATE, where @LODE_EMBEDDED_ROWS@ becomes one row {"name", R"…(text)…"} for
# each name and its file, in order. Runs at configure time, and again when a file changes.
function(lode_embed_texts)
    cmake_parse_arguments(embed "" "OUT;TEMPLATE" "NAMES;FILES" ${ARGN})
    set(LODE_EMBEDDED_ROWS "")
    foreach(name file IN ZIP_LISTS embed_NAMES embed_FILES)
        file(READ "${file}" text)
        string(APPEND LODE_EMBEDDED_ROWS "    {\"${name}\", R\"lode_text(${text})lode_text\"},\n")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    endforeach()
    configure_file("${embed_TEMPLATE}" "${embed_OUT}" @ONLY)
endfunction()
