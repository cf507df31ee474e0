"""The toy router in process: `python:toy_python:open_toy`."""

from quidnunc.impl.seam import Delivery, Hello, Reply
from toy_core import Toy


def open_toy(config):
    return Driver(config)


class Driver:
    def __init__(self, config):
        self.hello = Hello(name="toy", version="0.1", protocols=("floodsub",), capabilities={"clock"})
        self.toy = Toy(config.parameters.message_id if config.parameters else "origin")
        self.now_ms = 0

    def reply(self, result):
        out, delivered = result
        return Reply(
            t_ms=self.now_ms,
            out=tuple((peer, 0, data) for peer, data in out),
            delivered=tuple(Delivery(topic=topic, data=data) for topic, data in delivered),
        )

    def connect(self, peer, protocol, outbound):
        return self.reply(self.toy.connect(peer))

    def disconnect(self, peer):
        return self.reply(self.toy.disconnect(peer))

    def rpc(self, peer, data, channel=0):
        return self.reply(self.toy.rpc(peer, data))

    def join(self, topic):
        return self.reply(self.toy.join(topic))

    def leave(self, topic):
        return self.reply(self.toy.leave(topic))

    def publish(self, topic, data):
        return self.reply(self.toy.publish(topic, data))

    def advance(self, ms):
        self.now_ms += ms
        return Reply(t_ms=self.now_ms)

    def close(self):
        pass
