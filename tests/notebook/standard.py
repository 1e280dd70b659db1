#!/usr/bin/env python3
"""The kernel of tl by the tests that Jupyter has for all kernels (jupyter_kernel_test). JUPYTER_PATH says where it is installed."""
import sys
import unittest

from jupyter_kernel_test import KernelTests


class TlTests(KernelTests):
    kernel_name = "tl"
    language_name = "tl"
    file_extension = ".tl"
    code_hello_world = 'print("hello, world")'
    code_stderr = "debug([1.0, 2.0])"
    completion_samples = [{"text": "logsum", "matches": {"logsumexp"}}, {"text": "import opt", "matches": {"optim"}}]
    complete_code_samples = ["1", "fn f(x) = x", "let x = [1, 2]\nx", "let x 5"]
    incomplete_code_samples = ["fn f(x) {", "let x =", "sum([1,\n2]"]
    code_generate_error = "1 + nothing"
    code_execute_result = [{"code": "1 + 2", "result": "3 : i64"}, {"code": '"a" + "b"', "result": "ab : str"},
                           {"code": "[1.0, 2.0]", "result": "[1. 2.] : f32[2]"}]
    code_display_data = [{"code": "import plot\nplot.line([1.0, 4.0])", "mime": "image/svg+xml"}]
    code_history_pattern = "1 + 2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "softmax"


result = unittest.TextTestRunner(stream=sys.stdout).run(unittest.defaultTestLoader.loadTestsFromTestCase(TlTests))
wrong = len(result.failures) + len(result.errors)
print("%d passed, %d failed" % (result.testsRun - wrong - len(result.skipped), wrong))
sys.exit(wrong != 0)
