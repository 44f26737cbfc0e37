"""Runs the endpoint on a serial line of its own, which it names."""

import asyncio
import contextlib

from management import Management


async def main():
    print("serial:" + Management().mctp.line.name, flush=True)
    await asyncio.Event().wait()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
