// The .xdmf beside an .athdf: it tells ParaView and VisIt where the numbers are. Inside mesh only.
//
// Thread safety: pure. Cost: some KB of text per block. Example: mesh/athdf_test.cpp
#pragma once

#include <string>

#include "mesh/athdf.hpp"

namespace plx::mesh {

/// path with .xdmf for .athdf at its end.
std::string xdmf_path(const std::string& path);
/// `of_parts`: with the tables that only files of many localities have.
std::string xdmf_text(const std::string& path, const block_mesh& mesh, const athdf_info& info, bool of_parts);

}  // namespace plx::mesh
