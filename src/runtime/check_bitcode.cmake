# Compiles the runtime of processes's bitcode as codegen does and refuses what must not run inside a traced program: vector, x87
# or indirect-jump instructions, writable data, absolute relocations, symbols from elsewhere.
#   -DCLANG= -DOBJDUMP= -DBITCODE= -DWORK=
set(object ${WORK}/process_check.o)
execute_process(COMMAND ${CLANG} -O2 -fPIC -mcmodel=small -mgeneral-regs-only -x ir -c ${BITCODE} -o ${object}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object} OUTPUT_VARIABLE code COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJDUMP} -r ${object} OUTPUT_VARIABLE relocations COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJDUMP} -h ${object} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJDUMP} -t ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)

function(refuse what text pattern)
  string(REGEX MATCHALL "[^\n]*(${pattern})[^\n]*" found "${text}")
  if(found)
    list(SUBLIST found 0 5 found)
    list(JOIN found "\n" lines)
    message(SEND_ERROR "The runtime of processes has ${what}:\n${lines}")
  endif()
endfunction()
string(REPLACE ";" "," code "${code}")
refuse("vector or x87 instructions" "${code}" "%[xyz]mm[0-9]|%st|%k[0-7]|%mm[0-7]")
# make_room's call of the controller's drain is the only indirect call; handlers of targets fold it away.
refuse("indirect jumps" "${code}" "jmpq?[ \t]+\\*")
refuse("writable data" "${sections}" " [.](data|bss|init_array|fini_array|tbss|tdata)")
refuse("absolute relocations" "${relocations}" "R_X86_64_(64|32|32S|16|8)[ \t]")
string(REGEX REPLACE "[^\n]*UND[^\n]* spile_[a-z_]+\n" "" symbols "${symbols}")
refuse("symbols from elsewhere" "${symbols}" "UND[*]")
if(NOT code MATCHES "<spile_rt_enter>" OR NOT sections MATCHES "[.]spile[.]fixups")
  message(SEND_ERROR "The runtime of processes lacks spile_rt_enter or its fix-ups: nothing was checked")
endif()
