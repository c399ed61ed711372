# berth_torch: LibTorch, for the policies that learn and the backends that execute. Absent where
# LibTorch is; whoever needs it says what is then left out.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # folders beside this one link its targets too
find_package(Torch QUIET)
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
if(Torch_FOUND AND NOT TARGET berth_torch)
  add_library(berth_torch INTERFACE)
  target_include_directories(berth_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(berth_torch INTERFACE ${TORCH_LIBRARIES})
endif()
