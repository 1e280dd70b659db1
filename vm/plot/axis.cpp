#include "vm/plot/axis.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace tl::plot {
namespace {

constexpr size_t kMostTicks = 50;
constexpr double kLowest = std::numeric_limits<double>::lowest(), kGreatest = std::numeric_limits<double>::max();

// Of a power of ten: 1, 2 or 5 of them, so that about `count` fit into the span.
long double nice_step(long double span, int count) {
  const long double rough = span / count, power = std::pow(10.0L, std::floor(std::log10(rough)));
  for (long double factor : {1.0L, 2.0L, 5.0L})
    if (rough <= factor * power * 1.0000001L) return factor * power;
  return 10 * power;
}

std::string tick_label(double value, double step, double largest) {
  if (value == 0) return "0";
  if (largest < 1e6 && step >= 1e-4 * 0.999) {
    int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
    return fmt::format("{:.{}f}", value, decimals);
  }
  int digits = std::clamp(static_cast<int>(std::ceil(std::log10(largest / step) - 1e-9)) + 1, 1, 17);
  return fmt::format("{:.{}g}", value, digits);
}

void add_tick(Axis& axis, double tick, std::string label) {
  if (axis.ticks.size() >= kMostTicks || (!axis.ticks.empty() && tick == axis.ticks.back())) return;
  axis.ticks.push_back(tick);
  axis.labels.push_back(std::move(label));
}

void linear_ticks(Axis& axis, long double step, long double first, long double last) {
  const double largest = std::max(std::abs(axis.lo), std::abs(axis.hi));
  for (long double k = first; k <= last && axis.ticks.size() < kMostTicks; ++k) {
    const auto tick = static_cast<double>(k * step);
    add_tick(axis, tick,
             tick_label(tick, static_cast<double>(step), largest)); // once where it is finer than numbers are
  }
}

Range ordered(double a, double b) { return {std::min(a, b), std::max(a, b)}; }

void linear_ticks_between(Axis& axis, int count) {
  const Range range = ordered(axis.lo, axis.hi);
  const long double step = nice_step(static_cast<long double>(range.hi) - range.lo, count);
  linear_ticks(axis, step, std::ceil(range.lo / step - 1e-9L), std::floor(range.hi / step + 1e-9L));
}

// ---- Logarithmic

std::string superscript(int n) {
  static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text;
  for (char c : std::to_string(n))
    text += c == '-' ? "⁻" : digits[c - '0'];
  return text;
}

std::string power_label(int factor, int exponent, bool plain) {
  if (plain) return fmt::format("{:g}", factor * std::pow(10.0, exponent));
  return (factor == 1 ? "" : std::to_string(factor) + "×") + "10" + superscript(exponent);
}

// The multiples of each power in the range, of every `stride`-th.
void log_ticks(Axis& axis, std::initializer_list<int> factors, int stride) {
  const Range range = ordered(axis.lo, axis.hi);
  const int first = static_cast<int>(std::floor(std::log10(range.lo) - 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(range.hi)));
  const bool plain = range.lo >= 0.999e-3 && range.hi < 1e5;
  for (int e = first; e <= last; ++e) {
    if (stride > 1 && ((e % stride) + stride) % stride != 0) continue;
    for (int factor : factors) {
      const double tick = std::strtod(fmt::format("{}e{}", factor, e).c_str(), nullptr);
      if (tick >= range.lo * (1 - 1e-12) && tick <= range.hi * (1 + 1e-12))
        add_tick(axis, tick, power_label(factor, e, plain));
    }
  }
}

void log_ticks_between(Axis& axis, int count) {
  const double decades = std::abs(std::log10(axis.hi) - std::log10(axis.lo));
  auto attempt = [&](std::initializer_list<int> factors, int stride) {
    axis.ticks.clear();
    axis.labels.clear();
    log_ticks(axis, factors, stride);
    return axis.ticks.size() >= 3;
  };
  if (decades >= count) {
    (void)attempt({1}, static_cast<int>(std::ceil(decades / count)));
    return;
  }
  if (decades >= 2.5 && attempt({1}, 1)) return;
  if (attempt({1, 2, 5}, 1)) return;
  axis.ticks.clear();
  axis.labels.clear();
  linear_ticks_between(axis, count);
}

// The nearest 1, 2 or 5 times a power of ten on this side of a number.
double round_down(double x) {
  const double power = std::pow(10.0, std::floor(std::log10(x) + 1e-12));
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power <= x * (1 + 1e-12)) return factor * power;
  return x;
}
double round_up(double x) {
  const double power = std::pow(10.0, std::floor(std::log10(x) + 1e-12));
  for (double factor : {1.0, 2.0, 5.0, 10.0})
    if (factor * power >= x * (1 - 1e-12)) return factor * power;
  return x;
}

// ---- Time

constexpr int64_t kDay = 86400;
using Days = std::chrono::sys_days;

Days day_of(int64_t seconds) { return Days(std::chrono::days(seconds / kDay - (seconds % kDay < 0))); }

std::string date_text(int64_t seconds, bool with_day) {
  const std::chrono::year_month_day date(day_of(seconds));
  std::string text = fmt::format("{}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()));
  return with_day ? text + fmt::format("-{:02}", static_cast<unsigned>(date.day())) : text;
}

std::string time_label(double tick, double step) {
  const auto seconds = static_cast<int64_t>(std::floor(tick));
  const int64_t of_day = ((seconds % kDay) + kDay) % kDay;
  if (step >= kDay) return date_text(seconds, true);
  const std::string minutes = fmt::format("{:02}:{:02}", of_day / 3600, of_day / 60 % 60);
  if (step >= 3600) return of_day ? minutes : date_text(seconds, true);
  if (step >= 60) return minutes;
  if (step >= 1) return fmt::format("{}:{:02}", minutes, of_day % 60);
  const int decimals = static_cast<int>(std::ceil(-std::log10(step)));
  return fmt::format("{:02}:{:0{}.{}f}", of_day / 60 % 60, static_cast<double>(of_day % 60) + (tick - std::floor(tick)),
                     decimals + 3, decimals);
}

void month_ticks(Axis& axis, const Range& range, int step) {
  const std::chrono::year_month_day first(day_of(static_cast<int64_t>(range.lo)));
  int month = static_cast<int>(first.year()) * 12 + static_cast<int>(static_cast<unsigned>(first.month())) - 1;
  for (month -= ((month % step) + step) % step;; month += step) {
    const int year = month >= 0 ? month / 12 : (month - 11) / 12;
    const Days day = std::chrono::year(year) / (month - year * 12 + 1) / 1;
    const auto tick = static_cast<double>(day.time_since_epoch().count() * kDay);
    if (tick > range.hi || axis.ticks.size() >= kMostTicks) return;
    if (tick < range.lo) continue;
    add_tick(axis, tick, step % 12 == 0 ? std::to_string(year) : date_text(static_cast<int64_t>(tick), false));
  }
}

void time_ticks_between(Axis& axis, int count) {
  static constexpr double steps[] = {1,   2,    5,    10,   15,    30,    60,    120,  300,      600,
                                     900, 1800, 3600, 7200, 10800, 21600, 43200, kDay, 2 * kDay, 7 * kDay};
  const Range range = ordered(axis.lo, axis.hi);
  const double rough = (range.hi - range.lo) / count;
  if (rough > 14 * kDay) {
    const double months = rough / (30.44 * kDay);
    for (int step : {1, 2, 3, 6})
      if (months <= step) return month_ticks(axis, range, step);
    const double years = static_cast<double>(nice_step(static_cast<long double>(months) / 12, 1));
    return month_ticks(axis, range, 12 * std::max(1, static_cast<int>(years)));
  }
  double step = 14 * kDay;
  for (double s : steps)
    if (rough <= s) {
      step = s;
      break;
    }
  if (rough < 1) step = static_cast<double>(nice_step(static_cast<long double>(range.hi) - range.lo, count));
  for (double k = std::ceil(range.lo / step); k * step <= range.hi && axis.ticks.size() < kMostTicks; ++k)
    add_tick(axis, k * step, time_label(k * step, step));
}

// Beyond the years that a date has.
bool is_date(double seconds) { return std::abs(seconds) < 9e11; }

double log_of(double v) { return v > 0 ? std::log10(v) : std::numeric_limits<double>::quiet_NaN(); }

Range widened(Range range) {
  if (range.empty()) return {0, 1};
  if (range.lo < range.hi) return range;
  const double half = range.lo == 0 ? 0.5 : std::abs(range.lo) * 0.1;
  return {std::max(range.lo - half, kLowest), std::min(range.hi + half, kGreatest)};
}

} // namespace

void Range::add(double v) {
  if (!std::isfinite(v)) return;
  lo = std::min(lo, v);
  hi = std::max(hi, v);
}

double Axis::position(double value) const {
  if (scale == Scale::Log) return (log_of(value) - log_of(lo)) / (log_of(hi) - log_of(lo));
  const long double from = lo;
  return static_cast<double>((value - from) / (hi - from));
}

Axis axis_between(Scale scale, double lo, double hi, int count) {
  Axis axis{scale, lo, hi, {}, {}};
  if (scale == Scale::Log)
    log_ticks_between(axis, count);
  else if (scale == Scale::Time && is_date(lo) && is_date(hi))
    time_ticks_between(axis, count);
  else
    linear_ticks_between(axis, count);
  return axis;
}

Axis linear_axis(Range range, int count, bool whole) {
  range = widened(range);
  if (!whole) return axis_between(Scale::Linear, range.lo, range.hi, count);
  const long double step = nice_step(static_cast<long double>(range.hi) - range.lo, count);
  const long double first = std::floor(range.lo / step + 1e-9L), last = std::ceil(range.hi / step - 1e-9L);
  if (!std::isfinite(static_cast<double>(first * step)) || !std::isfinite(static_cast<double>(last * step)))
    return axis_between(Scale::Linear, range.lo, range.hi, count);
  Axis axis;
  axis.lo = std::min(range.lo, static_cast<double>(first * step));
  axis.hi = std::max(range.hi, static_cast<double>(last * step));
  linear_ticks(axis, step, first, last);
  return axis;
}

Axis log_axis(Range range, int count, bool whole) {
  if (range.empty()) range = {1, 10};
  if (range.lo == range.hi) range = {range.lo / 2, std::min(range.hi * 2, kGreatest)};
  if (whole) {
    const double lo = round_down(range.lo), hi = round_up(range.hi);
    if (lo > 0) range.lo = std::min(range.lo, lo);
    if (std::isfinite(hi)) range.hi = std::max(range.hi, hi);
  }
  return axis_between(Scale::Log, range.lo, range.hi, count);
}

Axis time_axis(Range range, int count) {
  if (range.empty()) range = {0, kDay};
  if (range.lo == range.hi) range = {range.lo - 0.5 * kDay, range.hi + 0.5 * kDay};
  return axis_between(Scale::Time, range.lo, range.hi, count);
}

Axis category_axis(const std::vector<std::string>& names) {
  Axis axis;
  axis.scale = Scale::Categories;
  axis.lo = -0.5;
  axis.hi = std::max(0.5, static_cast<double>(names.size()) - 0.5);
  for (size_t i = 0; i < names.size(); ++i) {
    axis.ticks.push_back(static_cast<double>(i));
    axis.labels.push_back(names[i]);
  }
  return axis;
}

} // namespace tl::plot
