#include "messages.h"
#include "options.h"

namespace tl::cli {

void add_message_format(Command app) {
  static RunSetup none; // it is about the whole process
  add_run_flag(app, *find_run_flag("message-format"), none);
}

} // namespace tl::cli
