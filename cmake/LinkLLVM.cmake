# What of LLVM is linked, as the target spile_llvm: the static libraries of those parts that codegen uses. The dynamic
# library has all of LLVM's processors in it, and finding and relocating their symbols takes a quarter of the time in which a
# small script starts.
add_library(spile_llvm INTERFACE)
if(SPILE_SANITIZE)
  # Templates of the standard library are in both: with static libraries the linker would take the uninstrumented ones.
  target_link_libraries(spile_llvm INTERFACE LLVM)
else()
  set(machine ${SPILE_LLVM_${CMAKE_SYSTEM_PROCESSOR}})
  set(components ${machine}codegen ${machine}asmparser ${machine}desc ${machine}info bpfcodegen bpfasmparser bpfdesc bpfinfo passes ipo bitreader bitwriter)
  find_program(SPILE_LLVM_CONFIG llvm-config-19 REQUIRED HINTS ${LLVM_TOOLS_BINARY_DIR})
  execute_process(COMMAND ${SPILE_LLVM_CONFIG} --link-static --libfiles ${components}
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  # The run-time package's file will do: nothing is compiled with zstd's headers.
  find_library(SPILE_ZSTD NAMES zstd libzstd.so.1 REQUIRED)
  target_link_libraries(spile_llvm INTERFACE ${archives} ${SPILE_ZSTD} z)
endif()
