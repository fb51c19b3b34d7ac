# What every target is compiled with, as interface targets; nothing global but the language level.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(SPILE_CCACHE ccache)
if(SPILE_CCACHE)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/cached_compiler.in ${CMAKE_BINARY_DIR}/cached_compiler @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_BINARY_DIR}/cached_compiler)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_BINARY_DIR}/cached_compiler)
endif()

find_program(SPILE_CLANG clang-19 REQUIRED)        # compiles the runtime to bitcode
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(PROTOZERO_INCLUDE protozero/pbf_builder.hpp REQUIRED)  # headers alone
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
endif()
pkg_check_modules(elfutils REQUIRED IMPORTED_TARGET libdw libelf)
pkg_check_modules(liblzma REQUIRED IMPORTED_TARGET liblzma)
find_path(CURL_INCLUDE curl/curl.h REQUIRED)       # headers alone: it is loaded when --otlp is given
find_path(ISAL_INCLUDE isa-l/igzip_lib.h REQUIRED)  # headers alone: it is loaded when it is needed
pkg_check_modules(fuse3 REQUIRED IMPORTED_TARGET fuse3)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(libbpf REQUIRED IMPORTED_TARGET libbpf)
find_package(Zydis QUIET)
if(NOT TARGET Zydis::Zydis)
  find_library(ZYDIS_LIBRARY Zydis REQUIRED)
  add_library(Zydis::Zydis UNKNOWN IMPORTED)
  set_target_properties(Zydis::Zydis PROPERTIES IMPORTED_LOCATION ${ZYDIS_LIBRARY})
endif()
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
include(LinkLLVM)

add_library(spile_flags INTERFACE)
# libstdc++ 12's std::stable_sort uses a function that it deprecates itself.
target_compile_options(spile_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-deprecated-declarations
  $<$<CONFIG:Release>:-g1> -fno-omit-frame-pointer)
target_link_options(spile_flags INTERFACE -fuse-ld=lld $<$<CONFIG:Release>:-Wl,--gc-sections,-z,nostart-stop-gc>)
target_include_directories(spile_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)

# Without its time stamp in it, the same headers give the same precompiled file, and ccache what was compiled with it.
target_compile_options(spile_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")

set(SPILE_SANITIZE "" CACHE STRING "Sanitizers for every target, such as address,undefined or thread")
if(SPILE_SANITIZE)
  # -O1 for libraries: sanitized code without any optimization takes minutes where this takes seconds; of tests, it is the
  # compilation that takes long. -g1: a report needs functions and lines alone. A null pointer ends the program under
  # AddressSanitizer, too, and it knows the sizes of objects: UndefinedBehaviorSanitizer's checks of these, and of the dynamic
  # type at each call, are a third of the compilation.
  target_compile_options(spile_flags INTERFACE $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,-O0,-O1> -g1 -fsanitize=${SPILE_SANITIZE} -fno-sanitize-recover=all
    -fno-sanitize=null,object-size,vptr)
  target_link_options(spile_flags INTERFACE -fsanitize=${SPILE_SANITIZE})
endif()

# Nearly all of the time to compile a file goes into the headers of the standard library, fmt and GoogleTest: they
# are precompiled once for all folders' libraries and once for all their tests.
set(SPILE_PRECOMPILED <algorithm> <array> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <optional>
  <set> <span> <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
# Nobody waits for a test's own code, but everybody for its compilation.
set(SPILE_TEST_FLAGS $<$<CONFIG:Release>:-O0>)
file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp "")
add_library(spile_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
target_link_libraries(spile_precompiled PRIVATE spile_flags fmt::fmt)
target_precompile_headers(spile_precompiled PRIVATE ${SPILE_PRECOMPILED})
if(BUILD_TESTING)
  add_executable(spile_precompiled_tests EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_compile_options(spile_precompiled_tests PRIVATE ${SPILE_TEST_FLAGS})
  target_link_libraries(spile_precompiled_tests PRIVATE spile_flags fmt::fmt GTest::gmock GTest::gtest_main)
  target_precompile_headers(spile_precompiled_tests PRIVATE ${SPILE_PRECOMPILED} <gtest/gtest.h> <gmock/gmock.h>)
endif()
