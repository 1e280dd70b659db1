#include "driver/profile.h"
#include "driver/messages.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <thread>

namespace tl::driver {
namespace {

// Bytes per second that `threads` threads together read and write while they copy; the best of three.
double measure_bandwidth(int threads) {
  constexpr size_t bytes = 32 << 20;
  auto buffer = std::make_unique<std::byte[]>(2 * bytes); // cleared, so the pages are there
  double best = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<int> arrived{0};
    std::vector<std::thread> workers;
    auto n = static_cast<size_t>(threads);
    std::atomic<int64_t> begin{INT64_MAX}, end{0};
    for (size_t k = 0; k < n; ++k)
      workers.emplace_back([&, k] {
        arrived.fetch_add(1);
        while (arrived.load() < threads)
          std::this_thread::yield();
        auto now = [] { return Profile::Clock::now().time_since_epoch().count(); };
        int64_t start = now();
        size_t from = bytes / n * k, to = k + 1 == n ? bytes : bytes / n * (k + 1);
        std::memcpy(buffer.get() + bytes + from, buffer.get() + from, to - from);
        int64_t stop = now();
        for (int64_t seen = begin.load(); start < seen && !begin.compare_exchange_weak(seen, start);) {
        }
        for (int64_t seen = end.load(); stop > seen && !end.compare_exchange_weak(seen, stop);) {
        }
      });
    for (std::thread& worker : workers)
      worker.join();
    double seconds = std::chrono::duration<double>(Profile::Clock::duration(end - begin)).count();
    if (seconds > 0) best = std::max(best, 2.0 * bytes / seconds);
  }
  return best;
}

std::string short_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit)
    bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

} // namespace

std::string place_text(Span span, const SourceManager& sources) {
  if (!span.valid()) return "elsewhere";
  return fmt::format("{}:{}", sources.name(span.file), sources.line_column(span).line);
}

std::string profile_table(const Profile& profile, const Stats& stats, const std::vector<Location>& locations,
                          const SourceManager& sources, FileId main) {
  struct Line {
    Profile::Row row;
    std::string code;
  };
  std::map<std::string, Line> lines;
  for (const auto& [loc, row] : profile.rows()) {
    Span span = place_of(LocId{loc}, locations, sources, main);
    Line& line = lines[place_text(span, sources)];
    line.row.operations += row.operations;
    line.row.seconds += row.seconds;
    line.row.bytes += row.bytes;
    if (!span.valid()) continue;
    std::string_view code = sources.line_text(span.file, sources.line_column(span).line);
    code.remove_prefix(std::min(code.find_first_not_of(" \t"), code.size()));
    line.code = code;
  }
  std::vector<std::pair<std::string, Line>> sorted(lines.begin(), lines.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.row.seconds > b.second.row.seconds; });

  double limit = measure_bandwidth(stats.threads);
  std::string out = fmt::format("profile: {:.3f} s on {} threads; this machine copies {:.1f} GB/s\n", stats.seconds,
                                stats.threads, limit * 1e-9);
  out += fmt::format("{:>10} {:>6} {:>8} {:>9} {:>8} {:>8}  {}\n", "ms", "share", "calls", "bytes", "GB/s", "of limit",
                     "line");
  for (const auto& [place, line] : sorted) {
    const Profile::Row& row = line.row;
    double rate = row.seconds > 0 ? static_cast<double>(row.bytes) / row.seconds : 0;
    std::string moved = row.bytes ? short_bytes(static_cast<double>(row.bytes)) : "";
    std::string speed = row.bytes ? fmt::format("{:.2f}", rate * 1e-9) : "";
    std::string share = row.bytes && limit > 0 ? fmt::format("{:.0f} %", 100 * rate / limit) : "";
    out += fmt::format("{:>10.3f} {:>6} {:>8} {:>9} {:>8} {:>8}  {}  {}\n", row.seconds * 1e3,
                       fmt::format("{:.1f} %", stats.seconds > 0 ? 100 * row.seconds / stats.seconds : 0),
                       row.operations, moved, speed, share, place, line.code);
  }
  return out;
}

} // namespace tl::driver
