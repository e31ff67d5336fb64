# SPDX-License-Identifier: Apache-2.0
"""Runs cases as TAP, each in an empty folder of its own."""
import os
import tempfile
import time

TRIES = 8
PATIENCE_S = 120


class HeldUp(AssertionError):
    """A time was not kept, and nothing else was wrong: a busy machine is given another try."""


def wait_until(holds, what):
    """Polls, for longer than any machine takes that is not broken."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"{what} does not come"
        time.sleep(0.01)


def try_case(case):
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory() as where:
            os.chdir(where)
            try:
                case()
                return None
            except HeldUp as error:
                if left == 0:
                    return error
                print("# once more: " + repr(error).replace("\n", "\n# "), flush=True)
            except Exception as error:  # any of them is the case's failure
                return error
            finally:
                os.chdir("/")


def run(name, cases):
    """Exit status: 1 where a case raised anything."""
    failed = 0
    print(f"1..{len(cases)}")
    for number, case in enumerate(cases, 1):
        error = try_case(case)
        failed += error is not None
        print(f"{'not ok' if error else 'ok'} {number} /inject/{name}/{case.__name__}", flush=True)
        if error:
            print("# " + repr(error).replace("\n", "\n# "), flush=True)
    return 1 if failed else 0
