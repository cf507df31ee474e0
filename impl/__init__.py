"""Everything that touches bytes: the codec, our routers, adapters to other people's."""
