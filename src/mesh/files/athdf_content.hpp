// The content of a mesh file: the structure of the whole mesh, and the values of some of its blocks. A single file has
// both; with several localities each writes the values of its blocks. Private to mesh.
//
// Thread safety: under hdf5_lock(). Cost: the disk; some MB of memory. Example: mesh/files/test/athdf_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_file.hpp"
#include "mesh/files/athdf.hpp"

namespace plx::mesh {

/// Writes attributes, the locations of the blocks, and their slots.
void write_structure(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info);
/// Writes the values of these blocks, and their rows of the tables (zeros if a table is empty).
void write_content(hdf5_writer& file, std::span<const slot_id> slots, int block_size, const athdf_info& info,
                   bool of_parts, block_filler fill);
/// Upper bounds of the sizes in a file.
std::uint64_t structure_bytes(const block_mesh& mesh);
std::uint64_t content_bytes(std::size_t blocks, int block_size, const athdf_info& info);

/// One number per block.
struct block_table {
  const char* name;
  hid_t type;
  const void* values;
  std::size_t count;  ///< 0: not given
};
/// The tables of a file. Parts have all of them, so that they fit together; a single file has no table of localities,
/// and Updates only if given.
std::vector<block_table> tables_of(const athdf_info& info, bool of_parts);
/// The type of the cells in the file.
hid_t value_type(const athdf_info& info);

// The .xdmf file beside an .athdf: it describes the layout of the numbers to ParaView and VisIt. Cost: some KB of text
// per block.
/// `path` with its ending .athdf replaced by .xdmf.
std::string xdmf_path(const std::string& path);
/// `of_parts`: with the tables that exist only in files of several localities.
std::string xdmf_text(const std::string& path, const block_mesh& mesh, const athdf_info& info, bool of_parts);

}  // namespace plx::mesh
