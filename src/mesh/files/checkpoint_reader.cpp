#include "mesh/files/checkpoint_reader.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "mesh/files/checkpoint_format.hpp"

namespace plx::mesh {

namespace {

constexpr const char* advice = "remove it to continue from the previous one";

}  // namespace

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint) {
  return open(checkpoint, "", checkpoint_format);
}

result<checkpoint_reader> checkpoint_reader::open_part(const std::string& checkpoint, const std::string& part) {
  return open(checkpoint, part, checkpoint_part_format);
}

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint, const std::string& part,
                                                  const char* format) {
  checkpoint_reader r(checkpoint, part);
  if (auto size = r.check_size(); !size) return size.error();
  auto file = hdf5_reader::open(r.path());
  if (!file) return r.damaged(file.error().message);
  static_cast<hdf5_reader&>(r) = *std::move(file);
  if (auto checked = r.check_format(format); !checked) return checked.error();
  return r;
}

std::string checkpoint_reader::path() const {
  return part_.empty() ? checkpoint_ : checkpoint_.substr(0, checkpoint_.rfind('/') + 1) + part_;
}

error checkpoint_reader::damaged(const std::string& what) const {
  const std::string where = part_.empty() ? "" : fmt::format("its part '{}': ", part_);
  return error{fmt::format("checkpoint '{}' is damaged: {}{}; {}", checkpoint_, where, what, advice)};
}

result<void> checkpoint_reader::check_size() {
  struct stat there {};
  const bool exists = stat(path().c_str(), &there) == 0;
  const auto size = sizes_of(path());
  if (!size) {
    if (!part_.empty()) return damaged(size.error().message);
    if (exists && !S_ISREG(there.st_mode))
      return error{fmt::format("'{}' is not a checkpoint: expected a file", path())};
    return error{fmt::format("cannot read checkpoint '{}': {}", path(), size.error().message)};
  }
  if (size->found > 0 && !size->is_hdf5) {
    if (!part_.empty()) return damaged("expected an HDF5 file");
    return error{fmt::format("'{}' is not a checkpoint: expected an HDF5 file written by plx", path())};
  }
  if (size->found >= size->expected) return {};
  if (!part_.empty())
    return damaged(fmt::format("it is truncated: expected {} bytes, found {}", size->expected, size->found));
  return error{fmt::format("checkpoint '{}' is truncated: expected {} bytes, found {}; {}", checkpoint_, size->expected,
                           size->found, advice)};
}

result<void> checkpoint_reader::check_format(const char* expected) const {
  std::vector<std::string> format;
  if (!has("Format") || !texts("Format", format) || format.size() != 1 || format[0] != expected) {
    if (!part_.empty()) return damaged("it is not a part of a checkpoint");
    return error{fmt::format("'{}' is not a checkpoint: an HDF5 file, but not written as one", path())};
  }
  int version = 0, complete = 0;
  if (!integer("Version", version)) return damaged("it has no version");
  if (version != checkpoint_version) {
    std::string build;
    if (!text("Build", build)) build = "an unknown program";
    return error{
        fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})",
                    path(), version, checkpoint_version, build)};
  }
  if (!has("Complete") || !integer("Complete", complete) || complete != 1) return damaged("its writer did not finish");
  return {};
}

}  // namespace plx::mesh
