# Debian packages by cpack -G DEB, split by what they need: without LibTorch, Protobuf or partitioners
# nothing of them is installed.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME berth)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The Berth authors")
set(CPACK_PACKAGE_CONTACT "The Berth authors <berth@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "Berth finds every op of a neural network the device it should run on.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE gzip)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)

# berth_package(<component> <name> <description> [DEPENDS <packages>] [SUGGESTS <packages>])
set(CPACK_COMPONENTS_ALL)
macro(berth_package component name description)
  cmake_parse_arguments(ARG "" "DEPENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${ARG_SUGGESTS}")
endmacro()

set(_core "libberth (= ${PROJECT_VERSION})")
berth_package(core libberth "Device placement of neural networks: the libraries for C++ and C")
berth_package(development libberth-dev "Device placement of neural networks: headers and static libraries"
  DEPENDS "${_core}" SUGGESTS "libtbb-dev")
if(NOT BERTH_CORE_ONLY)
  berth_package(command berth "Device placement of neural networks: the command and its Lua library"
    DEPENDS "${_core}, berth-plugins" SUGGESTS
      "berth-frontends, berth-plugins-partition, berth-plugins-torch, libsqlite3-0, librsvg2-2, redis-tools")
  berth_package(plugins berth-plugins "Device placement of neural networks: policies that need nothing more"
    DEPENDS "${_core}")
  # The packages depend on the libraries that the build found.
  foreach(row "frontends|berth-frontends|readers of ONNX and TensorFlow models"
              "partition|berth-plugins-partition|policies over partitioners and solvers"
              "torch|berth-plugins-torch|policies that learn, and execution, over LibTorch")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 component)
    get_property(packages GLOBAL PROPERTY BERTH_PACKAGES)
    if(component IN_LIST packages)
      list(GET row 1 name)
      list(GET row 2 description)
      berth_package(${component} ${name} "Device placement of neural networks: ${description}"
        DEPENDS "${_core}")
    endif()
  endforeach()
  if(TARGET berth_mlir)
    berth_package(mlir berth-mlir "Device placement of neural networks: a pass plugin for MLIR"
      DEPENDS "${_core}")
  endif()
endif()
include(CPack)
