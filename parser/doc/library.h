// The standard library as it is documented, for `tl doc` and for editors.
#pragma once
#include "parser/doc/reference.h"
#include <string>
#include <vector>

namespace tl {

struct DocumentedModule {
  std::string name, doc;             // doc: the `##` comment at the head of its file
  std::vector<Documented> functions; // behind the structs
};

// The prelude first, then the modules by name.
std::vector<DocumentedModule> documented_library();

} // namespace tl
