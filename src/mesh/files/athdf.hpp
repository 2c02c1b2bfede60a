// Mesh files that yt, ParaView and VisIt open: HDF5 in the layout of Athena++ (.athdf), with an .xdmf beside it.
//
// Blocks are written in the order of the curve. In addition to the physics a file has per block: Cost (s), Updates
// (steps that Cost was spent on; only if given), Owner, IdleRate, Slot. Both files appear complete or not at all.
//
// With several localities each writes a part (write_athdf_part); when all parts exist, one of them writes the file that
// readers open (write_athdf_of_parts). It holds the structure, and refers to the parts by HDF5's virtual datasets, so
// that readers see the same datasets as in one file; Locality and LocalityIdleRate are added. A part that is missing
// later reads as NaN (integers: -1).
//
// Thread safety: any task; files are written one after the other. The callback must not suspend. Cost: the callback and
// the disk; some MB of memory. Errors: one line with the path and the system's reason. A process that limits file sizes
// must ignore SIGXFSZ. Example: mesh/files/test/athdf_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

struct athdf_dataset {
  std::string name;                    ///< "prim"
  std::vector<std::string> variables;  ///< "rho", "press", "vel1", "vel2", "vel3", ...: names known to yt
};

struct athdf_info {
  double time = 0.0;
  std::int64_t cycle = 0;
  std::vector<athdf_dataset> datasets;
  std::vector<std::pair<std::string, double>> numbers;  ///< further attributes
  bool single_precision = true;
  // By position on the curve, in a part by position within it; all zero when empty.
  std::span<const double> cost_s;
  std::span<const double> updates;
  std::span<const std::int32_t> owner;
  std::span<const double> idle_rate;
  // Only in parts.
  std::span<const std::int32_t> locality;
  std::span<const double> locality_idle_rate;
};

/// Calls f(slot, index of the dataset, double* out [variable][k][j][i]). Keeps a reference to f, a lambda or an object
/// (not a plain function).
class block_filler {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<F>, block_filler>>>
  block_filler(F&& f)  // NOLINT: implicit on purpose
      : self_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* self, slot_id s, int d, double* out) {
          (*static_cast<std::remove_reference_t<F>*>(self))(s, d, out);
        }) {}
  void operator()(slot_id slot, int dataset, double* out) const { call_(self_, slot, dataset, out); }

 private:
  void* self_;
  void (*call_)(void*, slot_id, int, double*);
};

/// Writes `path` (ending in .athdf), and the .xdmf of the same name.
result<void> write_athdf(const std::string& path, const block_mesh& mesh, const athdf_info& info, block_filler fill);

/// Writes the values of some blocks, which are consecutive on the curve, and their rows of the tables. Shapes: the
/// spans of info: by position in `blocks`.
result<void> write_athdf_part(const std::string& path, std::span<const slot_id> blocks, int block_size,
                              const athdf_info& info, block_filler fill);

struct athdf_part {
  std::string file;        ///< relative to the folder of the whole file
  std::size_t blocks = 0;  ///< those of part 0 are the first on the curve; a part without blocks needs no file
};

/// Writes `path` and its .xdmf for existing parts. Requires: the parts were written with the same datasets and
/// precision; their blocks add up to those of the mesh.
result<void> write_athdf_of_parts(const std::string& path, const block_mesh& mesh, const athdf_info& info,
                                  std::span<const athdf_part> parts);

/// The step number in the mesh file; empty if the file is missing or damaged, or has no .xdmf.
std::optional<std::int64_t> athdf_step(const std::string& path);

}  // namespace plx::mesh
