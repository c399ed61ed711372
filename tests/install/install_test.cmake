# Variables: see CMakeLists.txt beside this file.
set(work ${BUILD_DIR}/tests/installed)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})

# writes(<file> <content>): a file of a small project.
function(writes file content)
  file(WRITE ${work}/${file} "${content}")
endfunction()

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

set(toolchain -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_CXX_FLAGS=${CXX_FLAGS}
    -D CMAKE_C_FLAGS=${C_FLAGS})
function(build_example name)
  run("" ${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/${name} -B ${work}/${name} ${toolchain})
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
  run("-lberth_c" ${pkg_config} --cflags --libs berth_c)
  run("-lberth_c.*-lberth .*-ltbb" ${pkg_config} --static --libs berth_c)
  run("-lberth.*-ltbb" ${pkg_config} --static --libs berth)
endif()

# A plugin in C, for the programs in C++ and C alike, by every compiler that is there.
build_example(policy_c)
set(ENV{BERTH_PLUGIN_PATH} ${work}/policy_c:${work}/policy)
run("join +-> .*descend: " ${work}/embed/compiler_pass descend)
run("join +-> .*one step: " ${work}/c/place descend)
find_program(clang NAMES clang clang-19)
if(clang)
  file(MAKE_DIRECTORY ${work}/policy_clang)
  run("" ${clang} -std=c11 -shared -fPIC -Wall -Wextra -Wpedantic -I ${prefix}/include
      ${SOURCE_DIR}/examples/policy_c/descend.c -o ${work}/policy_clang/policy_descend.so)
  set(ENV{BERTH_PLUGIN_PATH} ${work}/policy_clang:${work}/policy)
  run("join +-> .*descend: " ${work}/embed/compiler_pass descend)
endif()

# The soname is the ABI's: a program never starts with a library of other types.
file(STRINGS ${prefix}/include/berth/version.h abi REGEX "define BERTH_ABI_VERSION")
string(REGEX MATCH "[0-9]+$" abi "${abi}")
foreach(library libberth.so.${abi} libberth_c.so.1)
  file(GLOB found ${prefix}/lib*/${library} ${prefix}/lib*/*/${library})
  if(NOT found)
    message(FATAL_ERROR "${library} is not installed")
  endif()
endforeach()

# What the headers cite is installed.
file(GLOB_RECURSE headers ${prefix}/include/berth/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} lines REGEX "[.]md|share/")
  string(REGEX MATCHALL "[A-Za-z_]+/[A-Za-z_/]*([.]md)?" cited "${lines}")
  foreach(name IN LISTS cited)
    if(name MATCHES "[.]md$|^share/" AND NOT EXISTS ${prefix}/${name})
      message(FATAL_ERROR "${header} cites ${name}, which is not installed")
    endif()
  endforeach()
endforeach()
foreach(format graph cluster placement costs settings)
  foreach(file schemas/${format}.json formats/${format}.md)
    if(NOT EXISTS ${prefix}/share/berth/${file})
      message(FATAL_ERROR "share/berth/${file} is not installed")
    endif()
  endforeach()
endforeach()

foreach(file doc/berth/LICENSE doc/berth/README.md bash-completion/completions/berth
             zsh/site-functions/_berth fish/vendor_completions.d/berth.fish)
  if(NOT EXISTS ${prefix}/share/${file})
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()

# Versions and components: what is asked for, and whether it is found.
foreach(row "0.1|yes" "0.1...<1.0|yes" "0.1.0...0.1.0|yes" "0.1...<1.0 COMPONENTS c engine|yes"
            "0.2...<1.0|no" "0.0.1...<0.1|no" "1.0|no" "0.1 COMPONENTS nonsense|no")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 asked)
  list(GET row 1 expected)
  writes(asks/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES CXX)\n\
find_package(berth ${asked} QUIET)\nif(NOT berth_FOUND)\n  message(FATAL_ERROR \"no\")\nendif()\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${work}/asks -B ${work}/asks/build ${toolchain}
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if((expected STREQUAL yes AND NOT result EQUAL 0) OR (expected STREQUAL no AND result EQUAL 0))
    message(FATAL_ERROR "find_package(berth ${asked}): expected ${expected}")
  endif()
endforeach()

writes(asks/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES CXX)\n\
find_package(berth 0.1 REQUIRED COMPONENTS nonsense)\n")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${work}/asks -B ${work}/asks/build ${toolchain}
                OUTPUT_QUIET ERROR_VARIABLE reason)
string(REGEX REPLACE "[ \n]+" " " reason "${reason}")
if(NOT reason MATCHES "berth has no component 'nonsense'; it has engine, c and static")
  message(FATAL_ERROR "an unknown component has no reason: ${reason}")
endif()

# A program that brings the engine with it.
writes(static/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(static LANGUAGES C)\n\
find_package(berth 0.1 REQUIRED COMPONENTS static)\n\
add_executable(place ${SOURCE_DIR}/examples/c/place.c)\n\
target_link_libraries(place PRIVATE berth::c_static)\n")
run("" ${CMAKE_COMMAND} -S ${work}/static -B ${work}/static/build ${toolchain})
run("" ${CMAKE_COMMAND} --build ${work}/static/build)
run("join +-> .*one step: " ${work}/static/build/place descend)

# Berth within a project's own tree: with its plugins as targets, or the libraries alone.
foreach(core OFF ON)
  writes(within/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(within LANGUAGES CXX)\n\
include(FetchContent)\nset(BERTH_CORE_ONLY ${core})\n\
FetchContent_Declare(berth SOURCE_DIR ${SOURCE_DIR})\nFetchContent_MakeAvailable(berth)\n\
foreach(target berth::engine berth::c berth::engine_static)\n  if(NOT TARGET \${target})\n\
    message(FATAL_ERROR \"no \${target}\")\n  endif()\nendforeach()\n\
foreach(target berth::policy_heft berth::policy_auto berth_plugins)\n\
  if((TARGET \${target} AND BERTH_CORE_ONLY AND NOT target STREQUAL berth_plugins) OR\n\
     (NOT TARGET \${target} AND NOT BERTH_CORE_ONLY))\n\
    message(FATAL_ERROR \"\${target} with BERTH_CORE_ONLY=${core}\")\n  endif()\nendforeach()\n")
  run("" ${CMAKE_COMMAND} -S ${work}/within -B ${work}/within/build-${core} ${toolchain})
endforeach()
find_program(python NAMES python3)
if(python)
  execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    run("one card alone: " ${CMAKE_COMMAND} -E env BERTH_LIBRARY=${prefix}/lib/libberth_c.so.1
        PYTHONPATH=${SOURCE_DIR}/engine/faces/python PYTHONDONTWRITEBYTECODE=1
        ${python} ${SOURCE_DIR}/examples/python/two_cards.py --budget 200ms)
  endif()
endif()

if(EXISTS ${prefix}/bin/berth)
  run("fill" ${prefix}/bin/berth plugins first_fit)
  run("passes" ${prefix}/bin/berth plugins descend)
  run("berth.settings/1" ${prefix}/bin/berth schema settings)
  run("\"policy\": ?\"descend\"" ${prefix}/bin/berth place
      ${SOURCE_DIR}/examples/models/tiny_cnn.onnx --cluster k80x2 --policy descend --json)
  run("\"policy\": ?\"first_fit\"" ${prefix}/bin/berth place ${SOURCE_DIR}/examples/models/tiny_cnn.onnx
      --cluster k80x2 --policy first_fit --set fill=0.5 --json)
endif()
