# One helper per kind of target, so that every target of a kind is built alike.

# GCC 12 sees an overlapping copy in every `std::string = "literal"` it inlines (its bug 105651).
# GCC 14 takes a reference into an argument for one to a temporary beside it, and a vector freed by
# its own iterator's function for a pointer that was moved, and sees copies beyond vectors of one number.
set(BERTH_FALSE_WARNINGS
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-array-bounds;-Wno-dangling-reference;-Wno-free-nonheap-object;-Wno-stringop-overflow;-Wno-stringop-overread>")

# The headers that targets precompile are of the system alone: compiled objects are then the same
# for every compiler, option and package version, and a compiler cache is told just that by the
# *.sum beside the precompiled header, whose own bytes differ from run to run.
set(BERTH_STANDARD_HEADERS
  <algorithm> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <numeric> <optional>
  <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# berth_precompile(<target> <header>...): compiles these, which most of the target's sources include,
# once. berth_precompile(<target> REUSE <other>): takes those of a target with the same options.
function(berth_precompile target)
  if(NOT BERTH_QUICK_BUILD)
    return()
  endif()
  if(ARGV1 STREQUAL REUSE)
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    file(CONFIGURE OUTPUT CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum
         CONTENT "${ARGN} ${Torch_VERSION} ${nlohmann_json_VERSION} ${fmt_VERSION}\n")
  endif()
  # Without the first ccache does not see what a precompiled header contains, and caches nothing. The
  # others: GCC forgets that the standard library's code is not ours when it comes from such a header.
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-stringop-overflow>)
endfunction()

# berth_unite(<target> [EXCEPT <regex>]): compiles the sources of each folder as one, so that what they
# include is read once. Files that match the expression stay alone: those with options of their own,
# and those that give their own things the same names.
function(berth_unite target)
  if(NOT BERTH_QUICK_BUILD)
    return()
  endif()
  cmake_parse_arguments(ARG "" "EXCEPT" "" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes a source that another includes for a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  set(done 0)
  foreach(source IN LISTS sources)
    if(ARG_EXCEPT AND source MATCHES "${ARG_EXCEPT}")
      continue()
    endif()
    # Two folders never meet: their namespaces may hold the same names. Twelve files at most, for
    # memory, and so that several cores have something to do.
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    math(EXPR part "${count_${folder}} / 12")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP "${folder}_${part}")
  endforeach()
endfunction()

# Warnings and link checks for Berth's own code; never forced on users of its targets.
function(berth_own_target target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           -Wno-sign-conversion -Wnon-virtual-dtor
                                           ${BERTH_FALSE_WARNINGS})
  if(BERTH_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# berth_standard: the standard headers for all position-independent code without options of its own.
if(BERTH_QUICK_BUILD)
  file(CONFIGURE OUTPUT precompiled.cpp CONTENT "")
  add_library(berth_standard OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
  target_compile_features(berth_standard PRIVATE cxx_std_20)
  berth_own_target(berth_standard)  # -Wpedantic changes which macros there are
  berth_precompile(berth_standard ${BERTH_STANDARD_HEADERS})
endif()

# berth_plugin(<kind>_<name> SOURCES ... LIBRARIES ... [PACKAGE ...]): a plugin beside the engine's own
# library. What needs no more than the engine does is in the package "plugins".
function(berth_plugin name)
  cmake_parse_arguments(ARG "" "PACKAGE" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT ARG_PACKAGE)
    set(ARG_PACKAGE plugins)
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  add_library(berth::${name} ALIAS ${name})
  target_link_libraries(${name} PRIVATE berth::engine ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${BERTH_PLUGIN_OUTPUT_DIRECTORY}
    INSTALL_RPATH "$ORIGIN/..")
  berth_own_target(${name})
  set_property(GLOBAL APPEND PROPERTY BERTH_PLUGINS ${name})
  set_property(GLOBAL APPEND PROPERTY BERTH_PACKAGES ${ARG_PACKAGE})
  install(TARGETS ${name} LIBRARY DESTINATION ${BERTH_PLUGIN_INSTALL_DIR} COMPONENT ${ARG_PACKAGE})
endfunction()

# berth_plugin_data(<file> <package>): a file that a plugin finds beside its own library.
function(berth_plugin_data file package)
  # The whole name: a folder that is not there yet would become the copy.
  cmake_path(GET file FILENAME name)
  configure_file(${file} ${BERTH_PLUGIN_OUTPUT_DIRECTORY}/${name} COPYONLY)
  install(FILES ${file} DESTINATION ${BERTH_PLUGIN_INSTALL_DIR} COMPONENT ${package})
endfunction()

# berth_left_out(<what> <why>): the one clear line for a part whose dependency is absent.
function(berth_left_out what why)
  message(STATUS "Berth: ${what} is left out: ${why}")
endfunction()
