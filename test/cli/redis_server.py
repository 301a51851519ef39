"""A Redis server on a socket in a folder, which keeps all that it is told."""
import shutil
import socket
import subprocess
import time

PROGRAM = shutil.which("redis-server")


class RedisServer:
    """With a password, it listens on a port of this machine too, and `database` is the one that is used."""
    def __init__(self, test, password=None, database=0):
        if PROGRAM is None or "without hiredis" in test.call("worker", "--queue", "none").stderr:
            test.skipTest("there is no redis-server, or the program was built without hiredis")
        self.test, self.folder, self.socket = test, test.folder, test.folder / "s"
        self.url, self.options, self.login = f"unix:{self.socket}", ["--port", "0"], []
        if password is not None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            self.url = f"redis://:{password}@127.0.0.1:{port}/{database}"
            self.options = ["--bind", "127.0.0.1", "--port", str(port), "--requirepass", password]
            self.login = [("AUTH", password)]
        self.start()
        test.addCleanup(self.kill)

    def start(self):
        self.process = subprocess.Popen([PROGRAM, *self.options, "--unixsocket", self.socket, "--dir", self.folder,  # pylint: disable=consider-using-with
                                         "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
                                        stdout=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def primsel(self, *arguments, lease=("--lease", "2")):
        """A program that takes part in the queue, which ends with the test."""
        process = subprocess.Popen([self.test.PRIMSEL, *map(str, arguments), "--queue", self.url, *lease],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.test.addCleanup(process.communicate)
        self.test.addCleanup(process.kill)
        return process

    def call(self, *words, database=0):
        """What the server answers, as it stands on the wire."""
        with socket.socket(socket.AF_UNIX) as connection:
            for _ in range(30000):
                try:
                    connection.connect(str(self.socket))
                    break
                except OSError:  # it still starts
                    time.sleep(0.02)
            for command in (*self.login, ("SELECT", database), words):
                command = [word if isinstance(word, bytes) else str(word).encode() for word in command]
                connection.sendall(b"*%d\r\n" % len(command) +
                                   b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in command))
                answer = connection.recv(1 << 16)
            return answer

    def is_held(self):
        """Whether a worker has a trial of the queue."""
        answer = self.call("XPENDING", "primsel:todo", "workers")
        return answer.startswith(b"*4\r\n:") and not answer.startswith(b"*4\r\n:0")
