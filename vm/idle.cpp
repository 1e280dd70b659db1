#include "vm/idle.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace tl {
namespace {

using Why = IdleReport::Why;

class Sweep {
public:
  // Of the threads; or, device >= 0, of this card.
  explicit Sweep(const Profile& profile, int card = -1)
      : p_(profile), card_(card), capacity_(card < 0 ? profile.workers() : 1) {
    for (const Profile::Device& device : p_.devices())
      cores_.push_back(card < 0 ? device.cores : 0);
    if (card >= 0) cores_[static_cast<size_t>(card)] = 1;
    collect();
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  }

  IdleReport run() {
    IdleReport report;
    report.threads = capacity_;
    if (card_ >= 0) report.card = p_.devices()[static_cast<size_t>(card_)].name;
    report.seconds = static_cast<double>(p_.end()) * 1e-9;
    report.left_out = p_.left_out();
    Profile::Time at = 0;
    std::tuple<Why, uint32_t, uint32_t> before{};
    bool was_idle = false;
    for (size_t k = 0; k <= events_.size();) {
      Profile::Time next = k < events_.size() ? std::min(events_[k].at, p_.end()) : p_.end();
      const int idle = capacity_ - busy_;
      if (next > at) {
        if (idle > 0) {
          IdleReport::Cause cause = why(at);
          auto key = std::tuple(cause.why, cause.loc.index, cause.other.index);
          IdleReport::Cause& sum = causes_.try_emplace(key, cause).first->second;
          double seconds = static_cast<double>(next - at) * 1e-9;
          sum.seconds += seconds * idle;
          sum.busy += seconds * idle * busy_;
          sum.gaps += !was_idle || key != before;
          report.idle += seconds * idle;
          before = key;
        }
        was_idle = idle > 0;
        at = next;
      }
      if (k == events_.size()) break;
      for (Profile::Time now = events_[k].at; k < events_.size() && events_[k].at == now; ++k)
        apply(events_[k]);
    }
    for (auto& [key, cause] : causes_) {
      cause.busy = cause.seconds > 0 ? cause.busy / cause.seconds : 0;
      report.causes.push_back(cause);
    }
    std::stable_sort(report.causes.begin(), report.causes.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    return report;
  }

private:
  enum class What : uint8_t { Issued, Ready, Begun, Ended, PieceBegun, PieceEnded, SpanBegun, SpanEnded };
  struct Event {
    Profile::Time at;
    What what;
    uint32_t index; // of the operation or span; of a piece: its operation
  };

  void collect() {
    for (uint32_t n = 1; n <= p_.operation_count(); ++n) {
      const Profile::Operation& op = p_.operation(n);
      if (op.ready < 0) continue;
      const bool own = is_own(op);
      if (own && op.ready > op.issued) events_.push_back({op.issued, What::Issued, n});
      Profile::Time begun = op.begun < 0 ? op.ended : op.begun;
      if (begun < 0) continue;
      if (own) events_.push_back({std::max(op.ready, op.issued), What::Ready, n});
      events_.push_back({begun, What::Begun, n});
      events_.push_back({op.ended, What::Ended, n});
    }
    const size_t first = card_ < 0 ? 0 : p_.stream_of(static_cast<size_t>(card_));
    const size_t last = card_ < 0 ? static_cast<size_t>(p_.workers()) : first;
    for (size_t k = first; k <= last && k < p_.threads().size(); ++k)
      for (const Profile::Piece& piece : p_.threads()[k]->pieces) {
        events_.push_back({piece.begin, What::PieceBegun, piece.operation});
        events_.push_back({piece.end, What::PieceEnded, piece.operation});
      }
    for (uint32_t k = 0; k < p_.spans().size(); ++k) {
      events_.push_back({p_.spans()[k].begin, What::SpanBegun, k});
      events_.push_back({p_.spans()[k].end, What::SpanEnded, k});
      starts_.emplace_back(p_.spans()[k].begin, k);
    }
    std::sort(starts_.begin(), starts_.end());
    busy_of_.resize(cores_.size());
  }

  // Events of one moment may come in any order: sets take what comes twice or too early.
  void apply(const Event& event) {
    switch (event.what) {
    case What::Issued: return enter(pending_, event.index, 1);
    case What::Ready:
      if (p_.operation(event.index).ready > p_.operation(event.index).issued) enter(pending_, event.index, -1);
      return enter(ready_, event.index, 1);
    case What::Begun: enter(ready_, event.index, -1); return enter(running_, event.index, 1);
    case What::Ended: return enter(running_, event.index, -1);
    case What::PieceBegun: return count(event.index, 1);
    case What::PieceEnded: return count(event.index, -1);
    case What::SpanBegun:
    case What::SpanEnded: {
      bool begun = event.what == What::SpanBegun;
      const Profile::Span& span = p_.spans()[event.index];
      (span.doing == Profile::Doing::Issue ? issue_ : doing_) += begun ? 1 : -1;
      if (begun) (span.doing == Profile::Doing::Issue ? issue_at_ : doing_at_) = event.index;
      return;
    }
    }
  }
  void count(uint32_t operation, int change) {
    busy_ += change;
    busy_of_[static_cast<size_t>(p_.operation(operation).device)] += change;
  }
  struct Members {
    std::set<uint32_t> all;
    std::map<uint32_t, int> early; // left before they entered, at the same moment
  };
  static void enter(Members& set, uint32_t index, int change) {
    int& sum = set.early[index];
    sum += change;
    if (sum > 0)
      set.all.insert(index);
    else
      set.all.erase(index);
    if (sum == 0) set.early.erase(index);
  }

  IdleReport::Cause of(Why why, uint32_t operation) const {
    if (operation == 0 || operation > p_.operation_count()) return {Why::Unknown, {}, {}, {}};
    const Profile::Operation& op = p_.operation(operation);
    return {why, op.loc, {}, op.name};
  }
  // Whether what is looked at is to run it: not what another device runs.
  bool is_own(const Profile::Operation& op) const {
    const bool on_card = op.lane < 0 && p_.devices()[static_cast<size_t>(op.device)].cores == 0;
    return card_ < 0 ? !on_card : op.device == card_;
  }
  bool in_lane(uint32_t operation) const { return p_.operation(operation).lane >= 0; }

  // Is there an operation that is issued soon, and could have run already?
  bool held_up(Profile::Time at) const {
    constexpr uint32_t soon = 32;
    uint32_t low = 1, high = static_cast<uint32_t>(p_.operation_count()) + 1;
    while (low < high) {
      uint32_t middle = low + (high - low) / 2;
      if (p_.operation(middle).issued > at)
        high = middle;
      else
        low = middle + 1;
    }
    for (uint32_t n = low; n < low + soon && n <= p_.operation_count(); ++n) {
      const std::vector<uint32_t>& inputs = p_.operation(n).inputs;
      if (std::all_of(inputs.begin(), inputs.end(), [&](uint32_t input) {
            Profile::Time ended = p_.operation(input).ended;
            return ended >= 0 && ended <= at;
          }))
        return true;
    }
    return false;
  }

  IdleReport::Cause why(Profile::Time at) const {
    for (uint32_t n : ready_.all) {
      const Profile::Operation& op = p_.operation(n);
      auto device = static_cast<size_t>(op.device);
      if (op.lane < 0 && busy_of_[device] < cores_[device]) return {Why::HandOver, {}, {}, {}};
    }
    if (doing_ > 0 && held_up(at)) {
      const Profile::Span& span = p_.spans()[doing_at_];
      if (span.doing == Profile::Doing::Compile) return {Why::Compile, span.loc, {}, {}};
      if (span.doing == Profile::Doing::Memory) return {Why::Memory, span.loc, {}, {}};
      if (span.doing == Profile::Doing::InFlight) return {Why::InFlight, span.loc, {}, {}};
    }
    if (!pending_.all.empty()) { // the first of those that wait: what it waits for is running, or waits for its lane
      uint32_t last = p_.operation(*pending_.all.begin()).released_by;
      if (last == 0) return {Why::Unknown, {}, {}, {}};
      return of(in_lane(last) ? Why::Lane : Why::Dependency, last);
    }
    if (doing_ > 0) {
      const Profile::Span& span = p_.spans()[doing_at_];
      switch (span.doing) {
      case Profile::Doing::Compile: return {Why::Compile, span.loc, {}, {}};
      case Profile::Doing::Memory: return {Why::Memory, span.loc, {}, {}};
      case Profile::Doing::InFlight: return {Why::InFlight, span.loc, {}, {}};
      case Profile::Doing::Value: {
        IdleReport::Cause cause = of(Why::Wait, span.operation);
        return {Why::Wait, span.loc, cause.loc, cause.name};
      }
      case Profile::Doing::All:
      case Profile::Doing::Issue: break;
      }
      if (running_.all.empty()) return {Why::HandOver, {}, {}, {}};
      uint32_t first = *running_.all.begin();
      if (in_lane(first)) return of(Why::Lane, first);
      if (!is_own(p_.operation(first))) return of(Why::Elsewhere, first);
      if (span.loc.index == 0) return of(Why::Parallelism, first);
      IdleReport::Cause cause = of(Why::Wait, first);
      return {Why::Wait, span.loc, cause.loc, cause.name};
    }
    if (issue_ > 0) return {Why::Issue, p_.spans()[issue_at_].loc, {}, {}};
    auto next = std::upper_bound(starts_.begin(), starts_.end(), std::pair(at, UINT32_MAX));
    return {Why::Host, next == starts_.end() ? LocId{} : p_.spans()[next->second].loc, {}, {}};
  }

  const Profile& p_;
  const int card_;         // negative: threads
  const int capacity_;     // how many may be busy
  std::vector<int> cores_; // by device, of those that are looked at
  std::vector<Event> events_;
  std::vector<std::pair<Profile::Time, uint32_t>> starts_; // of spans
  Members pending_, ready_, running_;                      // operations
  int busy_ = 0, issue_ = 0, doing_ = 0;
  uint32_t issue_at_ = 0, doing_at_ = 0; // spans
  std::vector<int> busy_of_;             // by device
  std::map<std::tuple<Why, uint32_t, uint32_t>, IdleReport::Cause> causes_;
};

} // namespace

std::vector<IdleReport> explain_idle(const Profile& profile) {
  std::vector<IdleReport> reports{Sweep(profile).run()};
  for (size_t d = 0; d < profile.devices().size(); ++d)
    if (!profile.threads()[profile.stream_of(d)]->pieces.empty())
      reports.push_back(Sweep(profile, static_cast<int>(d)).run());
  return reports;
}

static std::string in_words(const IdleReport::Cause& cause, const IdleReport& report,
                            const std::function<std::string(LocId)>& place) {
  auto at = [&](LocId loc) {
    std::string where = place(loc);
    return where.empty() ? std::string() : " at " + where;
  };
  const std::string busy =
      report.card.empty() ? fmt::format(", which kept {:.1f} of {} threads busy", cause.busy, report.threads) : "";
  switch (cause.why) {
  case Why::Dependency:
    return fmt::format("dependency: what was issued waited for `{}`{}{}", cause.name, at(cause.loc), busy);
  case Why::Lane:
    return fmt::format("lane: what was issued waited for `{}`{}, which has a thread of its own", cause.name,
                       at(cause.loc));
  case Why::Parallelism:
    return fmt::format("parallelism: only `{}`{} was left to do{}", cause.name, at(cause.loc), busy);
  case Why::Elsewhere:
    return fmt::format("elsewhere: only `{}`{} was left to do, on another device", cause.name, at(cause.loc));
  case Why::Wait:
    return fmt::format("wait: the program waited{} for `{}`{}, with nothing else issued", at(cause.loc), cause.name,
                       at(cause.other));
  case Why::Memory: return fmt::format("memory: issuing{} waited for room in memory", at(cause.loc));
  case Why::InFlight: return fmt::format("in flight: issuing{} waited, too many operations were", at(cause.loc));
  case Why::Compile: return fmt::format("compile: issuing{} waited for machine code", at(cause.loc));
  case Why::Issue: return fmt::format("issue: the issuing thread made the operation{}", at(cause.loc));
  case Why::Host:
    return cause.loc.index ? fmt::format("host: the issuing thread computed, before the operation{}", at(cause.loc))
                           : "host: the issuing thread ended the run";
  case Why::HandOver: return "hand-over: work was ready, and a thread on its way to it";
  case Why::Unknown: break;
  }
  return "operations that the timeline has no room for";
}

std::string to_text(const IdleReport& report, const std::function<std::string(LocId)>& place, size_t rows) {
  // Places with the same text are one row.
  std::vector<std::pair<std::string, IdleReport::Cause>> lines;
  const double all = report.seconds * report.threads;
  for (const IdleReport::Cause& cause : report.causes) {
    std::string words = in_words(cause, report, place);
    auto same = std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.first == words; });
    if (same == lines.end()) {
      lines.emplace_back(std::move(words), cause);
      continue;
    }
    same->second.seconds += cause.seconds;
    same->second.gaps += cause.gaps;
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  auto percent = [&](double seconds) { return fmt::format("{:.1f} %", all > 0 ? 100 * seconds / all : 0); };
  std::string text =
      fmt::format("idle: {} of {} over {:.6f} s\n", percent(report.idle),
                  report.card.empty() ? fmt::format("{} threads", report.threads) : report.card, report.seconds);
  text += fmt::format("{:>8} {:>12} {:>7}  {}\n", "share", "seconds", "gaps", "why");
  auto row = [&](double seconds, uint64_t gaps, const std::string& words) {
    text += fmt::format("{:>8} {:>12.6f} {:>7}  {}\n", percent(seconds), seconds, gaps, words);
  };
  double rest = 0;
  uint64_t rest_gaps = 0;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (k < rows) {
      row(lines[k].second.seconds, lines[k].second.gaps, lines[k].first);
    } else {
      rest += lines[k].second.seconds;
      rest_gaps += lines[k].second.gaps;
    }
  }
  if (lines.size() > rows) row(rest, rest_gaps, fmt::format("{} more causes", lines.size() - rows));
  if (report.left_out)
    text += fmt::format("the timeline had no room for {} events: this is of the others\n", report.left_out);
  return text;
}

} // namespace tl
