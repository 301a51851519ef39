"""A Redis server on a socket in a folder, which keeps all that it is told."""
import shutil
import socket
import subprocess
import time

PROGRAM = shutil.which("redis-server")


class RedisServer:
    def __init__(self, test):
        if PROGRAM is None or "without hiredis" in test.call("worker", "--queue", "none").stderr:
            test.skipTest("there is no redis-server, or the program was built without hiredis")
        self.test, self.folder, self.socket = test, test.folder, test.folder / "s"
        self.url = f"unix:{self.socket}"
        self.start()
        test.addCleanup(self.kill)

    def start(self):
        self.process = subprocess.Popen([PROGRAM, "--port", "0", "--unixsocket", self.socket, "--dir", self.folder,  # pylint: disable=consider-using-with
                                         "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
                                        stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def primsel(self, *arguments):
        """A program that takes part in the queue, which ends with the test."""
        process = subprocess.Popen([self.test.PRIMSEL, *map(str, arguments), "--queue", self.url, "--lease", "2"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.test.addCleanup(process.communicate)
        self.test.addCleanup(process.kill)
        return process

    def call(self, *words):
        """What the server answers, as it stands on the wire."""
        with socket.socket(socket.AF_UNIX) as connection:
            for _ in range(30000):
                try:
                    connection.connect(str(self.socket))
                    break
                except OSError:  # it still starts
                    time.sleep(0.02)
            words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            connection.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            return connection.recv(1 << 16)
