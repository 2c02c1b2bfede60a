// What a mesh file consists of: the structure of the whole mesh, and the content of some of its blocks. One file has
// both; where localities share the work, each writes the content of its blocks. Inside mesh only.
//
// Thread safety: under hdf5_lock(). Cost: the disk; memory for some MB. Example: mesh/athdf_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mesh/athdf.hpp"
#include "mesh/hdf5_file.hpp"

namespace plx::mesh {

/// Attributes, where the blocks are, and their slots.
void write_structure(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info);
/// Values of these blocks, and their rows of the tables (zeros where a table is empty).
void write_content(hdf5_writer& file, std::span<const slot_id> slots, int block_size, const athdf_info& info,
                   bool of_parts, block_filler fill);
/// Upper bounds of their sizes in a file.
std::uint64_t structure_bytes(const block_mesh& mesh);
std::uint64_t content_bytes(std::size_t blocks, int block_size, const athdf_info& info);

/// One number per block.
struct block_table {
  const char* name;
  hid_t type;
  const void* values;
  std::size_t count;  ///< 0: not given
};
/// Parts have all tables, so that they fit together; a file of its own has those of localities never, Updates if given.
std::vector<block_table> tables_of(const athdf_info& info, bool of_parts);
/// Of the cells in the file.
hid_t value_type(const athdf_info& info);

}  // namespace plx::mesh
