"""A headless chromium that a test steers: pages are opened, and expressions evaluated in them.

It speaks the browser's protocol over two pipes, so that no port is open and no library is needed.
"""

import json
import os
import subprocess
import time


class Browser:
    def __init__(self, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        self.log = open(profile + ".log", "w")
        # The browser reads file 3 and writes file 4.
        words = [
            "bash",
            "-c",
            f'exec 3<&{theirs_in} 4>&{theirs_out} "$@"',
            "chromium",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--user-data-dir=" + profile,
            "--window-size=1280,900",
        ]
        words[2] = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
        self.process = subprocess.Popen(
            words, pass_fds=(theirs_in, theirs_out), stdout=self.log, stderr=self.log
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.input, self.output = os.fdopen(ours_in, "rb", 0), os.fdopen(ours_out, "wb", 0)
        self.number, self.held, self.events = 0, b"", []

    def ask(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.output.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def read(self):
        while b"\0" not in self.held:
            got = self.input.read(1 << 16)
            assert got, "chromium has ended"
            self.held += got
        message, self.held = self.held.split(b"\0", 1)
        return json.loads(message)

    def open(self, address):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log"):
            self.ask(domain + ".enable", session)
        self.ask("Page.navigate", session, url=address)
        return Page(self, session)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def value(self, expression):
        made = self.browser.ask(
            "Runtime.evaluate", self.session, expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in made, made
        return made["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert (
                time.monotonic() < end
            ), f"in vain awaited: {expression}\n{self.value('document.body.innerText')}"
            time.sleep(0.1)

    def requests(self):
        """The addresses that pages of this browser asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        return [
            event["params"]
            for event in self.browser.events
            if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
