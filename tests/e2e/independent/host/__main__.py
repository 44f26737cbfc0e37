"""An independent NVMe/TCP host: it takes requests on standard input and answers them on standard output, a JSON
object a line. Written from the specifications alone; it knows nothing of the bench but these lines."""

import asyncio
import json
import sys

import tls
from association import Association, Place
from blocks import Blocks
from discovery import Service
from entries import Failed
from options import options


# What may be asked for with a connection.
WISHES = {"io_queues": "io_queues", "queue_entries": "queue_entries", "kato_ms": "kato_ms",
          "dhchap_secret": "secret", "dhchap_ctrl_secret": "controller_secret",
          "hdr_digest": "header_digest", "data_digest": "data_digest", "disable_sqflow": "no_flow_control", "tls_key": "tls_key"}
ABILITIES = ["dhchap", "digests", "disable_sqflow"]


class Program:
    def __init__(self, chosen):
        self.options, self.hello_place = chosen, None
        self.service, self.associations = None, []
        self.tasks = set()
        self.requests = {
            "hello": self.hello, "connect": self.connect, "disconnect": self.disconnect, "discover": self.discover,
            "watch": self.watch, "connect_discovered": self.connect_discovered, "reset": self.reset,
            "reauthenticate": self.reauthenticate,
            "read": self.read, "write": self.write, "flush": self.flush}

    async def hello(self, request):
        if request["transport"] != "tcp":
            raise Failed("this host has TCP alone")
        self.hello_place = request["traddr"], int(request["trsvcid"])
        self.service = Service(self.options, *self.hello_place)
        can = [name for name in self.requests if name != "hello"]
        secure = ["tls"] if self.options.tls else []
        return {"name": "independent host", "can": [*can, *ABILITIES, *secure], "joins_paths": self.options.joins_paths,
                "hostnqn": self.options.host}

    async def connect(self, request):
        where = dict(subsystem=request["subnqn"], address=request["traddr"], port=int(request["trsvcid"]))
        await self._add(Place(**where, **{name: request[key] for key, name in WISHES.items() if key in request}))

    async def _add(self, place):
        association = Association(self.options, place)
        await association.start()
        self.associations.append(association)

    async def disconnect(self, _):
        await self._end(3.0)

    async def _end(self, seconds):
        ending, self.associations = self.associations, []
        service = [self.service] if self.service is not None else []
        await asyncio.gather(*(each.stop(seconds) for each in (*ending, *service)), return_exceptions=True)

    async def discover(self, _):
        found = await self.service.look()
        return {"subsystems": [entry.subsystem for entry in found]}

    async def watch(self, _):
        await self.service.watch()

    async def connect_discovered(self, request):
        wishes = {name: request[key] for key, name in WISHES.items() if key in request}
        for entry in await self.service.look():
            if entry.usable:
                return await self._add(entry.place(**wishes))
        raise Failed("no subsystem that this host can reach")

    def _last(self):
        if not self.associations:
            raise Failed("there is no association")
        return self.associations[-1]

    def _blocks(self):
        last = self._last()
        paths = [each for each in self.associations if each.place.subsystem == last.place.subsystem]
        return Blocks(self.options, paths if self.options.joins_paths else [last])

    async def reset(self, _):
        for association in list(self.associations):
            await association.reset()
        self._last()

    async def reauthenticate(self, _):
        await (await self._last().usable()).authenticate_again()

    async def read(self, request):
        return {"data": (await self._blocks().read(request["nsid"], request["lba"], request["bytes"])).hex()}

    async def write(self, request):
        await self._blocks().write(request["nsid"], request["lba"], bytes.fromhex(request["data"]))

    async def flush(self, request):
        await self._blocks().flush(request["nsid"])

    # ---- the lines ----

    async def answer(self, request):
        answer = {"id": request.get("id"), "ok": True}
        try:
            work = self.requests.get(request.get("do"))
            if work is None:
                raise Failed(f"this host does not know {request.get('do')}")
            answer |= await work(request) or {}
        except Failed as failed:
            answer |= {"ok": False, "text": str(failed)}
            if failed.status is not None:
                answer |= {"sct": failed.status[0], "sc": failed.status[1]}
        except Exception as error:  # a request must have an answer, whatever it runs into
            answer |= {"ok": False, "text": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)

    async def run(self):
        lines = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            if line.strip():
                task = asyncio.create_task(self.answer(json.loads(line)))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        for task in self.tasks:
            task.cancel()
        await asyncio.wait_for(self._end(0.7), 0.9)
        await asyncio.sleep(0.05)  # for the last bytes of each connection
        await tls.all_ended()


asyncio.run(Program(options()).run())
