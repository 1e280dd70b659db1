// A program in pieces, for notebooks: functions of tl._tl.
#pragma once
#include "python.h"

namespace tl::python {

PyObject* run_piece(PyObject*, PyObject* arguments);    // (session, name, text)
PyObject* bind_piece(PyObject*, PyObject* arguments);   // (session, name, value): for the pieces that follow
PyObject* lookup_piece(PyObject*, PyObject* arguments); // (session, name): its value; arrays are read-only
PyObject* piece_names(PyObject*, PyObject* arguments);  // (session): those that are bound to values

} // namespace tl::python
