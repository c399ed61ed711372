cmake_minimum_required(VERSION 3.25)
# Variables: see CMakeLists.txt beside this file.
set(work ${BUILD_DIR}/tests/packed)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors
                  WORKING_DIRECTORY ${work})
  if(NOT result EQUAL 0)
    string(JOIN " " line ${ARGN})
    message(FATAL_ERROR "exit status ${result}: ${line}\n${text}\n${errors}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

run(ignored ${CPACK} -G DEB --config ${BUILD_DIR}/CPackConfig.cmake -B ${work})

# Each package: a file that it must have, and expressions that its dependencies must and must not match.
set(heavy "torch|protobuf|onnx|scotch|metis|clp|luajit")
set(rows
  "libberth|/usr/lib/[^\n]*libberth_c[.]so[.]1|libtbb|${heavy}"
  "libberth-dev|/usr/include/berth/c[.]h|libberth [(]= ${VERSION}[)]|${heavy}"
  "berth-plugins|/berth/policy_heft[.]so|libberth [(]= ${VERSION}[)]|${heavy}"
  "berth|/usr/bin/berth|berth-plugins|torch|protobuf|scotch"
  "berth-frontends|/berth/frontend_onnx[.]so|protobuf|torch"
  "berth-plugins-partition|/berth/policy_scotch[.]so|scotch|torch"
  "berth-plugins-torch|/berth/policy_placeto[.]so|torch|protobuf"
  "berth-mlir|/berth_mlir[.]so|libberth [(]= ${VERSION}[)]|torch")
set(seen "")
set(installed "")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^([^|]*)[|]([^|]*)[|]([^|]*)[|](.*)$" ignored "${row}")
  set(name ${CMAKE_MATCH_1})
  set(has "${CMAKE_MATCH_2}")
  set(needs "${CMAKE_MATCH_3}")
  set(lacks "${CMAKE_MATCH_4}")
  file(GLOB package ${work}/${name}_${VERSION}*.deb)
  if(NOT package)
    if(name MATCHES "^(libberth|libberth-dev|berth-plugins)$")
      message(FATAL_ERROR "no package ${name}")
    endif()
    message(STATUS "${name}: the build has nothing for it")
    continue()
  endif()
  run(content ${DPKG_DEB} --contents ${package})
  run(depends ${DPKG_DEB} --field ${package} Depends)
  if(NOT content MATCHES "${has}")
    message(FATAL_ERROR "${name} lacks ${has}:\n${content}")
  endif()
  if(NOT depends MATCHES "${needs}" OR depends MATCHES "${lacks}")
    message(FATAL_ERROR "${name} depends on ${depends}; it must on ${needs}, and not on ${lacks}")
  endif()
  string(REPLACE "\n" ";" lines "${content}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[.]/usr/[^ ]*" file "${line}")
    if(NOT file OR file MATCHES "/$")
      continue()
    endif()
    if(file IN_LIST seen)
      message(FATAL_ERROR "${file} is in two packages, ${name} among them")
    endif()
    list(APPEND seen "${file}")
  endforeach()
  file(SIZE ${package} bytes)
  message(STATUS "${name}: ${bytes} bytes, depends on ${depends}")
  if(name MATCHES "^(libberth|berth|berth-plugins|berth-frontends)$")
    run(ignored ${DPKG_DEB} --extract ${package} ${work}/root)
  endif()
endforeach()

# What is unpacked works where it lies, with the light plugins alone.
if(EXISTS ${work}/root/usr/bin/berth)
  unset(ENV{BERTH_PLUGIN_PATH})
  run(listed ${work}/root/usr/bin/berth plugins)
  if(NOT listed MATCHES "heft" OR listed MATCHES "placeto|scotch")
    message(FATAL_ERROR "the unpacked command has other plugins:\n${listed}")
  endif()
  run(placed ${work}/root/usr/bin/berth place ${SOURCE_DIR}/examples/lua/branches.graph.json
      --cluster ${SOURCE_DIR}/examples/lua/two_gpus.cluster.json --policy heft --json)
  if(NOT placed MATCHES "\"runtime_us\"")
    message(FATAL_ERROR "the unpacked command places nothing:\n${placed}")
  endif()
endif()

# By hand, as root: BERTH_BARE_ROOT names a bare system (debootstrap --variant=minbase bookworm FOLDER),
# into which the packages that need little are installed with what they depend on.
if(DEFINED ENV{BERTH_BARE_ROOT})
  set(bare $ENV{BERTH_BARE_ROOT})
  file(REMOVE_RECURSE ${bare}/packages)
  file(GLOB packages ${work}/libberth_*.deb ${work}/berth_*.deb ${work}/berth-plugins_*.deb)
  file(COPY ${packages} ${SOURCE_DIR}/examples/lua/branches.graph.json
       ${SOURCE_DIR}/examples/lua/two_gpus.cluster.json DESTINATION ${bare}/packages)
  run(ignored chroot ${bare} sh -c
      "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends /packages/*.deb")
  run(placed chroot ${bare} berth place /packages/branches.graph.json
      --cluster /packages/two_gpus.cluster.json --policy heft --json)
  if(NOT placed MATCHES "\"runtime_us\"")
    message(FATAL_ERROR "the installed command places nothing:\n${placed}")
  endif()
  message(STATUS "installed into ${bare}")
endif()
