"""The matrix: the cells of every module, in this order."""

from interop.lane import (arranged, cells, device, driven, faults, i2c, mctp, nvme_cli, proxy, qemu, rdma_core, recording, stas, tls,
                          tlshd, verbs, wireshark)
from interop.lane.scene import CELLS, Cell, Scene

__all__ = ["CELLS", "Cell", "Scene", "arranged", "cells", "device", "driven", "faults", "i2c", "mctp", "nvme_cli", "proxy", "qemu",
           "rdma_core", "recording", "stas", "tls", "tlshd", "verbs", "wireshark"]
