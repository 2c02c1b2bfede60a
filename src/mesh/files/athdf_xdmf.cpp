#include <fmt/format.h>

#include <iterator>

#include "mesh/files/athdf_content.hpp"

namespace plx::mesh {

namespace {

class text {
 public:
  text(const std::string& file, const block_mesh& mesh, const athdf_info& info, bool of_parts)
      : file_(file), info_(info), of_parts_(of_parts), n_(mesh.block_size()), blocks_(mesh.block_count()) {}

  std::string all() {
    add("<?xml version=\"1.0\" ?>\n<Xdmf Version=\"3.0\">\n<Domain>\n");
    add("<Grid Name=\"mesh\" GridType=\"Collection\" CollectionType=\"Spatial\">\n<Time Value=\"{}\"/>\n", info_.time);
    for (std::size_t p = 0; p < blocks_; ++p) block(p);
    add("</Grid>\n</Domain>\n</Xdmf>\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }

  void block(std::size_t p) {
    add("<Grid Name=\"block{}\" GridType=\"Uniform\">\n", p);
    add("<Topology TopologyType=\"3DRectMesh\" Dimensions=\"{0} {0} {0}\"/>\n<Geometry GeometryType=\"VXVYVZ\">\n",
        n_ + 1);
    for (const char* axis : {"x1f", "x2f", "x3f"}) {
      add("<DataItem ItemType=\"HyperSlab\" Dimensions=\"{0}\"><DataItem Dimensions=\"3 2\" NumberType=\"Int\">{1} 0 1 "
          "1 "
          "1 {0}</DataItem>",
          n_ + 1, p);
      item(axis, fmt::format("{} {}", blocks_, n_ + 1), "Float", 8);
      add("</DataItem>\n");
    }
    add("</Geometry>\n");
    for (const athdf_dataset& set : info_.datasets)
      for (std::size_t v = 0; v < set.variables.size(); ++v) variable(p, set, v);
    per_block(p, "Level", "Levels", "Int", 4);
    per_block(p, "Cost", "Cost", "Float", 8);
    per_block(p, "Owner", "Owner", "Int", 4);
    per_block(p, "IdleRate", "IdleRate", "Float", 8);
    if (of_parts_) {
      per_block(p, "Locality", "Locality", "Int", 4);
      per_block(p, "LocalityIdleRate", "LocalityIdleRate", "Float", 8);
    }
    add("</Grid>\n");
  }

  void variable(std::size_t p, const athdf_dataset& set, std::size_t v) {
    add("<Attribute Name=\"{0}\" Center=\"Cell\"><DataItem ItemType=\"HyperSlab\" Dimensions=\"{1} {1} {1}\"><DataItem "
        "Dimensions=\"3 5\" NumberType=\"Int\">{2} {3} 0 0 0 1 1 1 1 1 1 1 {1} {1} {1}</DataItem>",
        set.variables[v], n_, v, p);
    item(set.name, fmt::format("{0} {1} {2} {2} {2}", set.variables.size(), blocks_, n_), "Float",
         info_.single_precision ? 4 : 8);
    add("</DataItem></Attribute>\n");
  }

  void per_block(std::size_t p, const char* name, const char* dataset, const char* type, int precision) {
    add("<Attribute Name=\"{}\" Center=\"Grid\"><DataItem ItemType=\"HyperSlab\" Dimensions=\"1\"><DataItem "
        "Dimensions=\"3 1\" NumberType=\"Int\">{} 1 1</DataItem>",
        name, p);
    item(dataset, fmt::format("{}", blocks_), type, precision);
    add("</DataItem></Attribute>\n");
  }

  void item(const std::string& dataset, const std::string& size, const char* type, int precision) {
    add("<DataItem Dimensions=\"{}\" NumberType=\"{}\" Precision=\"{}\" Format=\"HDF\">{}:/{}</DataItem>", size, type,
        precision, file_, dataset);
  }

  std::string file_;
  const athdf_info& info_;
  bool of_parts_;
  int n_;
  std::size_t blocks_;
  std::string out_;
};

}  // namespace

std::string xdmf_path(const std::string& path) {
  const std::string ending = ".athdf";
  const bool ends = path.size() > ending.size() && path.ends_with(ending);
  return (ends ? path.substr(0, path.size() - ending.size()) : path) + ".xdmf";
}

std::string xdmf_text(const std::string& path, const block_mesh& mesh, const athdf_info& info, bool of_parts) {
  return text(path.substr(path.rfind('/') + 1), mesh, info, of_parts).all();  // both files are in one folder
}

}  // namespace plx::mesh
