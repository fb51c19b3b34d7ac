# What `cmake --install` puts where beside the program itself, and the Debian package made from the same (./dev package).
install(FILES docs/man/spile.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/completion/spile DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/completion/_spile DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES tools/completion/spile.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES tools/systemd/spile@.service DESTINATION lib/systemd/system)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "man" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.stp" PATTERN "*.yaml" PATTERN "README.md")
install(DIRECTORY tapset DESTINATION ${CMAKE_INSTALL_DATADIR}/spile FILES_MATCHING PATTERN "*.stp" PATTERN "*.stpm")

# A manual page for every function of the library, out of the comments in tapset/.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE tapsets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tapset/*.stp ${CMAKE_SOURCE_DIR}/tapset/*.stpm)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/library_manual.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/man3
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/document_library.py man ${CMAKE_SOURCE_DIR}/tapset
          ${CMAKE_BINARY_DIR}/man3
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/library_manual.stamp
  DEPENDS ${tapsets} ${CMAKE_SOURCE_DIR}/tools/document_library.py
  COMMENT "Writing the manual pages of the library" VERBATIM)
add_custom_target(library_manual ALL DEPENDS ${CMAKE_BINARY_DIR}/library_manual.stamp)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

# A manual page for every verb, out of docs/verbs.md and the verb's --help.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/verbs_manual.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/man1
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/document_verbs.py $<TARGET_FILE:spile> ${CMAKE_SOURCE_DIR}/docs/verbs.md ${CMAKE_BINARY_DIR}/man1
  COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/verbs_manual.stamp
  DEPENDS spile ${CMAKE_SOURCE_DIR}/docs/verbs.md ${CMAKE_SOURCE_DIR}/tools/document_verbs.py
  COMMENT "Writing the manual pages of verbs" VERBATIM)
add_custom_target(verbs_manual ALL DEPENDS ${CMAKE_BINARY_DIR}/verbs_manual.stamp)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "The spile authors <spile@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "libdebuginfod1, libisal2")
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_SUGGESTS "librdkafka1, libcurl4")  # for --kafka and --otlp
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_UNSPECIFIED_DESCRIPTION "Probes running programs and kernels with scripts
 spile taps running Linux programs and kernels: probe scripts in the SystemTap
 language are compiled in milliseconds, armed in live processes without a
 rebuild, a restart or root, and cost nanoseconds a hit.")

# Four packages: all that has no component is the program's; those of the library are in src/libspile/CMakeLists.txt. A library
# and its headers and module are of one version.
install(FILES examples/library/count.c examples/library/latency.cpp examples/library/CMakeLists.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libspile-dev/examples COMPONENT libspile-dev)
install(FILES docs/man/libspile.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT libspile-dev)
install(FILES examples/library/watch.py DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-spile/examples COMPONENT python3-spile)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
foreach(package libspile0 libspile-dev python3-spile)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${package})
endforeach()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # else the first line of all descriptions
set(CPACK_COMPONENTS_ALL Unspecified libspile0 libspile-dev python3-spile)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME spile)
set(CPACK_DEBIAN_LIBSPILE0_PACKAGE_NAME libspile0)
set(CPACK_DEBIAN_LIBSPILE0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBSPILE0_PACKAGE_DEPENDS "spile (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBSPILE0_DESCRIPTION "Library that runs probe scripts of spile
 libspile starts spile for a script, and hands over what its handlers print,
 its globals and its errors, to programs in C and C++.")
set(CPACK_DEBIAN_LIBSPILE-DEV_PACKAGE_NAME libspile-dev)
set(CPACK_DEBIAN_LIBSPILE-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBSPILE-DEV_PACKAGE_DEPENDS "libspile0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBSPILE-DEV_DESCRIPTION "Headers of libspile, for C and C++20
 spile.h, spile.hpp, and files for pkg-config and CMake.")
set(CPACK_DEBIAN_PYTHON3-SPILE_PACKAGE_NAME python3-spile)
set(CPACK_DEBIAN_PYTHON3-SPILE_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-SPILE_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-SPILE_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-SPILE_PACKAGE_DEPENDS "python3, libspile0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON3-SPILE_DESCRIPTION "Python module that runs probe scripts of spile
 Events as an iterator, globals as dicts, errors as exceptions.")
# ldconfig(8) runs when the library comes and goes.
set(CPACK_DEBIAN_LIBSPILE0_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/debian/triggers)
include(CPack)
