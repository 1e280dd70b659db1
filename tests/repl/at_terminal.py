"""`tl repl` on a pseudo-terminal, with an emulator behind it. Every wait has an end."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

from emulator import Screen

PATIENCE = 60 if not os.environ.get("TL_SANITIZED") else 300  # seconds, for what comes at once on a quiet machine


class Failure(Exception):
    pass


class Terminal:
    def __init__(self, tl, folder, columns=80, rows=24, arguments=(), **variables):
        self.screen = Screen(columns, rows)
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm", "NO_COLOR": "1",
                       "TL_HISTORY": os.path.join(folder, "history"), "LC_ALL": "C.UTF-8"}
        for name in os.environ:
            if name.startswith(("ASAN", "TSAN", "UBSAN", "LSAN", "TL_CACHE")):
                environment[name] = os.environ[name]
        environment.update(variables)
        environment = {name: value for name, value in environment.items() if value is not None}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                set_size(0, columns, rows)
                os.execve(tl, [tl, "repl", *arguments], environment)
            finally:
                os._exit(127)
        self.undecoded = b""
        self.ended = False
        self.begin = 0  # the first row of what `shows` compares
        self.wait(lambda: self.last_line() in ("tl>", "") and len(self.screen.lines()) > 1, "the first prompt")
        self.begin = len(self.screen.lines()) - 1

    def last_line(self):
        lines = self.screen.lines()
        return lines[-1] if lines else ""

    def read(self, seconds):
        """What has come, or nothing after so long."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return False
        self.undecoded += data
        text = self.undecoded.decode("utf-8", "ignore")
        if len(text.encode()) != len(self.undecoded):  # a character that is not all there, or none
            good = len(self.undecoded)
            while good > 0 and len(self.undecoded) - good < 4:
                try:
                    text = self.undecoded[:good].decode()
                    break
                except UnicodeDecodeError:
                    good -= 1
            else:
                raise Failure(f"this is no UTF-8: {self.undecoded!r}")
            self.undecoded = self.undecoded[good:]
        else:
            self.undecoded = b""
        self.screen.feed(text)
        return True

    def wait(self, holds, what, patience=PATIENCE):
        end = time.monotonic() + patience
        while True:
            while self.read(0):
                pass
            if holds():
                return
            if time.monotonic() > end or self.ended:
                raise Failure(f"waited for {what}; on the screen is\n" + "\n".join(self.screen.lines()))
            self.read(0.05)

    def send(self, keys):
        data = keys if isinstance(keys, bytes) else keys.encode()
        while data:
            data = data[os.write(self.fd, data[:512]) :]
            self.read(0)
        return self

    def shown(self, with_cursor=False):
        lines = self.screen.lines()[self.begin :]
        if with_cursor:
            row, column = self.screen.row - self.begin, self.screen.column
            if row < 0:
                return "\n".join([f"(the cursor stands {-row} rows above the first prompt)", *lines])
            lines += [""] * (row + 1 - len(lines))
            cells = self.screen.rows[self.screen.row].cells
            cells = cells + [" "] * (column - len(cells))
            lines[row] = "".join(cells[:column]) + "▮" + "".join(cells[column:]).rstrip()
        return "\n".join(lines)

    def shows(self, text):
        """All that stands there from the first prompt on; with the cursor where the text has ▮."""
        text = text.strip("\n")
        try:
            self.wait(lambda: self.shown("▮" in text) == text, "the screen", 20)
        except Failure:
            raise Failure(f"on the screen is\n{self.shown('▮' in text)}\nand should be\n{text}") from None
        return self

    def clear(self):
        """All that was typed has been read; what follows is compared from here on."""
        clears = self.screen.clears
        self.send("\x0c")
        self.wait(lambda: self.screen.clears > clears and self.last_line() == "tl>", "a prompt")
        self.begin = self.screen.row
        return self

    def resize(self, columns, rows):
        while self.read(0.1):
            pass
        self.screen.resize(columns, rows)
        set_size(self.fd, columns, rows)
        return self

    def end(self, keys="\x04"):
        """Leaves, and gives the exit code (of a signal as a negative number)."""
        if keys:
            self.send(keys)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                while not self.ended and self.read(0.1):
                    pass
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if not self.ended:
                self.read(0.05)
            else:
                time.sleep(0.01)
        raise Failure("it does not end")

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self.fd)
            self.pid = 0


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def has_terminals():
    try:
        for fd in pty.openpty():
            os.close(fd)
        return True
    except OSError as problem:
        print(f"SKIPPED: there are no pseudo-terminals ({problem})", file=sys.stderr)
        return False
