// The .xdmf file of an .athdf: it describes the layout of the numbers to ParaView and VisIt. Private to mesh.
//
// Thread safety: pure. Cost: some KB of text per block. Example: mesh/files/test/athdf_test.cpp
#pragma once

#include <string>

#include "mesh/files/athdf.hpp"

namespace plx::mesh {

/// `path` with its ending .athdf replaced by .xdmf.
std::string xdmf_path(const std::string& path);
/// `of_parts`: with the tables that exist only in files of several localities.
std::string xdmf_text(const std::string& path, const block_mesh& mesh, const athdf_info& info, bool of_parts);

}  // namespace plx::mesh
