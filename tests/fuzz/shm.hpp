// The target of the fuzzer of collective messages, and of the test that replays its corpus: a locality reads arbitrary
// data that another one wrote into its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fuzz {

/// A node whose neighbours write arbitrary data into the memory for its messages (net/transport/shm_segment.hpp), and
/// report arbitrary read positions of the data that it wrote.
///
/// An input is a list of steps of a neighbour and of the node: messages, well-formed or not, bytes anywhere in its
/// ring, invalid numbers, and collective calls that wait for such messages. The first byte of a step is its type
/// (shm.cpp). Each input has its own neighbour and two communicators, so that it does not depend on earlier inputs.
class shm_target {
 public:
  shm_target();
  ~shm_target();
  shm_target(const shm_target&) = delete;
  shm_target& operator=(const shm_target&) = delete;

  /// Executes all steps, and gives the neighbour up at the end. Returns for any input; all calls have ended.
  void take(const std::uint8_t* data, std::size_t size);
  /// The effects of the last input.
  struct outcome {
    std::uint64_t taken = 0;    ///< messages accepted
    std::uint64_t refused = 0;  ///< messages and rings refused
    bool ended_it = false;      ///< the neighbour was given up because of its data
    unsigned calls = 0;         ///< calls made
    unsigned completed = 0;     ///< calls that completed successfully
  };
  [[nodiscard]] const outcome& last() const noexcept { return last_; }

 private:
  struct world;
  std::unique_ptr<world> world_;
  outcome last_;
};

/// A ring alone, with a writer and a reader whose peers write arbitrary data: the steps of an input are those of the
/// two, and bytes in lines and in the read position. Many times faster than a node. Returns the number of messages
/// read.
unsigned play_ring(const std::uint8_t* data, std::size_t size);

/// Writes well-formed initial inputs into a folder.
void write_shm_seeds(const char* folder);

}  // namespace fuzz
