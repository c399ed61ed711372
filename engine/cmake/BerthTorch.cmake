# berth_torch: LibTorch, for the policies that learn and the backends that execute. Absent where
# LibTorch is; whoever needs it says what is then left out.
set(BERTH_TORCH "" CACHE PATH
  "A LibTorch other than the system's: the folder 'torch' of an installed PyTorch wheel, or an unpacked LibTorch")
option(BERTH_TORCH_CUDA "Link the parts for NVIDIA GPUs of BERTH_TORCH too; takes nvcc of its CUDA version" OFF)

# The parts of a folder for processors alone. Its own package would enable CUDA as a language, and fail without nvcc,
# only because the folder has parts for GPUs too, as the wheels of PyPI do.
function(_berth_torch_for_processors folder)
  add_library(berth_torch INTERFACE)
  target_include_directories(berth_torch SYSTEM INTERFACE
    ${folder}/include ${folder}/include/torch/csrc/api/include)
  target_link_libraries(berth_torch INTERFACE ${folder}/lib/libtorch_cpu.so ${folder}/lib/libc10.so)
endfunction()

if(BERTH_TORCH)
  foreach(_file include/torch/csrc/api/include/torch/torch.h lib/libtorch_cpu.so lib/libc10.so)
    if(NOT EXISTS ${BERTH_TORCH}/${_file})
      message(FATAL_ERROR "Berth: BERTH_TORCH=${BERTH_TORCH} has no ${_file}; name the folder 'torch' of an installed "
        "PyTorch wheel, or that of an unpacked LibTorch")
    endif()
  endforeach()
  file(STRINGS ${BERTH_TORCH}/lib/libc10.so _new_strings REGEX "_ZN3c105ErrorC[12]E.*__cxx11" LIMIT_COUNT 1)
  if(NOT _new_strings)
    message(FATAL_ERROR "Berth: the LibTorch in ${BERTH_TORCH} has the C++ ABI of before 2015, as PyTorch's wheels up to "
      "2.6 have, and links with nothing of this system; install PyTorch 2.7 or later")
  endif()
endif()

if(BERTH_TORCH AND NOT BERTH_TORCH_CUDA)
  _berth_torch_for_processors(${BERTH_TORCH})
else()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)  # folders beside this one link its targets too
  # LibTorch's own package makes protobuf::libprotobuf an alias of nothing where there is none yet.
  find_package(Protobuf QUIET)
  # Berth compiles no kernels of CUDA's, so that any architecture will do; without one LibTorch compiles a
  # program to ask the GPU, which fails where CMake is older than CUDA.
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
    set(TORCH_CUDA_ARCH_LIST 8.0)
  endif()
  if(BERTH_TORCH)
    # Not the folder share/cmake below it: libraries are looked for beside it, and the system's found first.
    find_package(Torch REQUIRED PATHS ${BERTH_TORCH} NO_DEFAULT_PATH)
  else()
    find_package(Torch QUIET)
  endif()
  unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
  if(Torch_FOUND AND NOT TARGET berth_torch)
    add_library(berth_torch INTERFACE)
    target_include_directories(berth_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
    target_link_libraries(berth_torch INTERFACE ${TORCH_LIBRARIES})
  endif()
endif()
