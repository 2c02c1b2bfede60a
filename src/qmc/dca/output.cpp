#include "qmc/dca/output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.hpp"

namespace plx::qmc {
namespace {

std::string cells(const estimate& e) { return fmt::format(",{:.10g},{:.3g}", e.value, e.error); }
std::string cells(const std::optional<estimate>& e) { return e ? cells(*e) : ",,"; }

}  // namespace

result<dca_output> dca_output::create(std::string folder, const std::string& config) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error{fmt::format("{}: expected a folder that can be created: {}", folder, failed.message())};
  if (std::filesystem::exists(folder + "/config.toml", failed))
    return error{
        fmt::format("{}: contains the files of another run; choose another folder with --out, or remove it", folder)};
  if (auto r = write_file(folder + "/config.toml", config); !r) return r.error();
  return dca_output(std::move(folder));
}

result<void> dca_output::add(const dca_iteration& i) {
  return append_file(
      folder_ + "/iterations.csv",
      "t,iteration,mu,density,density_error,double_occupancy,double_occupancy_error,sign,sign_error,order,"
      "autocorrelation_time,change,seconds\n",
      fmt::format("{:.10g},{},{:.10g}{}{}{},{:.6g},{:.4g},{:.4g},{:.3f}\n", i.t, i.iteration, i.mu, cells(i.density),
                  cells(i.double_occupancy), cells(i.sign), i.order, i.autocorrelation_time, i.change, i.seconds));
}

result<void> dca_output::add(const dca_temperature& t, const cluster& c) {
  const auto row =
      fmt::format("{:.10g},{:.10g}{}{}{}{}{}{},{:.4f}\n", t.t, t.mu, cells(t.density), cells(t.double_occupancy),
                  cells(t.energy), cells(t.sign), cells(t.d_wave), cells(t.leading), t.d_wave_overlap);
  if (auto r = append_file(
          folder_ + "/temperatures.csv",
          "t,mu,density,density_error,double_occupancy,double_occupancy_error,energy,energy_error,sign,sign_error,"
          "lambda_d,lambda_d_error,lambda_leading,lambda_leading_error,d_wave_overlap\n",
          row);
      !r)
    return r;
  std::string rows;
  for (int k = 0; k < t.green.n_momenta(); ++k)
    for (int n = 0; n < t.green.n_frequencies(); ++n) {
      const auto q = c.momentum(k);
      const auto g = t.green(k, n), s = t.self_energy(k, n);
      rows += fmt::format("{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g},{:.10g}\n", t.t, q[0], q[1],
                          matsubara_frequency(n, 1 / t.t), g.real(), g.imag(), s.real(), s.imag());
    }
  return append_file(folder_ + "/green.csv", "t,kx,ky,w,g_re,g_im,self_energy_re,self_energy_im\n", rows);
}

result<void> dca_output::finish(const dca_outcome& o) {
  const auto tc =
      o.transition ? fmt::format("{{\"value\": {:.10g}, \"error\": {:.3g}}}", o.transition->value, o.transition->error)
                   : std::string("null");
  return write_file(folder_ + "/result.json", fmt::format("{{\"t_c\": {}, \"complete\": {}}}\n", tc, !o.stopped));
}

}  // namespace plx::qmc
