# The architecture, enforced: which folder of src/ may include which. One folder is one static library
# spile::NAME and one test binary NAME_test made of the *_test.cpp beside the sources.

set(SPILE_FOLDERS base abi regex syntax sema debuginfo kernelinfo probes runtime codegen engine bpf
  runs session verbs editor libspile cli)

set(SPILE_MAY_USE_base abi)
set(SPILE_MAY_USE_abi)
set(SPILE_MAY_USE_regex)
set(SPILE_MAY_USE_syntax base)
set(SPILE_MAY_USE_sema base abi syntax regex)
set(SPILE_MAY_USE_debuginfo base abi)
set(SPILE_MAY_USE_kernelinfo base abi debuginfo)
set(SPILE_MAY_USE_probes base abi syntax sema debuginfo kernelinfo)
set(SPILE_MAY_USE_runtime abi regex)
set(SPILE_MAY_USE_codegen base abi regex syntax sema)
set(SPILE_MAY_USE_engine base abi)
set(SPILE_MAY_USE_bpf base abi)
set(SPILE_MAY_USE_runs base abi syntax runtime)
set(SPILE_MAY_USE_session base abi syntax sema debuginfo kernelinfo probes runtime codegen engine bpf runs)
set(SPILE_MAY_USE_editor base syntax sema probes session)
set(SPILE_MAY_USE_verbs base syntax debuginfo kernelinfo probes engine runs session)
set(SPILE_MAY_USE_libspile base runs)
set(SPILE_MAY_USE_cli base runs session verbs editor)

# The rooms of a folder: each uses only those named before it, all but the first may be used by the files of the folder itself,
# and the folder's main header, its API, uses the first alone. "." stands for the folder's own files, where rooms use them.
set(SPILE_ROOMS_base . text files processes)
set(SPILE_ROOMS_debuginfo terms cache files elf conventions dwarf answers)
set(SPILE_ROOMS_sema terms targets names types sharing)
set(SPILE_ROOMS_verbs terms tables calls asking tasks tracing)
set(SPILE_ROOMS_codegen terms module machine bodies lowering process kernel ebpf)
set(SPILE_ROOMS_probes terms world values process kernel script binding)
set(SPILE_ROOMS_engine terms arch process trace space patch change calls share)
set(SPILE_ROOMS_runs text stacks timeline run send)
set(SPILE_ROOMS_session terms invocation arena scripts serve stacks output places live bundle)

# Processors that have files of their own, in folders of their name (engine/arch/x86_64, codegen/machine/x86_64): of these
# folders, a build compiles that of its own processor. SPILE_LLVM_NAME is LLVM's name of a processor. src/engine/arch/README.md
# says what a new one needs.
set(SPILE_MACHINES x86_64)
set(SPILE_LLVM_x86_64 x86)

add_custom_target(unit_tests)
# Of the folders whose code runs in several threads at once: what ThreadSanitizer can find something in.
add_custom_target(unit_tests_of_threads)

# spile_folder(LIBS lib...)          declares the folder's library from all its *.cpp, recursively.
#   LIBS          third-party libraries, private to the folder
#   TEST_LIBS     more for its test binary
#   PRECOMPILED   headers of src/ that most of its files include, to be precompiled with those of Toolchain.cmake
#   COLD          no figure of ./dev bench depends on how its code is optimized: -O1, which takes a fifth less of the compiler
#   THREADS       its code runs in several threads at once: its tests have the label "threads", and run under ThreadSanitizer
function(spile_folder)
  cmake_parse_arguments(ARG "THREADS;COLD" "" "LIBS;TEST_LIBS;EXCLUDE;PRECOMPILED" ${ARGN})
  get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  foreach(machine IN LISTS SPILE_MACHINES)
    if(NOT machine STREQUAL CMAKE_SYSTEM_PROCESSOR)
      list(FILTER all EXCLUDE REGEX "/${machine}/")
    endif()
  endforeach()
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER all EXCLUDE REGEX ${pattern})
  endforeach()
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(compiled ${sources})
  list(FILTER compiled INCLUDE REGEX "\\.cpp$")

  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/includes.checked)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${name} "-DMAY_USE=${SPILE_MAY_USE_${name}}" "-DFOLDERS=${SPILE_FOLDERS}" "-DROOMS=${SPILE_ROOMS_${name}}"
            -DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${all} ${CMAKE_SOURCE_DIR}/cmake/Layers.cmake ${CMAKE_SOURCE_DIR}/cmake/check_includes.cmake
    COMMENT "Checking the includes of ${name}" VERBATIM)
  add_custom_target(spile_${name}_includes DEPENDS ${stamp})

  set(uses)
  foreach(used IN LISTS SPILE_MAY_USE_${name})
    list(APPEND uses spile::${used})
  endforeach()
  if(compiled)
    add_library(spile_${name} STATIC ${sources})
    target_link_libraries(spile_${name} PUBLIC spile_flags ${uses} PRIVATE ${ARG_LIBS})
    if(ARG_COLD)
      target_compile_options(spile_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    # Who doesn't link fmt is small.
    if(ARG_PRECOMPILED)
      list(TRANSFORM ARG_PRECOMPILED REPLACE "(.+)" "<\\1>")
      target_precompile_headers(spile_${name} PRIVATE ${SPILE_PRECOMPILED} ${ARG_PRECOMPILED})
    elseif("fmt::fmt" IN_LIST ARG_LIBS)
      target_precompile_headers(spile_${name} REUSE_FROM spile_precompiled)
    endif()
  else()
    add_library(spile_${name} INTERFACE)
    target_link_libraries(spile_${name} INTERFACE spile_flags ${uses})
  endif()
  add_library(spile::${name} ALIAS spile_${name})
  add_dependencies(spile_${name} spile_${name}_includes)

  if(tests AND BUILD_TESTING)
    add_executable(${name}_test EXCLUDE_FROM_ALL ${tests})
    target_link_libraries(${name}_test PRIVATE spile::${name} ${ARG_LIBS} ${ARG_TEST_LIBS} fmt::fmt GTest::gmock GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE ${SPILE_TEST_FLAGS})
    target_precompile_headers(${name}_test REUSE_FROM spile_precompiled_tests)
    add_test(NAME unit.${name} COMMAND ${name}_test)
    set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300)
    add_dependencies(unit_tests ${name}_test)
    if(ARG_THREADS)
      set_property(TEST unit.${name} APPEND PROPERTY LABELS threads)
      add_dependencies(unit_tests_of_threads ${name}_test)
    endif()
  endif()
endfunction()
