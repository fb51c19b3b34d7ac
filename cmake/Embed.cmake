# spile_embed(TARGET SYMBOL FILE): puts the bytes of FILE into TARGET, from SYMBOL_begin to SYMBOL_end, aligned to 16 bytes, with
# a zero behind them. A changed FILE is embedded again by the next build. C++ declares the two symbols: SPILE_EMBEDDED_TEXT of
# base/embedded_text.h for text, src/runtime/bitcode.cpp for code.
function(spile_embed target symbol file)
  get_filename_component(file ${file} ABSOLUTE)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded/${symbol}.cpp)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/embedded_file.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file}
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${source})
endfunction()
