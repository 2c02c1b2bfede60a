// Where to refine: criteria from the input, each over one variable, any number of them combined.
//
// A criterion is one line of text:
//   second_derivative VARIABLE refine=0.7 coarsen=0.3 [noise=0.01] [max_level=L]
//   gradient          VARIABLE refine=0.2 coarsen=0.05 [max_level=L]
//   threshold         VARIABLE above=0.1,1,10 [coarsen=0.8]      level l is refined where the variable is above[l]
//   sphere            center=x,y,z radius=r level=L              at least level L inside
//   box               lower=x,y,z upper=x,y,z level=L
// Which variables there are is the caller's business: it hands out a tile of each.
//
// Each block is judged alone; a judgement names the directions in which a cell that wants refinement lies within
// buffer_cells of the block's side, and decide() carries the wish to the blocks there. A block coarsens when no
// criterion and no neighbour wants its level.
//
// Thread safety: judge is pure. Cost: about 20 operations per cell. Example: mesh/refinement_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/regrid.hpp"

namespace plx {
class config_table;
}

namespace plx::mesh {

/// Options [refine] of an input.
struct refinement_options {
  std::vector<std::string> criteria;
  std::int64_t every = 4;
  std::int64_t buffer_cells = 4;
  std::int64_t coarsen_after = 3;

  void describe(config_table& table);
};

struct criterion {
  enum class kind { second_derivative, gradient, threshold, sphere, box };

  kind what = kind::gradient;
  std::string variable;           ///< empty for sphere and box
  double refine = 0.0;            ///< cells with a larger indicator want one level more
  double coarsen = 0.0;           ///< blocks whose largest indicator is smaller may go; threshold: factor on `above`
  double noise = 0.01;            ///< second_derivative: filter of small ripples
  int max_level = deepest_level;  ///< the deepest level that this criterion asks for
  std::vector<double> above;      ///< threshold: by level
  std::array<double, 3> lower{}, upper{};  ///< box; a sphere's centre is `lower`
  double radius = 0.0;

  bool needs_tile() const { return what < kind::sphere; }
};

/// One line of text, or what is wrong with it.
result<criterion> parse_criterion(const std::string& text);
/// All of them; the error names the line. `known` are the variables that the caller can hand out.
result<std::vector<criterion>> parse_criteria(std::span<const std::string> texts, std::span<const std::string> known);

/// What criteria say about a block.
struct judgement {
  std::int32_t want = 0;         ///< the level the block should at least have
  std::int32_t want_around = 0;  ///< the level that neighbours in `around` should at least have
  std::uint32_t around = 0;      ///< directions, bits 0..26
};

/// Judges a block by one criterion.
/// Shapes:   tile: [k][j][i], tile_width(N) cells along each axis; ghosts across faces are read one cell deep. May be
///           null for criteria of which needs_tile() is false.
/// Source:   second_derivative: Loehner (1987), without the mixed derivatives; it lies in 0..1.
///           gradient: largest over axes of |q+ - q-| / (|q+| + |q-|), in 0..1.
judgement judge(const criterion& c, const block_mesh& mesh, slot_id slot, const double* tile, int buffer_cells);

/// Both wishes.
judgement combine(const judgement& a, const judgement& b);

/// Flags for plan_regrid. Shapes: judgements: by slot; so is the result.
std::vector<flag> decide(const block_mesh& mesh, std::span<const judgement> judgements);

}  // namespace plx::mesh
