// Values as the prompt of a terminal shows them: laid out for its width, long lists cut, types and messages in colour.
#pragma once
#include "abi/outcome.h"
#include <cstddef>
#include <functional>
#include <string>

namespace tl::cli {

struct ValueLook {
  size_t columns = 80;
  bool is_coloured = false;
};

// "[1, 2, 3] : List<i64>", as lines that end with \n. `value` is as `print` has it, empty of what has only a type.
std::string shown_value(const std::string& value, const std::string& type, const ValueLook& look);

// What a session at a prompt prints, without its marked values (parser/check/check.h): `show` gets these, in order.
using ShowValue = std::function<void(const std::string& value, const std::string& type)>;
OutputSink without_values(OutputSink out, ShowValue show);
// The same, with these laid out.
OutputSink with_shown_values(const OutputSink& out, std::function<ValueLook()> look);

// A message as `driver/messages.h` shows it, in colours.
std::string coloured_message(const std::string& message);

} // namespace tl::cli
