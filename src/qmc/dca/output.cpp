#include "qmc/dca/output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.hpp"
#include "io/hdf5_file.hpp"
#include "io/run_table.hpp"

namespace plx::qmc {
namespace {

constexpr const char* tables[] = {"iterations.csv", "temperatures.csv", "green.csv",
                                  "momenta.csv",    "sites.csv",        "four_points.csv"};

std::string cells(const estimate& e) { return fmt::format(",{:.10g},{:.3g}", e.value, e.error); }
std::string cells(const std::optional<estimate>& e) { return e ? cells(*e) : ",,"; }

constexpr const char* correlation_columns =
    "spin,spin_error,charge,charge_error,spin_susceptibility,spin_susceptibility_error,charge_susceptibility,"
    "charge_susceptibility_error";
constexpr correlation_estimate correlation_estimates::*correlation_members[] = {
    &correlation_estimates::spin, &correlation_estimates::charge, &correlation_estimates::spin_susceptibility,
    &correlation_estimates::charge_susceptibility};

}  // namespace

result<dca_output> dca_output::create(std::string folder, const std::string& config) {
  dca_output out(std::move(folder));
  if (auto r = begin_run_folder(out.folder_, *out.lock_, config, "plx-dca", "checkpoint.h5"); !r) return r.error();
  out.checkpoint_.options = config;
  return out;
}

result<dca_output> dca_output::reopen(std::string folder) {
  dca_output out(std::move(folder));
  if (auto r = reopen_run_folder(out.folder_, *out.lock_, "plx-dca", "checkpoint.h5"); !r) return r.error();
  auto c = read_dca_checkpoint(out.file("checkpoint.h5"));
  if (!c) return c.error();
  if (auto r = check_same_run(*c, out.file("config.toml")); !r) return r.error();
  if (auto r = check_parts_exist(out.folder_, c->state.functions); !r) return r.error();
  out.checkpoint_ = *std::move(c);
  out.saved_functions_ = out.checkpoint_.state.functions;
  return out;
}

bool dca_output::is_finished(const dca_options& options) const {
  const auto found = read_file(file("result.json"));
  for (std::size_t i = 0; i < std::size(tables); ++i) {  // rows after the checkpoint are removed by resume()
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(file(tables[i]), missing);
    if (i < checkpoint_.table_bytes.size() && (missing ? 0 : bytes) != checkpoint_.table_bytes[i]) return false;
  }
  return found && found->find("\"complete\": true") != std::string::npos &&
         checkpoint_.state.t.size() == options.temperatures.size();
}

result<void> dca_output::resume(const std::string& config) {
  if (auto r = shorten_tables(folder_, tables, checkpoint_.table_bytes, "channel"); !r) return r;
  std::error_code failed;
  std::filesystem::remove(file("result.json"), failed);
  checkpoint_.options = config;
  return write_file(file("config.toml"), config);
}

result<void> dca_output::add(const dca_state& s) {
  auto written = write_checkpoint(s);
  if (written) saved_functions_ = s.functions;
  remove_unused_parts();  // those of this state if it has failed: the disk may be full
  return written;
}

result<void> dca_output::write_checkpoint(const dca_state& s) {
  auto bytes = sizes_of_tables(folder_, tables);
  if (!bytes) return bytes.error();
  checkpoint_.table_bytes = *std::move(bytes);
  if (auto r = check_parts_exist(folder_, s.functions); !r) return r;
  checkpoint_.state = s;
  auto written = write_dca_checkpoint(file("checkpoint.h5"), checkpoint_);
  checkpoint_.state.walkers = {};  // may have gigabytes of bins
  return written;
}

void dca_output::remove_unused_parts() const { remove_other_parts(folder_, saved_functions_); }

result<void> dca_output::add(const dca_iteration& i) {
  return append_file(
      file("iterations.csv"),
      "t,iteration,mu,density,density_error,double_occupancy,double_occupancy_error,sign,sign_error,order,"
      "autocorrelation_time,change,seconds,wait_s,exchanged_mb,acceptance,drift\n",
      fmt::format("{:.10g},{},{:.10g}{}{}{},{:.6g},{:.4g},{:.4g},{:.3f},{:.3g},{:.3g},{:.4g},{:.2g}\n", i.t,
                  i.iteration, i.mu, cells(i.density), cells(i.double_occupancy), cells(i.sign), i.order,
                  i.autocorrelation_time, i.change, i.seconds, i.wait_s, i.exchanged_mb, i.acceptance, i.drift));
}

result<void> dca_output::add(const dca_temperature& t, const cluster& c) {
  const auto& more = t.correlations;
  const auto pairs = [&](int f) { return more ? cells(more->pairs[f]) : std::string(",,"); };
  const auto row = fmt::format("{:.10g},{:.10g}{}{}{}{}{}{},{:.4f}{}{}{}{}{}{}\n", t.t, t.mu, cells(t.density),
                               cells(t.double_occupancy), cells(t.energy), cells(t.sign), cells(t.d_wave),
                               cells(t.leading), t.d_wave_overlap, cells(t.kinetic_energy), cells(t.potential_energy),
                               more ? cells(more->double_occupancy) : ",,", pairs(0), pairs(1), pairs(2));
  if (auto r = append_file(
          file("temperatures.csv"),
          "t,mu,density,density_error,double_occupancy,double_occupancy_error,energy,energy_error,sign,sign_error,"
          "lambda_d,lambda_d_error,lambda_leading,lambda_leading_error,d_wave_overlap,kinetic,kinetic_error,potential,"
          "potential_error,double_occupancy_local,double_occupancy_local_error,pairs_s,pairs_s_error,"
          "pairs_extended_s,pairs_extended_s_error,pairs_d,pairs_d_error\n",
          row);
      !r)
    return r;
  if (auto r = add_momenta(t, c); !r) return r;
  if (auto r = add_sites(t, c); !r) return r;
  if (auto r = add_four_points(t, c); !r) return r;
  if (auto r = write_functions(t, c); !r) return r;
  std::string rows;
  for (int k = 0; k < t.green.n_momenta(); ++k)
    for (int n = 0; n < t.green.n_frequencies(); ++n) {
      const auto q = c.momentum(k);
      rows += fmt::format("{:.10g},{:.10g},{:.10g},{:.10g}", t.t, q[0], q[1], matsubara_frequency(n, 1 / t.t));
      const std::complex<double> values[] = {t.green(k, n), t.self_energy(k, n)},
                                 errors[] = {t.green_error(k, n), t.self_energy_error(k, n)};
      for (int i = 0; i < 2; ++i)
        rows += cells({values[i].real(), errors[i].real()}) + cells({values[i].imag(), errors[i].imag()});
      rows += '\n';
    }
  return append_file(file("green.csv"),
                     "t,kx,ky,w,g_re,g_re_error,g_im,g_im_error,self_energy_re,self_energy_re_error,self_energy_im,"
                     "self_energy_im_error\n",
                     rows);
}

result<void> dca_output::add_momenta(const dca_temperature& t, const cluster& c) {
  std::string rows;
  for (int k = 0; k < c.n_sites(); ++k) {
    const auto q = c.momentum(k);
    rows += fmt::format("{:.10g},{:.10g},{:.10g}{}", t.t, q[0], q[1], cells(t.occupation[k]));
    for (const auto member : correlation_members)
      rows += t.correlations ? cells(((*t.correlations).*member).of_momentum[k]) : ",,";
    rows += '\n';
  }
  return append_file(file("momenta.csv"), fmt::format("t,kx,ky,occupation,occupation_error,{}\n", correlation_columns),
                     rows);
}

result<void> dca_output::add_sites(const dca_temperature& t, const cluster& c) {
  if (!t.correlations) return {};
  std::string rows;
  for (int r = 0; r < c.n_sites(); ++r) {
    rows += fmt::format("{:.10g},{},{}", t.t, c.sites()[r][0], c.sites()[r][1]);
    for (const auto member : correlation_members) rows += cells(((*t.correlations).*member).of_site[r]);
    rows += '\n';
  }
  return append_file(file("sites.csv"), fmt::format("t,x,y,{}\n", correlation_columns), rows);
}

result<void> dca_output::add_four_points(const dca_temperature& t, const cluster& c) {
  if (t.four_points.empty()) return {};
  std::string rows;
  for (const auto& p : t.four_points) {
    const auto q = c.momentum(p.function.momentum);
    rows += fmt::format("{:.10g},{},{:.10g},{:.10g},{}{}{}{}{}\n", t.t, name_of(p.function.channel), q[0], q[1],
                        p.function.frequency, cells(p.lattice), cells(p.cluster), cells(p.bubble), cells(p.leading));
  }
  return append_file(
      file("four_points.csv"),
      "t,channel,qx,qy,frequency,lattice,lattice_error,cluster,cluster_error,bubble,bubble_error,leading,"
      "leading_error\n",
      rows);
}

// Complex numbers are pairs of real and imaginary part, as in h5py's arrays of shape [...][2].
result<void> dca_output::write_functions(const dca_temperature& t, const cluster& c) const {
  std::error_code failed;
  const std::string folder = file("functions");
  std::filesystem::create_directories(folder, failed);
  if (failed) return file_error("make the folder", folder, failed.value());
  const auto n_k = static_cast<hsize_t>(t.green.n_momenta()), n_w = static_cast<hsize_t>(t.green.n_frequencies());
  const auto n_p = static_cast<hsize_t>(t.pairs.rows());
  const auto n_4 = static_cast<hsize_t>(t.four_points.empty() ? 0 : t.four_points[0].mean.rows());
  const auto lock = hdf5_lock();
  auto out = hdf5_writer::create(fmt::format("{}/T{:g}.h5", folder, t.t),
                                 65536 + sizeof(double) * (8 * n_k * n_w + n_w + 2 * n_k + n_p * n_p) +
                                     t.four_points.size() * (16384 + 2 * sizeof(double) * n_4 * n_4));
  if (!out) return out.error();
  out->attribute("Temperature", t.t);
  out->attribute("ChemicalPotential", t.mu);
  const auto write = [&](const char* name, const extents& size, const std::vector<double>& values) {
    out->dataset(name, size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
  };
  std::vector<double> momenta, frequencies, pairs;
  for (int k = 0; k < c.n_sites(); ++k)
    for (double x : c.momentum(k)) momenta.push_back(x);
  for (int n = 0; n < t.green.n_frequencies(); ++n) frequencies.push_back(matsubara_frequency(n, 1 / t.t));
  for (int i = 0; i < t.pairs.rows(); ++i)
    for (int j = 0; j < t.pairs.columns(); ++j) pairs.push_back(t.pairs(i, j));
  write("Momenta", {n_k, 2}, momenta);
  write("Frequencies", {n_w}, frequencies);
  const std::pair<const char*, const matsubara_function*> functions[] = {{"Green", &t.green},
                                                                         {"GreenError", &t.green_error},
                                                                         {"SelfEnergy", &t.self_energy},
                                                                         {"SelfEnergyError", &t.self_energy_error}};
  for (const auto& [name, f] : functions) {
    std::vector<double> values;
    for (int k = 0; k < f->n_momenta(); ++k)
      for (int n = 0; n < f->n_frequencies(); ++n) values.insert(values.end(), {(*f)(k, n).real(), (*f)(k, n).imag()});
    write(name, {n_k, n_w, 2}, values);
  }
  // Rows and columns: for each momentum the frequencies from the most negative on.
  if (n_p > 0) write("PairFunction", {n_p, n_p}, pairs);
  for (const auto& p : t.four_points) {
    std::vector<double> values;
    for (int i = 0; i < p.mean.rows(); ++i)
      for (int j = 0; j < p.mean.columns(); ++j)
        values.insert(values.end(), {p.mean(i, j).real(), p.mean(i, j).imag()});
    // Named by the channel, the index of q in Momenta, and the frequency transfer.
    const auto name =
        fmt::format("FourPoint_{}_q{}_m{}", name_of(p.function.channel), p.function.momentum, p.function.frequency);
    write(name.c_str(), {n_4, n_4, 2}, values);
  }
  return out->commit();
}

result<void> dca_output::add(const cluster& c) {
  const auto list = [](const auto& points) {
    std::string text;
    for (const auto& p : points) text += fmt::format("{}[{}, {}]", text.empty() ? "" : ", ", p[0], p[1]);
    return "[" + text + "]";
  };
  std::vector<std::array<double, 2>> momenta;
  for (int k = 0; k < c.n_sites(); ++k) momenta.push_back(c.momentum(k));
  const std::vector<lattice_vector> vectors = {c.a1(), c.a2()};
  return write_file(file("cluster.json"),
                    fmt::format("{{\"vectors\": {},\n\"sites\": {},\n\"momenta\": {},\n\"patch\": {}}}\n",
                                list(vectors), list(c.sites()), list(momenta), list(c.patch())));
}

result<void> dca_output::finish(const dca_outcome& o) {
  const auto tc =
      o.transition ? fmt::format("{{\"value\": {:.10g}, \"error\": {:.3g}}}", o.transition->value, o.transition->error)
                   : std::string("null");
  return write_file(file("result.json"), fmt::format("{{\"t_c\": {}, \"complete\": {}}}\n", tc, !o.stopped));
}

}  // namespace plx::qmc
