// What the word before the cursor may become, in what is typed at the prompt.
#pragma once
#include "cli/editor/editor.h"
#include "compiler/session.h"
#include <string>
#include <string_view>
#include <vector>

namespace tl::cli {

struct LineCommand {
  std::string_view name, argument, doc;
};

// Commands and their files, names of the session and the library, fields and methods behind a dot, modules behind
// `import`, names of arguments in a call, files in text.
editor::Completion complete(const compiler::Session& session, const std::vector<LineCommand>& commands,
                            const std::string& text, size_t cursor);

// The names of the parameters of a signature ("norm(x: f32[n], axis = none)"), or of the fields of a struct.
std::vector<std::string> parameter_names(std::string_view signature);

} // namespace tl::cli
