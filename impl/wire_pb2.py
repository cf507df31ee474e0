"""The protobuf classes of pubsub under their public name: an adapter imports `quidnunc.impl.wire_pb2`."""

from quidnunc.impl.wire.wire_pb2 import *  # noqa: F403
