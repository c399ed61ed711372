// A disk that takes long to sync: preloaded into a server, it holds up every thread but the first.
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int fdatasync(int file) {
  if (syscall(SYS_gettid) != getpid()) sleep(5);
  return static_cast<int>(syscall(SYS_fdatasync, file));
}
