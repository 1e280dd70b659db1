// `tl.Function` and `tl.Pending`.
#pragma once
#include "session.h"

namespace tl::python {

PyObject* make_function(Session* session, tl_function* function, const char* source, const char* expression,
                        const char* like, PyObject* declaration);
bool make_function_types(PyObject* module);

} // namespace tl::python
