"""The toy router as a child process, which knows nothing of the kit but its JSON lines."""

import json
import sys
from base64 import b64decode, b64encode

from toy_core import Toy

ARGUMENTS = {
    "connect": ("peer",),
    "disconnect": ("peer",),
    "rpc": ("peer", "data"),
    "join": ("topic",),
    "leave": ("topic",),
    "publish": ("topic", "data"),
}
HELLO = {"name": "toy", "version": "0.1", "protocols": ["floodsub"], "capabilities": ["clock"], "format": 1}


def main():
    toy, now_ms = None, 0
    for line in sys.stdin:
        request = json.loads(line)
        op = request["op"]
        if op == "init":
            toy, now_ms = Toy((request["parameters"] or {}).get("message_id", "origin")), 0
            answer = {"hello": HELLO, "again": True}
        elif op == "advance":
            now_ms += request["ms"]
            answer = {"t": now_ms}
        elif op in ARGUMENTS:
            values = [b64decode(request[k]) if k == "data" else request[k] for k in ARGUMENTS[op]]
            out, delivered = getattr(toy, op)(*values)
            answer = {
                "t": now_ms,
                "out": [[peer, 0, b64encode(data).decode()] for peer, data in out],
                "delivered": [[topic, b64encode(data).decode()] for topic, data in delivered],
            }
        else:
            answer = {"error": f"a toy cannot {op}"}
        print(json.dumps(answer), flush=True)


main()
