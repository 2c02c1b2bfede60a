// The rotations between localities: each sends the values of its slabs to where the parquet equations need them.
//
// Slabs are divided over the localities. A rotation of the slab q reads, for each source transfer, one value per k: a
// row, with two channels. Rows travel in one of the forms of rotation_form.hpp, which give the same bits. A form sets
// the coalescing of the action `parquet_store_row`; that replaces a setting of PLX_COALESCE.
//
// Thread safety: rotate() by one task, irreducible() by any. Cost: 8 numbers per element of the local slabs of one
// channel are kept; packed needs twice a quarter of them for messages. Errors: locality_lost; std::runtime_error for a
// malformed row. Example: parquet/distribution/test/distributed_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parquet/distribution/rotation_form.hpp"
#include "parquet/distribution/team.hpp"
#include "parquet/equations/rotation.hpp"

namespace plx {
class latch;
}

namespace plx::parquet {

class rotation_exchange {
 public:
  /// Collective. Requires: not alone; no other one on this locality; members outlive this object.
  rotation_exchange(const vertex_grid& grid, const team& members, rotation_form form);
  ~rotation_exchange();
  rotation_exchange(const rotation_exchange&) = delete;
  rotation_exchange& operator=(const rotation_exchange&) = delete;

  /// Sends the values of the local slabs and waits for those of others. Collective.
  rotation_work rotate(const vertex_reader& local);
  /// The irreducible vertices of two channels on a local slab after rotate(), as irreducible_slab() gives them.
  void irreducible(const vertex_reader& local, bool particle_hole, transfer q, matrix_view<std::complex<double>> a,
                   matrix_view<std::complex<double>> b) const;

  /// Stores a row that another locality has sent. Called by the action.
  void receive(std::uint64_t number, const std::vector<std::complex<double>>& values);

 private:
  // A row: the values that a rotation of the slab `target` reads at `source`.
  struct row {
    rotation r;
    int target;
    boson source;
  };
  template <class F>
  void each_row(int source_slab, rotation r, unsigned to_rank, F&& f) const;
  template <class F>
  void each_column(const row& at, F&& f) const;
  int row_size(const row& at) const noexcept;
  std::uint64_t number_of(const row& at) const noexcept;
  row row_of(std::uint64_t number) const;
  int first(unsigned rank) const noexcept { return firsts_[rank]; }
  std::size_t index(rotation r, int slab) const noexcept {
    return static_cast<std::size_t>(slab - first(team_.rank())) * all_rotations.size() + static_cast<int>(r);
  }
  void fill(const vertex_reader& local, const row& at, std::complex<double>* out) const;
  void store(const row& at, const std::complex<double>* in);
  void rotate_local(const vertex_reader& local);
  void send_packed(const vertex_reader& local, rotation_work& work);
  void send_rows(const vertex_reader& local, rotation_work& work);

  const vertex_grid& grid_;
  const team& team_;
  rotation_form form_;
  std::vector<int> firsts_;                         // slabs, of each rank; and the end
  std::vector<std::vector<channel_pair>> rotated_;  // [local slab][rotation], each [k'][k]
  std::int64_t expected_rows_ = 0;                  // of other localities, per rotate()
  std::unique_ptr<latch> missing_;
};

}  // namespace plx::parquet
