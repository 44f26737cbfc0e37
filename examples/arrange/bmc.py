#!/usr/bin/env python3
"""Makes happen to a drive behind a BMC what a test needs: a driver for `fabricbench run --arrange`.

    fabricbench run --dut mctp:1,9 --arrange 'python3 bmc.py --host bmc.lab --user root --password-file bmc.pw'

Power comes from the BMC by ipmitool. What your firmware has further means for, such as a debug command that sets a temperature,
becomes a function below and an entry in CAN. Whatever is not in CAN is skipped by the bench, with that reason.
"""

import argparse
import json
import subprocess
import sys
import time


class Refused(Exception):
    """Why a request failed; the case is inconclusive then."""


class Bmc:
    def __init__(self, options):
        self.base = [options.ipmitool, "-I", "lanplus", "-H", options.host, "-U", options.user, "-f", options.password_file]
        self.settle_s = options.settle
        self.back = []  # what is to be put back at the end, the last first

    def ipmi(self, *words):
        done = subprocess.run([*self.base, *words], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Refused(f"ipmitool {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def power_cycle(self, _request):
        self.ipmi("chassis", "power", "off")
        self.back.append(lambda: self.ipmi("chassis", "power", "on"))
        self.ipmi("chassis", "power", "on")
        self.back.pop()
        time.sleep(self.settle_s)  # the answer says that the drive is there again

    CAN = {"power_cycle": power_cycle}

    def answer(self, request):
        if request["do"] == "hello":
            return {"name": "BMC", "can": list(self.CAN)}
        self.CAN[request["do"]](self, request)
        return {}

    def end(self):
        while self.back:
            self.back.pop()()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--host", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password-file", required=True)
    parser.add_argument("--ipmitool", default="ipmitool")
    parser.add_argument("--settle", type=float, default=10, help="seconds until the drive answers after power on")
    bmc = Bmc(parser.parse_args())
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": True, **bmc.answer(request)}
        except (Refused, KeyError, subprocess.TimeoutExpired) as problem:
            answer = {"ok": False, "text": str(problem)}
        print(json.dumps({"id": request["id"], **answer}), flush=True)
    bmc.end()


if __name__ == "__main__":
    main()
