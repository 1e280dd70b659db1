// --trace: a timeline in the trace event format (the "JSON Array Format" of Chrome, which Perfetto opens).
#include "abi/json.h"
#include "driver/messages.h"
#include "driver/profile.h"
#include "vm/devices.h"
#include "vm/io/io.h"
#include "vm/operation.h"
#include <algorithm>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace tl::driver {
namespace {

class TraceWriter {
public:
  TraceWriter(int descriptor, const Profile& profile, const std::vector<Location>& locations,
              const SourceManager& sources, FileId main)
      : descriptor_(descriptor), p_(profile), locations_(locations), sources_(sources), main_(main) {}

  void write() {
    text_ = fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"left out\":{}}},\"traceEvents\":[\n",
                        p_.left_out());
    rows();
    spans();
    pieces();
    arrows();
    counters();
    text_ += "\n]}\n";
    flush();
  }

private:
  struct Row { // where a slice is
    int process, thread;
  };
  static constexpr int kProgram = 1; // process; device d is process kProgram + 1 + d

  void flush() {
    for (std::string_view rest = text_; !rest.empty();) {
      ssize_t done = ::write(descriptor_, rest.data(), rest.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) throw std::system_error(errno, std::generic_category());
      rest.remove_prefix(static_cast<size_t>(done));
    }
    text_.clear();
  }
  void event(const std::string& json) {
    if (!first_) text_ += ",\n";
    first_ = false;
    text_ += json;
    if (text_.size() > 1 << 20) flush();
  }
  static std::string micros(Profile::Time t) { return fmt::format("{}.{:03}", t / 1000, t % 1000); }
  const std::string& place(LocId loc) {
    auto [at, fresh] = places_.try_emplace(loc.index);
    if (fresh) at->second = json_string(place_text(place_of(loc, locations_, sources_, main_), sources_));
    return at->second;
  }

  const std::string& device_at(int device) const { return p_.devices()[static_cast<size_t>(device)].name; }

  // Workers run pieces for all devices; the issuing thread has one row; a lane's row is where its work is.
  Row row_of(size_t thread, const Profile::Operation& op) const {
    const auto workers = static_cast<size_t>(p_.workers());
    if (thread == workers) return {kProgram, 0};
    if (thread == workers + 1 + kFileLane) return {kProgram, 1};
    return {kProgram + 1 + op.device, static_cast<int>(thread)};
  }
  void name(const char* what, int process, int thread, const std::string& name, int order) {
    event(fmt::format(R"({{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, thread,
                      json_string(name)));
    event(fmt::format(R"({{"ph":"M","name":"{}_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", what,
                      process, thread, order));
  }

  void rows() {
    const auto workers = static_cast<size_t>(p_.workers());
    const int devices = static_cast<int>(p_.devices().size());
    name("process", kProgram, 0, "program", 0);
    name("thread", kProgram, 0, "issuing thread", 0);
    name("thread", kProgram, 1, "files", 1);
    for (int d = 0; d < devices; ++d) {
      const Profile::Device& device = p_.devices()[static_cast<size_t>(d)];
      name("process", kProgram + 1 + d, 0, device.name, 1 + d);
      for (int k = 0; k < p_.workers() && device.cores > 0; ++k)
        name("thread", kProgram + 1 + d, k, fmt::format("worker {}", k), k);
    }
    for (size_t k = workers + 1 + kFirstCopyLane; k < p_.threads().size(); ++k) {
      const Profile::Thread& thread = *p_.threads()[k];
      if (thread.pieces.empty()) continue;
      int lane = static_cast<int>(k - workers - 1 - kFirstCopyLane);
      const int process = row_of(k, p_.operation(thread.pieces.front().operation)).process;
      name("thread", process, static_cast<int>(k),
           lane < devices * devices ? fmt::format("copy {} to {}", device_at(lane / devices), device_at(lane % devices))
                                    : "stream",
           static_cast<int>(k));
    }
  }

  static std::string shapes(const std::vector<Profile::Shape>& all) {
    constexpr size_t most = 8;
    std::string text;
    for (size_t k = 0; k < all.size() && k < most; ++k)
      text += (k ? ", " : "") + type_text(all[k].dtype, all[k].dims);
    if (all.size() > most) text += fmt::format(" and {} more", all.size() - most);
    return text;
  }

  void spans() {
    for (const Profile::Span& span : p_.spans()) {
      const bool known = span.operation != 0 && span.operation <= p_.operation_count();
      std::string what(name_of(span.doing));
      if (known && span.doing == Profile::Doing::Issue)
        what = fmt::format("issue {}", p_.operation(span.operation).name);
      else if (known)
        what += fmt::format(": {}", p_.operation(span.operation).name);
      event(fmt::format(
          R"({{"ph":"X","cat":"issuing","name":{},"pid":{},"tid":0,"ts":{},"dur":{},"args":{{"line":{}{}}}}})",
          json_string(what), kProgram, micros(span.begin), micros(span.end - span.begin), place(span.loc),
          known ? fmt::format(",\"operation\":{}", span.operation) : ""));
    }
  }

  void pieces() {
    bounds_.resize(p_.operation_count());
    for (size_t k = 0; k < p_.threads().size(); ++k)
      for (const Profile::Piece& piece : p_.threads()[k]->pieces) {
        const Profile::Operation& op = p_.operation(piece.operation);
        Row row = row_of(k, op);
        event(fmt::format(R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"line":{},)"
                          R"("operation":{},"device":"{}","reads":"{}","makes":"{}","bytes":{}}}}})",
                          op.is_copy     ? "copy"
                          : op.lane >= 0 ? "lane"
                                         : "work",
                          json_string(op.name), row.process, row.thread, micros(piece.begin),
                          micros(piece.end - piece.begin), place(op.loc), op.number, device_at(op.device),
                          shapes(op.reads), shapes(op.makes), op.bytes));
        Bounds& b = bounds_[piece.operation - 1];
        if (b.begin < 0 || piece.begin < b.begin) b.begin = piece.begin, b.first = row;
        if (piece.end > b.end) b.end = piece.end, b.last_begin = piece.begin, b.last = row;
      }
  }

  // An arrow starts inside of the slice that it comes from, and ends at the slice that begins there.
  void arrows() {
    uint64_t number = 0;
    for (uint32_t n = 1; n <= p_.operation_count(); ++n) {
      const Bounds& to = bounds_[n - 1];
      if (to.begin < 0) continue;
      for (uint32_t input : p_.operation(n).inputs) {
        const Bounds& from = bounds_[input - 1];
        if (from.begin < 0) continue;
        Profile::Time leaves = std::max(from.last_begin, from.end - 1);
        ++number;
        event(fmt::format(R"({{"ph":"s","cat":"value","name":"value","id":{},"pid":{},"tid":{},"ts":{}}})", number,
                          from.last.process, from.last.thread, micros(leaves)));
        event(fmt::format(R"({{"ph":"f","bp":"e","cat":"value","name":"value","id":{},"pid":{},"tid":{},"ts":{}}})",
                          number, to.first.process, to.first.thread, micros(std::max(to.begin, leaves))));
      }
    }
  }

  void counters() {
    std::vector<Profile::Sample> samples;
    for (const auto& thread : p_.threads())
      samples.insert(samples.end(), thread->samples.begin(), thread->samples.end());
    std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    std::vector<uint64_t> before(p_.devices().size(), UINT64_MAX);
    for (const Profile::Sample& sample : samples) {
      uint64_t& last = before[static_cast<size_t>(sample.device)];
      if (std::exchange(last, sample.bytes) == sample.bytes) continue;
      event(fmt::format(R"({{"ph":"C","name":"memory in use","pid":{},"ts":{},"args":{{"bytes":{}}}}})",
                        kProgram + 1 + sample.device, micros(sample.at), sample.bytes));
    }
    std::vector<std::pair<Profile::Time, int>> changes;
    for (uint32_t n = 1; n <= p_.operation_count(); ++n) {
      const Profile::Operation& op = p_.operation(n);
      if (op.ended < 0) continue;
      changes.emplace_back(op.issued, 1);
      changes.emplace_back(op.ended, -1);
    }
    std::sort(changes.begin(), changes.end());
    int in_flight = 0;
    for (size_t k = 0; k < changes.size(); ++k) {
      in_flight += changes[k].second;
      if (k + 1 < changes.size() && changes[k + 1].first == changes[k].first) continue;
      event(fmt::format(R"({{"ph":"C","name":"operations in flight","pid":{},"ts":{},"args":{{"operations":{}}}}})",
                        kProgram, micros(changes[k].first), std::max(0, in_flight)));
    }
  }

  struct Bounds { // of an operation's pieces
    Profile::Time begin = -1, end = -1, last_begin = -1;
    Row first{}, last{};
  };
  int descriptor_;
  const Profile& p_;
  const std::vector<Location>& locations_;
  const SourceManager& sources_;
  FileId main_;
  std::string text_;
  bool first_ = true;
  std::map<uint32_t, std::string> places_;
  std::vector<Bounds> bounds_;
};

} // namespace

void write_trace(const std::string& path, const Profile& profile, const std::vector<Location>& locations,
                 const SourceManager& sources, FileId main) {
  write_file_atomically(path,
                        [&](int descriptor) { TraceWriter(descriptor, profile, locations, sources, main).write(); });
}

} // namespace tl::driver
