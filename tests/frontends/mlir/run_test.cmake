# Runs a real mlir-opt with the pass. Variables: OPT, PLUGIN, INPUT, OPTIONS of berth-place, PASSES after
# it, STATUS, PRELOAD: a library that the pass needs to be there first, and EXPECT: expressions that its
# output must match, or must not where they begin with "!", separated by "|||".
if(PRELOAD)
  set(ENV{LD_PRELOAD} ${PRELOAD})
  set(ENV{ASAN_OPTIONS} detect_leaks=0)  # mlir-opt's own
endif()
execute_process(
  COMMAND ${OPT} --load-pass-plugin=${PLUGIN} --allow-unregistered-dialect
          "--pass-pipeline=builtin.module(berth-place{${OPTIONS}}${PASSES})" ${INPUT}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE messages)
if(NOT status EQUAL "${STATUS}")
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}\n${output}\n${messages}")
endif()
string(REPLACE "|||" ";" expected "${EXPECT}")
foreach(expression IN LISTS expected)
  if(expression MATCHES "^!(.*)")
    if("${output}${messages}" MATCHES "${CMAKE_MATCH_1}")
      message(FATAL_ERROR "the output has '${CMAKE_MATCH_1}'\n${output}\n${messages}")
    endif()
  elseif(NOT "${output}${messages}" MATCHES "${expression}")
    message(FATAL_ERROR "the output lacks '${expression}'\n${output}\n${messages}")
  endif()
endforeach()
