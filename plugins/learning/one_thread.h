// LibTorch on one thread.
#pragma once

namespace berth::learning {

/// While one lives, what LibTorch computes for the calling thread has this thread alone, whatever
/// number of threads OpenMP and OpenBLAS would take. The tensors of these networks are small, and two
/// kinds of threads that wait for work by spinning take the cores from each other: an update of `seq2seq`
/// takes four times as long with both on two idle cores, and six to ten times as long where another
/// process computes. OpenMP's number is the calling thread's own. OpenBLAS has one for the process, which
/// comes back with the last of these. [thread-safe: one per thread and scope]
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;  ///< OpenMP's number
};

}  // namespace berth::learning
