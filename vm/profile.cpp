#include "vm/profile.h"

namespace tl {

void Profile::finished(LocId loc, Clock::time_point begin, Clock::time_point end, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  Row& row = rows_[loc.index];
  ++row.operations;
  row.seconds += std::chrono::duration<double>(end - begin).count();
  row.bytes += bytes;
}

void Profile::ran(const std::string& name, LocId loc, int worker, Clock::time_point begin, Clock::time_point end) {
  std::lock_guard lock(mutex_);
  if (pieces_.size() == kMostPieces)
    ++left_out_;
  else
    pieces_.push_back({name, loc, worker, since_start(begin), since_start(end)});
}

} // namespace tl
