// What a locality does with what another one wrote into its memory: the target of the fuzzer of letters, and of the
// test that replays its corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fuzz {

/// A node whose neighbours write what they like into the memory that letters come in (net/group/mail_segment.hpp),
/// and say what they like of how far they have read what it wrote.
///
/// An input is a list of steps of a neighbour and of the node: letters, well-formed or not, bytes anywhere in its ring,
/// numbers that it has no right to, and collective calls, which wait for such letters. Each begins with a byte that
/// says which one it is (letters.cpp). Each input has a neighbour and two communicators of its own, so that it means
/// the same whatever came before.
class letter_target {
 public:
  letter_target();
  ~letter_target();
  letter_target(const letter_target&) = delete;
  letter_target& operator=(const letter_target&) = delete;

  /// Takes all steps, and gives the neighbour up at the end. Comes back, whatever the bytes are; all calls have ended.
  void take(const std::uint8_t* data, std::size_t size);
  /// What came of the last input.
  struct outcome {
    std::uint64_t taken = 0;    ///< letters
    std::uint64_t refused = 0;  ///< of them, and of rings
    bool ended_it = false;      ///< the neighbour was given up for what it wrote
    unsigned calls = 0;         ///< that were made
    unsigned completed = 0;     ///< of them, those that got what they waited for
  };
  [[nodiscard]] const outcome& last() const noexcept { return last_; }

 private:
  struct world;
  std::unique_ptr<world> world_;
  outcome last_;
};

/// A ring by itself, with a writer and a reader of its memory whose other sides write into it what they like: the steps
/// of an input are those of the two, and bytes in lines and in what was read. Many times faster than a node.
/// How many letters were read.
unsigned play_ring(const std::uint8_t* data, std::size_t size);

/// Writes well-formed inputs into a folder: where a fuzzer begins.
void write_letter_seeds(const char* folder);

}  // namespace fuzz
