// Compares two mesh files of plx-star bit by bit: time, step, tree and every value. Measurements (cost, owner, idle
// rates) may differ.
//   compare_mesh_files ONE.athdf OTHER.athdf        exit code 0: the same
#include <hdf5.h>

#include <cstdio>
#include <vector>

namespace {

using bytes = std::vector<unsigned char>;

bytes dataset(hid_t file, const char* name) {
  const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
  if (set < 0) return {};
  const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  bytes all(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
  if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) all.clear();
  H5Tclose(type), H5Sclose(space), H5Dclose(set);
  return all;
}

bytes attribute(hid_t file, const char* name) {
  const hid_t value = H5Aopen(file, name, H5P_DEFAULT);
  if (value < 0) return {};
  const hid_t space = H5Aget_space(value), type = H5Aget_type(value);
  bytes all(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) * H5Tget_size(type));
  if (H5Aread(value, type, all.data()) < 0) all.clear();
  H5Tclose(type), H5Sclose(space), H5Aclose(value);
  return all;
}

bool same(const char* name, const bytes& one, const bytes& other) {
  if (!one.empty() && one == other) return true;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i) differ += one[i] != other[i] ? 1 : 0;
  std::printf("%s: %zu and %zu bytes, %zu of them differ\n", name, one.size(), other.size(), differ);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s ONE.athdf OTHER.athdf\n", argv[0]);
    return 2;
  }
  const hid_t one = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT),
              other = H5Fopen(argv[2], H5F_ACC_RDONLY, H5P_DEFAULT);
  if (one < 0 || other < 0) return 2;  // HDF5 has reported the reason
  bool all = true;
  for (const char* name : {"Time", "NumCycles", "NumMeshBlocks", "MaxLevel"})
    all = same(name, attribute(one, name), attribute(other, name)) && all;
  for (const char* name : {"Levels", "LogicalLocations", "prim"})
    all = same(name, dataset(one, name), dataset(other, name)) && all;
  H5Fclose(one), H5Fclose(other);
  std::printf("%s and %s: %s\n", argv[1], argv[2], all ? "the same, bit by bit" : "DIFFERENT");
  return all ? 0 : 1;
}
