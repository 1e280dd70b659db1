// Places as users look at them.
#pragma once
#include "abi/error.h"
#include "lang/source.h"
#include <vector>

namespace tl {

// A place in the standard library is of no use to a user: the first caller outside it, where there is one.
inline LocId user_place(LocId loc, const std::vector<Location>& locations) {
  while (loc.index != 0 && is_library_file(locations[loc.index].file) && locations[loc.index].caller.index != 0)
    loc = locations[loc.index].caller;
  return loc;
}

} // namespace tl
