"""What the modules of subjects share: counting, and programs in folders of their own."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile


class Oracle:
    """One subject's run. A module has `SEED`, `COUNT` where its cases are random, and `run(oracle)`."""

    def __init__(self, name, tl, seed, count, keep, large):
        self.name, self.tl, self.seed, self.count, self.keep, self.large = name, tl, seed, count, keep, large
        self.passed = self.failed = 0
        self.command = []  # the last one

    def check(self, good, complaint):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAIL {self.name}: {complaint}", flush=True)

    def count_cases(self, cases, complaints):
        """So many cases of one program; each complaint takes one from those that pass. The first ten are printed."""
        for complaint in complaints[:10]:
            print(f"FAIL {self.name}: {complaint}", flush=True)
        self.failed += len(complaints)
        self.passed += max(0, cases - len(complaints))

    @contextlib.contextmanager
    def folder(self):
        """A temporary folder. It is kept if a check fails inside, where that is wanted."""
        failed = self.failed
        with tempfile.TemporaryDirectory(prefix=f"tl-{self.name}-") as folder:
            yield folder
            if self.failed > failed and self.keep:
                kept = self.keep / f"{self.name}-{self.seed}-{failed}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                (kept / "command.txt").write_text(" ".join(self.command) + "\n")

    def run(self, folder, text, options=(), arguments=(), timeout=900):
        """Runs a program in a folder: `tl run OPTIONS program.tl ARGUMENTS`."""
        pathlib.Path(folder, "program.tl").write_text(text)
        self.command = [self.tl, "run", *options, "program.tl", *arguments]
        return subprocess.run(self.command, cwd=folder, capture_output=True, text=True, timeout=timeout, errors="replace")
