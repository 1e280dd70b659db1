// A program in pieces, for notebooks: functions of tl._tl.
#pragma once
#include "python.h"

namespace tl::python {

PyObject* run_piece(PyObject*, PyObject* arguments);    // (session, name, text)
PyObject* bind_piece(PyObject*, PyObject* arguments);   // (session, name, value): for the pieces that follow
PyObject* lookup_piece(PyObject*, PyObject* arguments); // (session, name): its value; arrays are read-only
PyObject* piece_names(PyObject*, PyObject* arguments);  // (session): those that are bound to values

PyObject* display_pieces(PyObject*, PyObject* arguments); // (session, function): called with (kind, content, type)
PyObject* complete_piece(PyObject*, PyObject* arguments); // (session, text, cursor): (begin, texts), in bytes of UTF-8
PyObject* help_piece(PyObject*, PyObject* arguments);     // (session, name): its documentation
PyObject* is_incomplete(PyObject*, PyObject* arguments);  // (text): the blanks before its next line, or None

} // namespace tl::python
