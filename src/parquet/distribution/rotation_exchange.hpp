// The rotations between localities: each sends the values of its slabs to where the parquet equations need them.
//
// Slabs are divided over the localities. A rotation of the slab q reads, for each source transfer, one value per k: a
// row, with two channels. Sent are the contributions of rows to Gamma, which the receiver adds to the slab: in any
// order they give the same bits, because two rotations contribute to an element, and the sum begins at zero. Rows
// travel in one of the forms of rotation_form.hpp. A form sets the coalescing of the action `parquet_store_row`, unless
// the user has set it (PLX_COALESCE). A slab is reported as soon as it is complete: its products begin while others
// rotate.
//
// Thread safety: prepare() and rotate() by one task. Cost: Gamma is made in the memory of the caller; the packed form
// has messages of some 512 KiB, eight on their way; as many bytes of rows are. Errors: locality_lost;
// std::runtime_error for malformed data. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/buffer.hpp"
#include "net/locality.hpp"
#include "net/team.hpp"
#include "parquet/distribution/rotation_form.hpp"
#include "parquet/distribution/rotation_map.hpp"
#include "rt/mutex.hpp"

namespace plx::parquet {

/// Receives slabs whose Gamma is complete, of two channels each; may not wait.
class rotation_listener {
 public:
  virtual ~rotation_listener() = default;
  virtual void complete(int slab, bool particle_hole) = 0;
};

/// A part of what a rotation moves between two localities: from step `column` of the target run on, to the end of the
/// message. Runs are those of runs_of().
struct rotation_block {
  std::uint32_t r = 0, from = 0, source_run = 0, target_run = 0;
  std::int32_t sign = 1, column = 0;
  std::uint32_t exchange = 0;  ///< its number
};

/// Contributions of one source transfer to one slab. The values are written into the message, whatever their size, so
/// that rows share messages; a vector of 4 KiB and more as an argument would be sent as a piece of its own.
struct parquet_row {
  std::vector<std::complex<double>> values;

  template <class Archive>
  void save(Archive& archive) const {
    archive(values);
  }
  template <class Archive>
  void load(Archive& archive) {
    archive(values);
  }
};

class rotation_exchange {
 public:
  /// Numbers of a packed message, unless one step has more; messages of a locality on their way, or as many numbers in
  /// rows; numbers of rows that a receiver reports together.
  static constexpr std::size_t block_numbers = 32768;
  static constexpr std::size_t blocks_on_way = 8;
  static constexpr std::size_t report_numbers = 8192;

  /// Collective. Requires: not alone; no other one on this locality; members outlive this object.
  rotation_exchange(const vertex_grid& grid, const team& members, rotation_form form);
  ~rotation_exchange();
  rotation_exchange(const rotation_exchange&) = delete;
  rotation_exchange& operator=(const rotation_exchange&) = delete;

  /// Begins Gamma of the own slabs in `gamma`, laid out as by vertex_grid. A collective call must follow before any
  /// locality calls rotate(): from then on others add to it.
  void prepare(const propagator& g, std::complex<double>* gamma);
  /// Sends the contributions of the own slabs, and returns when Gamma is complete. Collective. After an error, such as
  /// the loss of a member, this object receives nothing more, and can only be destroyed.
  rotation_work rotate(const vertex_reader& local, rotation_listener& listener);

  /// Numbers of rows that were stored, for their sender; 0: none yet.
  struct stored_report {
    locality_id to = no_locality;
    std::uint64_t numbers = 0;
  };
  /// The same on all members; on each locality, later exchanges have larger numbers.
  std::uint32_t number() const noexcept { return number_; }
  // Called by actions: contributions from another locality.
  stored_report receive(std::uint64_t number, const parquet_row& row);
  void receive(const rotation_block& block, const buffer<std::complex<double>>& values);
  /// Another locality has stored that many numbers of rows of this one.
  void rows_stored(std::uint64_t numbers);
  /// Called by the service of this locality: a rotation that has begun fails if `which` is a member.
  void peer_lost(locality_id which);

 private:
  // All that a rotation moves from a run of slabs, at one sign of the frequency, to a rank.
  struct job {
    rotation r;
    unsigned from, to;
    int source_run, sign;
  };
  // The next step of a job.
  struct cursor {
    int target_run = 0, column = 0;
  };
  const slab_run& source_of(const job& j) const { return runs_[j.from][j.source_run]; }
  template <class F>
  std::size_t take(const job& j, cursor& at, std::size_t most, F&& f) const;
  std::size_t fill(const vertex_reader& local, const job& j, cursor at, std::complex<double>* out,
                   std::size_t size) const;
  std::size_t store(const job& j, cursor at, const std::complex<double>* in, std::size_t size);
  void arrived(bool particle_hole, int slab, int columns);
  stored_report stored(int source, std::size_t numbers);

  rotation_work send_and_wait(const vertex_reader& local, rotation_listener& listener);
  std::vector<job> jobs() const;
  void move_locally(const vertex_reader& local, const job& j);
  void send_blocks(const vertex_reader& local, const job& j, rotation_work& work);
  void send_rows(const vertex_reader& local, const job& j, rotation_work& work) const;
  class window;
  class room;
  class completion;
  class presence;

  const vertex_grid& grid_;
  const team& team_;
  rotation_form form_;
  std::uint16_t row_action_ = 0;
  std::uint32_t number_ = 0;
  bool receives_ = false;  // a rotation is prepared, and not complete
  rotation_map map_;
  std::vector<int> firsts_;                  // slabs, of each rank; and the end
  std::vector<std::vector<slab_run>> runs_;  // of each rank
  std::complex<double>* gamma_ = nullptr;
  // [particle-hole: 0, particle-particle: 1][frequency]: held while something is added to slabs of that frequency.
  std::vector<mutex> locks_;
  std::vector<std::atomic<std::int64_t>> missing_;  // [own slab][kind]: columns of rows, and one until rotate()
  rotation_listener* listener_ = nullptr;
  std::unique_ptr<window> window_;
  std::unique_ptr<room> room_;
  std::vector<std::atomic<std::size_t>> stored_;  // numbers of rows, of each rank
  std::unique_ptr<completion> completion_;
  std::unique_ptr<presence> presence_;  // last: ends before all that actions use
};

/// The actions: a row; packed rows; numbers of rows that a receiver has stored. Reports to an exchange that has ended
/// are dropped: no sender waits for the last ones. Errors: std::runtime_error for rows that are malformed, or that no
/// exchange of this locality can have been sent.
void parquet_store_row(std::uint32_t exchange, std::uint64_t number, const parquet_row& row);
void parquet_store_block(const rotation_block& block, const buffer<std::complex<double>>& values);
void parquet_rows_stored(std::uint32_t exchange, std::uint64_t numbers);

}  // namespace plx::parquet

template <>
inline constexpr bool plx::is_bitwise<plx::parquet::rotation_block> = true;
