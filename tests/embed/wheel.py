"""A wheel of `tl build --lib --wheel`: wheel.py WHEEL FOLDER. Its RECORD says what is in it; unpacked into FOLDER its package works."""
import base64
import csv
import hashlib
import io
import os
import re
import sys
import zipfile

wheel, folder = sys.argv[1:]
archive = zipfile.ZipFile(wheel)
assert archive.testzip() is None
names = archive.namelist()
assert len(names) == len(set(names)) == 9, names
info = "mlp-1.2.0.dist-info"
record = list(csv.reader(io.StringIO(archive.read(info + "/RECORD").decode())))
assert sorted(row[0] for row in record) == sorted(names), record
for name, digest, size in record:
    if name == info + "/RECORD":
        assert not digest and not size
        continue
    content = archive.read(name)
    expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    assert digest == "sha256=" + expected and int(size) == len(content), name
metadata = archive.read(info + "/METADATA").decode()
assert re.search(r"^Name: mlp$", metadata, re.M) and re.search(r"^Version: 1.2.0$", metadata, re.M), metadata
tag = re.search(r"^Tag: (.*)$", archive.read(info + "/WHEEL").decode(), re.M).group(1)
assert wheel.endswith("-" + tag + ".whl"), tag

archive.extractall(folder)
sys.path.insert(0, folder)
import mlp  # noqa: E402

assert os.path.dirname(mlp.__file__) == os.path.abspath(folder + "/mlp"), mlp.__file__
import array  # noqa: E402

flower = memoryview(array.array("f", [5.1, 3.5, 1.4, 0.2])).cast("B").cast("f", (1, 4))
print(mlp.summary(mlp.create(1), flower, "one")[0])
