#include "messages.h"
#include "driver/messages.h"

namespace tl::cli {

void add_message_format(CLI::App& app) {
  app.add_option_function<std::string>(
         "--message-format", [](const std::string& format) { driver::show_as_json(format == "json"); },
         "how messages are shown: text, or json (one object a line)")
      ->envname("TL_MESSAGE_FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->trigger_on_parse(); // a wrong flag further right is shown that way too
}

} // namespace tl::cli
