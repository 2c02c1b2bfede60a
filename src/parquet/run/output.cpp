#include "parquet/run/output.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/file.hpp"
#include "io/run_table.hpp"
#include "parquet/equations/rotation.hpp"

namespace plx::parquet {
namespace {

constexpr const char* tables[] = {"iterations.csv", "self_energy.csv", "susceptibility.csv", "eigenvalues.csv",
                                  "vertex.csv"};
constexpr std::pair<channel, const char*> susceptibilities[] = {
    {channel::density, "charge"}, {channel::magnetic, "spin"}, {channel::singlet, "pair"}};

std::string cells(std::complex<double> z) { return fmt::format(",{:.10g},{:.10g}", z.real(), z.imag()); }

// Time, and the work of the network. Zero: parcels and interval of a self-clocking setting; a default number of bytes;
// all of packed rows.
std::string work_cells(const iteration_report& r) {
  const rotation_work& w = r.rotation;
  const bool fixed = w.how.way == coalescing_way::fixed;
  return fmt::format(",{:.4f},{:.4f},{:.4f},{},{},{:.4f},{},{:g},{}\n", r.seconds, w.seconds, 1e-6 * w.sent_bytes,
                     w.parcels, w.messages, w.overhead, fixed ? w.how.parcels : 0, fixed ? w.how.interval_us : 0,
                     w.how.bytes);
}

}  // namespace

parquet_output::parquet_output(std::string folder, const parquet_options& o)
    : folder_(std::move(folder)),
      vertex_(o.vertex),
      planned_(o.frequencies.size()),
      model_(o.make_model().value()),
      lock_(std::make_unique<folder_lock>()) {
  if (model_.n_momenta() <= most_exact_sites) exact_ = exact_self_energy(model_, o.sigma_frequencies);
  for (int k = 0; k < model_.n_momenta(); ++k) {
    const std::complex<double> exact = exact_ ? exact_at(k, 0) : 0;
    add_name(fmt::format("self_energy_re,{}", place(k)), exact.real());
    add_name(fmt::format("self_energy_im,{}", place(k)), exact.imag());
  }
  for (int q = 0; q < model_.n_momenta(); ++q)
    for (const auto& [c, name] : susceptibilities)
      add_name(fmt::format("{}_susceptibility,{}", name, place(q)), exact_ ? exact_susceptibility(model_, c, q) : 0);
}

std::complex<double> parquet_output::exact_at(int momentum, int n) const {
  return exact_->sigma(momentum, n) + model_.u * (exact_->density - 1) / 2;
}

void parquet_output::add_name(std::string name, double exact) {
  names_.push_back(std::move(name));
  exact_cells_.push_back(exact_ ? fmt::format(",{:.10g}", exact) : std::string());
}

result<parquet_output> parquet_output::create(std::string folder, const std::string& config, const parquet_options& o) {
  parquet_output out(std::move(folder), o);
  if (auto r = begin_run_folder(out.folder_, *out.lock_, config, "plx-parquet", "checkpoint.h5"); !r) return r.error();
  return out;
}

result<parquet_output> parquet_output::reopen(std::string folder, const parquet_options& o) {
  parquet_output out(std::move(folder), o);
  if (auto r = reopen_run_folder(out.folder_, *out.lock_, "plx-parquet", "checkpoint.h5"); !r) return r.error();
  return out;
}

result<void> parquet_output::resume(const std::string& config, const parquet_checkpoint& c) {
  if (auto r = shorten_tables(folder_, tables, c.table_bytes, "channel"); !r) return r;
  for (const char* name : {"extrapolated.csv", "result.json"}) {
    std::error_code failed;
    std::filesystem::remove(file(name), failed);
  }
  runs_ = c.finished;
  return write_file(file("config.toml"), config);
}

result<std::vector<std::uint64_t>> parquet_output::table_bytes() const { return sizes_of_tables(folder_, tables); }

std::string parquet_output::place(int momentum) const {
  const auto q = model_.lattice->momentum(momentum);
  return fmt::format("{:.10g},{:.10g}", q[0], q[1]);
}

result<void> parquet_output::add(int frequencies, const iteration_report& r) {
  std::string row =
      fmt::format("{},{},{:.6g},{:.4g},{:.10g}", frequencies, r.iteration, r.residual, r.asymmetry, r.density);
  for (const auto& of_channel : r.eigenvalues) {
    double largest = -HUGE_VAL;
    for (double v : of_channel) largest = std::max(largest, v);
    row += fmt::format(",{:.6g}", largest);
  }
  return append_file(
      file("iterations.csv"),
      "frequencies,iteration,residual,asymmetry,density,eigenvalue_density,eigenvalue_magnetic,"
      "eigenvalue_singlet,eigenvalue_triplet,seconds,rotation_seconds,sent_mb,parcels,messages,network_overhead,"
      "coalesce_parcels,coalesce_interval_us,coalesce_bytes\n",
      row + work_cells(r));
}

result<void> parquet_output::add(const parquet_solution& s) {
  runs_.push_back(run_of(s));
  if (auto r = add_self_energy(s); !r) return r;
  if (auto r = add_susceptibilities(s); !r) return r;
  std::string rows;
  for (const channel c : all_channels)
    for (int q = 0; q < model_.n_momenta(); ++q)
      rows += fmt::format("{},{},{},{:.6g}\n", s.grid->frequencies(), name_of(c), place(q),
                          s.last.eigenvalues[static_cast<int>(c)][q]);
  if (auto r = append_file(file("eigenvalues.csv"), "frequencies,channel,qx,qy,eigenvalue\n", rows); !r) return r;
  return vertex_ ? add_vertex(s) : result<void>();
}

result<void> parquet_output::add_self_energy(const parquet_solution& s) {
  auto& values = runs_.back().values;
  std::string rows;
  for (int k = 0; k < model_.n_momenta(); ++k)
    for (int n = 0; n < s.sigma.n_frequencies(); ++n) {
      const auto sigma = s.sigma(k, n) + s.hartree();
      rows += fmt::format("{},{},{:.10g}", s.grid->frequencies(), place(k), qmc::matsubara_frequency(n, model_.beta)) +
              cells(s.green->green(k, n)) + cells(sigma);
      if (exact_) rows += cells(exact_at(k, n));
      rows += '\n';
      if (n == 0) values.insert(values.end(), {sigma.real(), sigma.imag()});
    }
  return append_file(file("self_energy.csv"),
                     fmt::format("frequencies,kx,ky,w,g_re,g_im,self_energy_re,self_energy_im{}\n",
                                 exact_ ? ",exact_re,exact_im" : ""),
                     rows);
}

result<void> parquet_output::add_susceptibilities(const parquet_solution& s) {
  std::string rows;
  for (int q = 0; q < model_.n_momenta(); ++q)
    for (int m = 0; m < s.grid->bosons(); ++m) {
      rows += fmt::format("{},{},{:.10g}", s.grid->frequencies(), place(q), 2 * m * M_PI / model_.beta);
      for (const auto& [c, name] : susceptibilities) {
        const auto chi = s.susceptibility(c, {q, m});
        rows += c == channel::singlet ? cells(chi) : fmt::format(",{:.10g}", chi.real());
        if (m == 0) runs_.back().values.push_back(chi.real());
      }
      rows += '\n';
    }
  return append_file(file("susceptibility.csv"), "frequencies,qx,qy,w,charge,spin,pair_re,pair_im\n", rows);
}

result<void> parquet_output::add_vertex(const parquet_solution& s) {
  const auto phi = s.reader();
  const int n_momenta = model_.n_momenta(), first = s.grid->first(true, 0), outside = s.grid->rows(0) - 1;
  for (int q = 0; q < n_momenta; ++q) {
    std::string rows;
    for (int i = 0; i < outside; ++i)
      for (int j = 0; j < outside; ++j) {
        const fermion k{i % n_momenta, first + i / n_momenta}, kp{j % n_momenta, first + j / n_momenta};
        rows += fmt::format("{},{},{},{},{},{}", s.grid->frequencies(), place(q), place(k.k), k.n, place(kp.k), kp.n);
        for (const channel c : all_channels) rows += cells(full_vertex(phi, c, k, kp, {q, 0}));
        rows += '\n';
      }
    if (auto r = append_file(file("vertex.csv"),
                             "frequencies,qx,qy,kx,ky,n,kx2,ky2,n2,density_re,density_im,magnetic_re,magnetic_im,"
                             "singlet_re,singlet_im,triplet_re,triplet_im\n",
                             rows);
        !r)
      return r;
  }
  return {};
}

std::pair<std::vector<int>, std::vector<estimate>> parquet_output::extrapolation() const {
  std::vector<int> n;
  for (const auto& run : runs_)
    if (run.converged) n.push_back(run.frequencies);
  std::vector<estimate> all;
  for (std::size_t i = 0; i < names_.size() && !n.empty(); ++i) {
    std::vector<double> values;
    for (const auto& run : runs_)
      if (run.converged) values.push_back(run.values[i]);
    all.push_back(extrapolated(n, values));
  }
  return {n, all};
}

std::string parquet_output::summary() const {
  const auto [n, all] = extrapolation();
  if (n.size() < 2) return "";
  std::map<std::string, std::size_t> largest;  // by quantity
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [at, is_new] = largest.emplace(names_[i].substr(0, names_[i].find(',')), i);
    if (std::abs(all[i].value) > std::abs(all[at->second].value)) at->second = i;
  }
  std::string lines;
  for (const auto& [quantity, i] : largest) {
    const auto place = names_[i].substr(quantity.size() + 1);  // "kx,ky"
    lines += fmt::format("extrapolated {} at ({:.2f}, {:.2f}): {:.6g} +- {:.2g}{}\n", quantity, std::stod(place),
                         std::stod(place.substr(place.find(',') + 1)), all[i].value, all[i].error,
                         exact_ ? fmt::format(", exact {}", exact_cells_[i].substr(1)) : "");
  }
  return lines;
}

result<void> parquet_output::finish() {
  const auto [n, all] = extrapolation();
  std::string runs;
  for (const auto& run : runs_) {
    runs += fmt::format(
        "{}{{\"frequencies\": {}, \"converged\": {}, \"iterations\": {}, \"residual\": {:.3g}, \"density\": {:.10g}, "
        "\"largest_eigenvalue\": {:.6g}}}",
        runs.empty() ? "" : ", ", run.frequencies, run.converged, run.iterations, run.residual, run.density,
        run.largest.eigenvalue);
  }
  if (!n.empty()) {
    std::string rows;
    for (std::size_t i = 0; i < all.size(); ++i)
      rows += fmt::format("{},{:.10g},{:.3g}{}\n", names_[i], all[i].value, all[i].error, exact_cells_[i]);
    const auto header = fmt::format("quantity,kx,ky,value,error{}\n", exact_ ? ",exact" : "");
    if (auto r = write_file(file("extrapolated.csv"), header + rows); !r) return r;
  }
  return write_file(file("result.json"),
                    fmt::format("{{\"complete\": {}, \"runs\": [{}]}}\n", n.size() == planned_, runs));
}

}  // namespace plx::parquet
