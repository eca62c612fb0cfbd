# Run by cpack when each package's files lie in a folder of their own: adds what Debian's policy asks
# for. The same files by `cmake --install`, as in the wheel, go without.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, if it is set.
set(source "${CPACK_LODE_SOURCE_DIR}")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} name)
    set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    set(share "${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
    set(changelog "${share}/doc/${package}/changelog")
    file(WRITE "${changelog}"
         "lode (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
         "  * CHANGELOG.md in lode's repository says what is new.\n\n"
         " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    file(COPY "${source}/packaging/debian/copyright" "${source}/THIRD_PARTY.md"
         DESTINATION "${share}/doc/${package}")
    set(overrides "")
    foreach(file IN ITEMS every ${component})
        if(EXISTS "${source}/packaging/debian/${file}.lintian-overrides")
            file(READ "${source}/packaging/debian/${file}.lintian-overrides" text)
            string(APPEND overrides "${text}")
        endif()
    endforeach()
    file(WRITE "${share}/lintian/overrides/${package}" "${overrides}")
    file(GLOB pages "${share}/man/man1/*.1")
    execute_process(COMMAND gzip -9n "${changelog}" ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
