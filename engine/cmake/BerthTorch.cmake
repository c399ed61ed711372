# berth_torch: LibTorch, for the policies that learn and the backends that execute. Absent where
# LibTorch is; whoever needs it says what is then left out.
set(BERTH_TORCH "" CACHE PATH
  "A LibTorch other than the system's: the folder 'torch' of an installed PyTorch wheel, or an unpacked LibTorch")
option(BERTH_TORCH_CUDA "Let the CUDA backend link the parts for NVIDIA GPUs of BERTH_TORCH" OFF)

# Its libraries by name, not by its own package: that one searches the system first, and so finds another LibTorch
# where one is installed, enables CUDA as a language, which takes nvcc of its version, and makes all plugins load
# what one of them needs.
function(_berth_torch_of folder)
  set(wanted include/torch/csrc/api/include/torch/torch.h lib/libtorch_cpu.so lib/libc10.so)
  if(BERTH_TORCH_CUDA)
    list(APPEND wanted lib/libtorch_cuda.so lib/libc10_cuda.so)
  endif()
  foreach(file IN LISTS wanted)
    if(NOT EXISTS ${folder}/${file})
      message(FATAL_ERROR "Berth: BERTH_TORCH=${folder} has no ${file}; name the folder 'torch' of an installed "
        "PyTorch wheel, or that of an unpacked LibTorch")
    endif()
  endforeach()
  file(STRINGS ${folder}/lib/libc10.so new_strings REGEX "_ZN3c105ErrorC[12]E.*__cxx11" LIMIT_COUNT 1)
  if(NOT new_strings)
    message(FATAL_ERROR "Berth: the LibTorch in ${folder} has the C++ ABI of before 2015, as PyTorch's wheels up to "
      "2.6 have, and links with nothing of this system; install PyTorch 2.7 or later")
  endif()
  file(SHA256 ${folder}/lib/libc10.so digest)
  set(Torch_VERSION ${digest} PARENT_SCOPE)  # of what is precompiled
  # Some wheels bring the headers of their own protobuf, which is not the one that Berth links.
  set(headers ${PROJECT_BINARY_DIR}/torch_headers)
  file(MAKE_DIRECTORY ${headers})
  file(GLOB parts RELATIVE ${folder}/include ${folder}/include/*)
  list(REMOVE_ITEM parts google)
  foreach(part IN LISTS parts)
    file(CREATE_LINK ${folder}/include/${part} ${headers}/${part} SYMBOLIC)
  endforeach()
  add_library(berth_torch INTERFACE)
  target_include_directories(berth_torch SYSTEM INTERFACE ${headers} ${headers}/torch/csrc/api/include)
  target_link_libraries(berth_torch INTERFACE ${folder}/lib/libtorch_cpu.so ${folder}/lib/libc10.so)
  if(BERTH_TORCH_CUDA)
    # Nothing refers to it: it registers itself with LibTorch when it is loaded.
    add_library(berth_torch_cuda INTERFACE)
    target_link_libraries(berth_torch_cuda INTERFACE berth_torch
      "-Wl,--no-as-needed,${folder}/lib/libtorch_cuda.so,--as-needed" ${folder}/lib/libc10_cuda.so)
  endif()
endfunction()

if(BERTH_TORCH)
  _berth_torch_of(${BERTH_TORCH})
else()
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
  if(Torch_FOUND)
    add_library(berth_torch INTERFACE)
    target_include_directories(berth_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
    target_link_libraries(berth_torch INTERFACE ${TORCH_LIBRARIES})
  endif()
endif()
if(NOT TARGET berth_torch_cuda)
  add_library(berth_torch_cuda INTERFACE)  # its LibTorch has all in one, or has no CUDA
endif()
