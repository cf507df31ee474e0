"""Bytes: protobuf schemas, codecs, framing, keys and signatures."""
