# What `cmake --install` puts where beside the program itself, and the Debian package made from the same (./dev package).
install(FILES docs/man/spile.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES tools/completion/spile DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES tools/completion/_spile DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES tools/completion/spile.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES tools/systemd/spile@.service DESTINATION lib/systemd/system)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "man" EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.stp" PATTERN "README.md")
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

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "The spile authors <spile@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libdebuginfod1)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS librdkafka1)  # for --kafka
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Probes running programs and kernels with scripts
 spile taps running Linux programs and kernels: probe scripts in the SystemTap
 language are compiled in milliseconds, armed in live processes without a
 rebuild, a restart or root, and cost nanoseconds a hit.")
include(CPack)
