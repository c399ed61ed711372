# berth_torch: LibTorch, for the policies that learn and the backends that execute. Absent where
# LibTorch is; whoever needs it says what is then left out.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # folders beside this one link its targets too
# LibTorch's own package makes protobuf::libprotobuf an alias of nothing where there is none yet.
find_package(Protobuf QUIET)
# Berth compiles no kernels of CUDA's, so that any architecture will do; without one LibTorch compiles a
# program to ask the GPU, which fails where CMake is older than CUDA.
if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
  set(TORCH_CUDA_ARCH_LIST 8.0)
endif()
find_package(Torch QUIET)
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
if(Torch_FOUND AND NOT TARGET berth_torch)
  add_library(berth_torch INTERFACE)
  target_include_directories(berth_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(berth_torch INTERFACE ${TORCH_LIBRARIES})
endif()
