# Variables: see CMakeLists.txt beside this file.
set(work ${BUILD_DIR}/tests/installed)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

# run(<what is expected in its output> COMMAND ...): fails with all output where the command does.
function(run expected)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  string(JOIN " " line ${ARGN})
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "exit status ${result}: ${line}\n${output}")
  endif()
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "the output lacks '${expected}': ${line}\n${output}")
  endif()
  message(STATUS "${line}")
endfunction()

function(build_example name)
  run("" ${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/${name} -B ${work}/${name} -G ${GENERATOR}
      -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
      -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_CXX_FLAGS=${CXX_FLAGS})
  run("" ${CMAKE_COMMAND} --build ${work}/${name})
endfunction()

run("" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

build_example(embed)
run("join +-> .*topo: .* us a step" ${work}/embed/compiler_pass)
run("a1 +-> " ${work}/embed/compiler_pass single)

build_example(policy)
set(ENV{BERTH_PLUGIN_PATH} ${work}/policy)
run("a2 +-> .*first_fit: " ${work}/embed/compiler_pass first_fit)

# The C ABI: found by a range and a component, by pkg-config, and from Python where that has NumPy.
build_example(c)
run("join +-> .*one step: " ${work}/c/place)
find_program(pkg_config NAMES pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig)
  execute_process(COMMAND ${pkg_config} --cflags --libs berth_c OUTPUT_VARIABLE flags
                  RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed OR NOT flags MATCHES "-lberth_c")
    message(FATAL_ERROR "pkg-config does not know berth_c: ${flags}")
  endif()
endif()
find_program(python NAMES python3)
if(python)
  execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    run("ops per device: " ${python} ${SOURCE_DIR}/examples/python/place.py
        ${prefix}/lib/libberth_c.so 1000 single)
  endif()
endif()

if(EXISTS ${prefix}/bin/berth)
  run("fill" ${prefix}/bin/berth plugins first_fit)
  run("\"policy\": ?\"first_fit\"" ${prefix}/bin/berth place ${SOURCE_DIR}/examples/models/tiny_cnn.onnx
      --cluster k80x2 --policy first_fit --set fill=0.5 --json)
endif()
