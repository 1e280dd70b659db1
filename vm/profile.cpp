#include "vm/profile.h"

namespace tl {

std::string_view name_of(Profile::Doing doing) {
  switch (doing) {
  case Profile::Doing::Issue: return "issue";
  case Profile::Doing::Compile: return "compile";
  case Profile::Doing::Value: return "wait for a value";
  case Profile::Doing::Memory: return "wait for memory";
  case Profile::Doing::InFlight: return "wait: too many in flight";
  case Profile::Doing::All: return "wait for everything";
  }
  return "?";
}

void Profile::begin(int workers, int threads, std::vector<Device> devices) {
  workers_ = workers;
  devices_ = std::move(devices);
  for (int k = 0; k < threads; ++k)
    threads_.push_back(std::make_unique<Thread>());
}

Profile::Operation* Profile::create() {
  if (!timeline) return nullptr;
  if (count_ == kMostOperations) {
    ++left_out_;
    return nullptr;
  }
  if (count_ % kChunk == 0) chunks_.push_back(std::make_unique<Operation[]>(kChunk));
  Operation& made = chunks_.back()[count_ % kChunk];
  made.number = static_cast<uint32_t>(++count_);
  return &made;
}

void Profile::set_name(Operation& operation, std::string_view name) {
  auto known = names_.find(name);
  if (known == names_.end()) known = names_.emplace(name).first;
  operation.name = *known;
}

void Profile::did(Doing doing, Time begin, Time end, uint32_t operation) {
  if (!timeline) return;
  if (spans_.size() == kMostSpans) {
    ++left_out_;
    return;
  }
  const Instruction* i = instruction_ ? *instruction_ : nullptr;
  LocId loc = i && i->op != BcOp::Return ? i->loc : LocId{}; // a return that waits is the program's end
  spans_.push_back({doing, loc, operation, begin, end});
}

void Profile::ran(int thread, const Operation* operation, Time begin, Time end) {
  Thread& self = *threads_[static_cast<size_t>(thread)];
  self.busy += static_cast<double>(end - begin) * 1e-9;
  if (!operation) return;
  if (self.pieces.size() * threads_.size() >= kMostPieces)
    ++self.left_out;
  else
    self.pieces.push_back({operation->number, begin, end});
}

void Profile::finished(int thread, LocId loc, Time begin, Time end, uint64_t bytes) {
  Row& row = threads_[static_cast<size_t>(thread)]->rows[loc.index];
  ++row.operations;
  row.seconds += static_cast<double>(end - begin) * 1e-9;
  row.bytes += bytes;
}

void Profile::sample(int thread, int device, uint64_t bytes) {
  Thread& self = *threads_[static_cast<size_t>(thread)];
  if (self.samples.size() * threads_.size() < kMostPieces)
    self.samples.push_back({static_cast<int16_t>(device), now(), bytes});
}

std::map<uint32_t, Profile::Row> Profile::rows() const {
  std::map<uint32_t, Row> all;
  for (const auto& thread : threads_)
    for (const auto& [loc, row] : thread->rows) {
      Row& sum = all[loc];
      sum.operations += row.operations;
      sum.seconds += row.seconds;
      sum.bytes += row.bytes;
    }
  return all;
}

double Profile::busy_seconds() const {
  double sum = 0;
  for (size_t k = 0; k < threads_.size() && k <= static_cast<size_t>(workers_); ++k)
    sum += threads_[k]->busy;
  return sum;
}

uint64_t Profile::left_out() const {
  uint64_t sum = left_out_;
  for (const auto& thread : threads_)
    sum += thread->left_out;
  return sum;
}

} // namespace tl
