# What stands in for oneTBB in the preset `tsan`: see include/oneapi/tbb/task_arena.h.
find_package(Threads REQUIRED)
if(NOT TARGET TBB::tbb)
  add_library(TBB::tbb INTERFACE IMPORTED)
  target_include_directories(TBB::tbb INTERFACE ${CMAKE_CURRENT_LIST_DIR}/include)
  target_link_libraries(TBB::tbb INTERFACE Threads::Threads)
endif()
